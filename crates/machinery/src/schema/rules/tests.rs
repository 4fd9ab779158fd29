use serde_json::json;

use super::*;
use crate::schema::{Compiler, compile};

fn schema(document: &Value) -> Schema {
    compile(document).unwrap_or_else(|errors| panic!("{:?}", texts(&errors)))
}

fn texts(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// An object of many types for rules to look at.
fn sample(rule: &str) -> Value {
    json!({
        "type": "object",
        "properties": {
            "replicas": {"type": "integer"},
            "ratio": {"type": "number"},
            "name": {"type": "string"},
            "on": {"type": "boolean"},
            "list": {"type": "array", "items": {"type": "integer"}},
            "items": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "when": {"type": "string", "format": "date-time"},
            "day": {"type": "string", "format": "date"},
            "open_day": {"type": "string"},
            "span": {"type": "string", "format": "duration"},
            "data": {"type": "string", "format": "byte"},
            "either": {"x-kubernetes-int-or-string": true},
            "namespace": {"type": "string"},
            "a-b": {"type": "string"},
            "open": {"x-kubernetes-preserve-unknown-fields": true},
        },
        "x-kubernetes-validations": [{"rule": rule}],
    })
}

fn value() -> Value {
    json!({
        "replicas": 3, "ratio": 2, "name": "web", "on": true, "list": [3, 1, 2],
        "items": [{"k": "x"}, {"k": "y"}], "map": {"a.b": "1", "c": "2"},
        "when": "2024-01-02T03:04:05Z", "day": "2024-01-02", "span": "1h30m", "data": "aGk=",
        "either": "50%", "namespace": "default", "a-b": "dash",
    })
}

#[test]
fn rules_see_values_of_the_right_type() {
    let table = [
        "self.replicas == 3 && self.replicas / 2 == 1",
        "self.ratio < 2.5",
        "self.name.startsWith('we') && size(self.name) == 3",
        "self.on",
        "self.list.all(x, x > 0) && self.list.exists(x, x == 2) && self.list.map(x, x * 2)[0] == 6",
        "self.items.exists_one(i, i.k == 'x')",
        "self.map['a.b'] == '1' && 'c' in self.map && self.map.all(k, self.map[k] != '')",
        "self.when > timestamp('2023-01-01T00:00:00Z')",
        "self.day.getFullYear() == 2024",
        "self.span == duration('90m')",
        "size(self.data) == 2",
        "self.either == '50%'",
        "type(self.either) == string && type(self.replicas) == int && type(self.list) == list",
        "self.__namespace__ == 'default' && self.a__dash__b == 'dash'",
        "!has(self.replicas) || self.replicas > 2",
        "self.list.all(i, v, v > 0 && i < 3)",
        "self.map.exists(k, v, k == 'c' && v == '2')",
        "self.list.transformList(i, v, v > 1, v + i) == [3, 4]",
        "self.map.transformMap(k, v, v + k)['c'] == '2c'",
        "self.items.sortBy(i, i.k)[0].k == 'x' && self.list.sortBy(x, x) == [1, 2, 3]",
        "self.list.sort() == [1, 2, 3] && self.list.sum() == 6",
        "self.name.matches('^w.b$') && self.name.find('e.') == 'eb'",
        "quantity('1Gi').isGreaterThan(quantity('1000Mi'))",
        "isURL('https://example.com') && url('https://example.com/x').getHost() == 'example.com'",
        "self.?name.orValue('none') == 'web' && self.?open_day.orValue('') == ''",
        "ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.2.3')",
        "self.list.max() == 3 && sets.contains(self.list, [1])",
        "'%s-%d'.format([self.name, self.replicas]) == 'web-3'",
    ];
    for rule in table {
        let errors = validate_rules(&value(), None, &schema(&sample(rule)));
        assert!(errors.is_empty(), "{rule}: {:?}", texts(&errors));
    }
}

#[test]
fn a_rule_that_cannot_work_is_refused_with_the_schema() {
    let table = [
        ("self.nope == 1", "undefined field 'nope'"),
        ("has(self.nope)", "undefined field 'nope'"),
        ("self.items.all(i, i.nope == 1)", "undefined field 'nope'"),
        ("self.open.x == 1", "undefined field 'open'"),
        ("self.name.x", "type 'string' does not support field selection"),
        ("other == 1", "undeclared reference to 'other' (in container '')"),
        ("frobnicate(self.name)", "undeclared reference to 'frobnicate' (in container '')"),
        ("self.replicas", "cel expression must evaluate to a bool"),
        ("self.replicas + 1", "cel expression must evaluate to a bool"),
        ("'text'", "cel expression must evaluate to a bool"),
        ("cel.bind(x, 1, x == 1)", "undeclared reference to 'bind' (in container '')"),
        ("self.list.all(self.name, v, true)", "argument must be a simple name"),
        ("br'a' == b'a'", "raw bytes are not supported"),
        ("math.greatest(1, 2) == 2", "undeclared reference to 'greatest' (in container '')"),
        ("'%s'.format([]) == ''", "index 0 out of range"),
        ("self.name == 1", "found no matching overload for '_==_' applied to '(string, int)'"),
        (
            "self.replicas + self.ratio > 1.0",
            "found no matching overload for '_+_' applied to '(int, double)'",
        ),
        ("self.replicas.size() == 1", "found no matching overload for 'size' applied to 'int.()'"),
        ("self.when == '2024'", "found no matching overload for '_==_' applied to '(timestamp, string)'"),
        ("[1, 'a'].size() == 2", "expected type 'int' but found 'string'"),
        ("self.name in self.list", "found no matching overload for '@in'"),
    ];
    for (rule, want) in table {
        let errors = compile(&sample(rule)).err().unwrap_or_default();
        let want =
            if want.starts_with("cel ") { want.to_owned() } else { format!("compilation failed: {want}") };
        assert!(
            errors.iter().any(|error| error.detail == want),
            "{rule}: wanted {want}, got {:?}",
            texts(&errors)
        );
    }
    let long_sum = format!("{} == 1", ["1"; 1000].join("+"));
    let unreadable =
        ["self.replicas >=", "(((", "self.name == 'a", "", &"(".repeat(1000), &"a".repeat(20_000), &long_sum];
    for rule in unreadable {
        let errors = compile(&sample(rule)).err().unwrap_or_default();
        assert!(errors[0].detail.starts_with("compilation failed: "), "{rule}: {:?}", texts(&errors));
    }
}

#[test]
fn messages_reasons_and_paths_are_the_rule_s_own() {
    let table = [
        (json!({"rule": "self.a > 1"}), "spec: Invalid value: failed rule: self.a > 1"),
        (json!({"rule": "self.a > 1", "message": " too small "}), "spec: Invalid value: too small"),
        (
            json!({"rule": "self.a > 1", "messageExpression": "'a is ' + string(self.a)"}),
            "spec: Invalid value: a is 1",
        ),
        (
            json!({"rule": "self.a > 1", "message": "m", "messageExpression": "string(self.b)"}),
            "spec: Invalid value: m",
        ),
        (json!({"rule": "self.a > 1", "message": "m", "fieldPath": ".a"}), "spec.a: Invalid value: m"),
        (
            json!({"rule": "self.a > 1", "message": "m", "reason": "FieldValueForbidden"}),
            "spec: Forbidden: m",
        ),
        (
            json!({"rule": "self.a > 1", "message": "m", "reason": "FieldValueRequired", "fieldPath": ".a"}),
            "spec.a: Required value: m",
        ),
        (
            json!({"rule": "self.b > 1"}),
            r#"spec: Invalid value: "object": no such key: b evaluating rule: self.b > 1"#,
        ),
        (
            json!({"rule": "self.a / 0 > 1"}),
            r#"spec: Invalid value: "object": division by zero evaluating rule: self.a / 0 > 1"#,
        ),
    ];
    for (rule, want) in table {
        let schema = schema(&json!({"type": "object", "properties": {"spec": {
            "type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "x-kubernetes-validations": [rule.clone()],
        }}}));
        assert_eq!(texts(&validate_rules(&json!({"spec": {"a": 1}}), None, &schema)), [want], "{rule}");
    }
    let scalar = schema(&json!({"type": "object", "properties": {"n": {
        "type": "integer", "x-kubernetes-validations": [{"rule": "self > 1", "message": "small"}],
    }}}));
    assert_eq!(texts(&validate_rules(&json!({"n": 1}), None, &scalar)), ["n: Invalid value: 1: small"]);
}

#[test]
fn transition_rules_need_something_to_compare_with() {
    let rule = |rule: Value| {
        schema(&json!({"type": "object", "properties": {"n": {
            "type": "integer", "x-kubernetes-validations": [rule],
        }}}))
    };
    let (one, two) = (json!({"n": 1}), json!({"n": 2}));
    let grows = rule(json!({"rule": "self >= oldSelf", "message": "must not shrink"}));
    assert!(validate_rules(&one, None, &grows).is_empty());
    assert!(validate_rules(&one, Some(&json!({})), &grows).is_empty());
    assert!(validate_rules(&two, Some(&one), &grows).is_empty());
    assert_eq!(texts(&validate_rules(&one, Some(&two), &grows)), ["n: Invalid value: 1: must not shrink"]);

    let optional = rule(json!({
        "rule": "oldSelf.hasValue() ? self == oldSelf.value() : self == 1", "optionalOldSelf": true, "message": "no",
    }));
    assert!(validate_rules(&one, None, &optional).is_empty());
    assert!(!validate_rules(&two, None, &optional).is_empty());
    assert!(validate_rules(&two, Some(&two), &optional).is_empty());
    assert!(!validate_rules(&two, Some(&one), &optional).is_empty());
}

#[test]
fn old_items_are_found_by_their_keys_and_order_does_not_count() {
    let schema = schema(&json!({"type": "object", "properties": {
        "keyed": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {
                "type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
                "x-kubernetes-validations": [{"rule": "self.v == oldSelf.v", "message": "fixed"}],
            },
        },
        "set": {
            "type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"},
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "set changed"}],
        },
    }}));
    let old = json!({"keyed": [{"k": "a", "v": 1}, {"k": "b", "v": 2}], "set": ["x", "y"]});
    let new =
        json!({"keyed": [{"k": "b", "v": 2}, {"k": "a", "v": 9}, {"k": "c", "v": 3}], "set": ["y", "x"]});
    assert_eq!(texts(&validate_rules(&new, Some(&old), &schema)), ["keyed[1]: Invalid value: fixed"]);
    let new = json!({"set": ["y", "x", "z"]});
    assert_eq!(texts(&validate_rules(&new, Some(&old), &schema)), ["set: Invalid value: set changed"]);
}

#[test]
fn old_self_is_refused_where_items_cannot_be_told_apart() {
    let document = json!({"type": "object", "properties": {"list": {"type": "array", "items": {
        "type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}],
    }}}});
    let errors = compile(&document).unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "properties[list].items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": oldSelf cannot be \
         used on the uncorrelatable portion of the schema within properties[list]"
    );
    let document = json!({"type": "string", "x-kubernetes-validations": [{"rule": "self == ''", "optionalOldSelf": true}]});
    assert_eq!(compile(&document).unwrap_err()[0].detail, "may not be set if oldSelf is not used in rule");
}

#[test]
fn what_has_not_changed_is_tolerated() {
    let schema = schema(&json!({"type": "object", "properties": {
        "n": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1", "message": "small"}]},
        "list": {"type": "array", "items": {
            "type": "integer", "x-kubernetes-validations": [{"rule": "self > 1", "message": "small"}],
        }},
        "other": {"type": "string"},
    }}));
    let old = json!({"n": 1, "list": [1], "other": "a"});
    let mut new = old.clone();
    new["other"] = json!("b");
    assert!(validate_rules(&new, Some(&old), &schema).is_empty());
    new["list"] = json!([1, 5]);
    assert_eq!(texts(&validate_rules(&new, Some(&old), &schema)), ["list[0]: Invalid value: 1: small"]);
}

#[test]
fn of_metadata_only_names_are_seen() {
    let rule = |rule: &str| {
        let document = json!({
            "type": "object", "properties": {"spec": {"type": "object"}},
            "x-kubernetes-validations": [{"rule": rule, "message": "no"}],
        });
        let mut compiler = Compiler::new(|_| None);
        let schema = compiler.resource(&document, &Path::Root);
        compiler.finish().map(|()| schema)
    };
    let object =
        json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "abc", "labels": {"x": "y"}}});
    let schema = rule("self.metadata.name.size() == 3 && self.kind == 'K'").unwrap();
    assert!(validate_rules(&object, None, &schema).is_empty());
    assert!(rule("self.metadata.labels['x'] == 'y'").is_err());
    let schema = rule("self.metadata.name == 'other'").unwrap();
    assert_eq!(texts(&validate_rules(&object, None, &schema)), ["<nil>: Invalid value: no"]);
}

#[test]
fn schemas_with_rules_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Schema>();
}
