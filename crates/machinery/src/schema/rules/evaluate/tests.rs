use serde_json::{Value, json};

use crate::schema::{compile, rules::validate_rules};

fn document(rule: &str) -> Value {
    let text = json!({"type": "string"});
    let keyed = json!({"type": "object", "required": ["k"], "properties": {"k": text, "v": text}});
    json!({
        "type": "object",
        "properties": {
            "text": text,
            "none": {"type": "string", "nullable": true},
            "on": {"type": "boolean"},
            "either": {"x-kubernetes-int-or-string": true},
            "items": {"type": "array", "items": keyed},
            "keyed": {
                "type": "array", "items": keyed,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            },
            "set": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
            "when": {"type": "string", "format": "date-time"},
            "zoned": {"type": "string", "format": "date-time"},
            "span": {"type": "string", "format": "duration"},
        },
        "x-kubernetes-validations": [{"rule": rule}],
    })
}

/// What a rule says: nothing where it holds.
fn judge(rule: &str) -> Vec<String> {
    let value = json!({
        "text": "中文字", "none": null, "on": true, "either": "50%",
        "items": [{"k": "a"}, {"k": "b", "v": "x"}], "keyed": [{"k": "a"}, {"k": "b", "v": "x"}], "set": ["a", "b"],
        "when": "2024-01-02T03:04:05Z", "zoned": "2024-01-02T03:04:05+02:00", "span": "1h30m",
    });
    match compile(&document(rule)) {
        Ok(schema) => validate_rules(&value, None, &schema).into_iter().map(|error| error.detail).collect(),
        Err(errors) => errors.into_iter().map(|error| error.detail).collect(),
    }
}

fn all_hold(rules: &[&str]) {
    for rule in rules {
        assert_eq!(judge(rule), [""; 0], "{rule}");
    }
}

#[test]
fn texts_are_counted_in_characters() {
    all_hold(&[
        "self.text.size() == 3 && size(self.text) == 3 && size(bytes(self.text)) == 9",
        "self.text.split('') == ['中', '文', '字'] && 'abc'.split('', 2) == ['a', 'bc']",
        "'\\\"'.size() == 1 && \"\\'\" == '\\'' && r'\\n'.size() == 2",
    ]);
}

#[test]
fn a_loop_forgives_an_error_where_another_turn_decides() {
    all_hold(&[
        "self.items.exists(e, e.v == 'x') && !self.items.all(e, e.v != 'x')",
        "self.items.exists(i, e, e.v == 'x') && !self.items.all(i, e, e.v != 'x')",
        "![0, 2].all(x, 1/x == 1) && [0, 1].exists(x, 1/x == 1)",
    ]);
    for rule in ["self.items.all(e, e.v == 'x')", "self.items.exists_one(e, e.v == 'x')"] {
        assert_eq!(judge(rule), [format!("no such key: v evaluating rule: {rule}")]);
    }
}

#[test]
fn values_are_converted_and_written_as_go_does() {
    all_hold(&[
        "timestamp(self.when) == self.when && duration(self.span) == self.span",
        "timestamp(1704164645) == self.when && int(self.when) == 1704164645",
        "string(true) == 'true' && string(self.on) == 'true' && bool('T') && !bool('0')",
        "string(self.when) == '2024-01-02T03:04:05Z' && string(self.zoned) == '2024-01-02T03:04:05+02:00'",
        "string(self.span) == '5400s' && string(duration('5m')) == '300s' && string(duration('1ms')) == '0.001s'",
        "string(1.0) == '1' && string(100000.0) == '100000' && string(1000000.0) == '1e+06'",
        "string(0.0001) == '0.0001' && string(0.00001) == '1e-05' && string(-1.5) == '-1.5'",
        "duration('1µs') == duration('1000ns') && duration('-1.5h') == duration('-90m')",
        "duration('2400h1ns') - duration('2400h') == duration('1ns')",
        "'%s %s'.format([self.span, 1.0]) == '5400s 1'",
    ]);
    for rule in ["duration(self.text) == self.span", "timestamp('2024-01-02 03:04:05Z') == self.when"] {
        assert!(judge(rule)[0].starts_with("type conversion error"), "{rule}: {:?}", judge(rule));
    }
}

#[test]
fn parts_of_a_time_are_those_of_its_zone() {
    all_hold(&[
        "self.when.getHours('America/New_York') == 22 && self.when.getHours('-05:00') == 22",
        "self.when.getMinutes('+05:30') == 34 && self.when.getDate('-05:00') == 1",
        "self.zoned.getHours() == 1 && self.zoned.getHours('+02:00') == 3",
        "self.when.getDayOfYear() == 1 && self.when.getDayOfWeek() == 2 && self.when.getMonth() == 0",
    ]);
    let rule = "self.when.getHours('nowhere') == 3";
    assert_eq!(judge(rule), [format!("unknown time zone nowhere evaluating rule: {rule}")]);
}

#[test]
fn sets_and_keyed_lists_are_the_same_in_any_order() {
    all_hold(&[
        "self.set == ['b', 'a'] && !(self.set != ['b', 'a']) && ['b', 'a'] != self.set",
        "self.set != ['a', 'b', 'b'] && [self.set] == [['b', 'a']]",
        "self.set + ['c', 'a'] == ['c', 'b', 'a'] && (self.set + ['c']).size() == 3",
        "self.keyed + self.keyed == self.keyed && self.keyed[1].v == 'x'",
        "self.set[0] == 'a' && 'b' in self.set && self.set.join('') == 'ab' && type(self.set) == list",
    ]);
}

#[test]
fn optional_values_are_mapped_and_their_fields_are_optional() {
    all_hold(&[
        "self.?text.optMap(x, x + '!').orValue('') == self.text + '!'",
        "self.?none.optMap(x, x + '!').orValue('none') == 'none'",
        "self.?text.optFlatMap(x, optional.of(x)).value() == self.text",
        "optional.of(1).orValue(1/0) == 1 && optional.of(1) == optional.of(1)",
        "self.items[?0].v.orValue('q') == 'q' && !has(self.none)",
        "[optional.of(1), optional.none()].unwrapOpt() == [1]",
        "format.named('dns1123Label').hasValue() && !format.named('nope').hasValue()",
    ]);
}

#[test]
fn numbers_of_different_types_are_compared_by_what_they_are() {
    all_hold(&[
        "dyn(1) == 1.0 && dyn(1) == 1u && 1 in dyn([1.0]) && dyn([1]) == dyn([1.0])",
        "{1: 'a'}[dyn(1.0)] == 'a' && dyn(1u) in dyn({1: 2}) && [1, 2][dyn(1.0)] == 2",
        "duration('1h') + self.when == self.when + duration('60m')",
    ]);
    let table = [
        ("-(-9223372036854775808) > 0", "integer overflow"),
        ("[9223372036854775807, 1].sum() > 0", "integer overflow"),
        ("1u - 2u > 0u", "unsigned integer overflow"),
        ("0.0/0.0 < 1.0", "NaN values cannot be ordered"),
    ];
    for (rule, want) in table {
        assert_eq!(judge(rule), [format!("{want} evaluating rule: {rule}")]);
    }
    let want = "'no such overload': call arguments did not match a supported operator, function or macro signature for \
                rule: self.either < 5";
    assert_eq!(judge("self.either < 5"), [want]);
}

#[test]
fn patterns_are_those_of_go() {
    all_hold(&[
        r"!'é'.matches('^\\w$') && !'٣'.matches('^\\d$') && '中'.matches('^\\p{Han}$')",
        r"'a[b'.matches('[[]') && 'ab'.matches('\\Qa\\Eb') && '{'.matches('{') && 'A'.matches('\\x{41}')",
        "'a1 b22'.findAll('[0-9]+') == ['1', '22'] && 'a1'.find('[0-9]') == '1'",
    ]);
}
