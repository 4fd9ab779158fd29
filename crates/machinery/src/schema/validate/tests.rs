use serde_json::json;

use super::*;
use crate::schema::compile;

fn texts(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn schema(document: &Value) -> Schema {
    compile(document).unwrap_or_else(|errors| panic!("{:?}", texts(&errors)))
}

/// Checks rows of a schema for the field `x`, a value of it, and what is said about the value.
fn check(table: &[(Value, Value, &[&str])]) {
    for (rule, value, want) in table {
        let schema = schema(&json!({"type": "object", "properties": {"x": rule}}));
        assert_eq!(texts(&validate(&json!({"x": value}), &schema)), *want, "{rule} on {value}");
    }
}

#[test]
fn types_and_enumerations() {
    check(&[
        (json!({"type": "integer", "nullable": true}), json!(null), &[]),
        (json!({"type": "integer"}), json!(1.0), &[]),
        (json!({"type": "number"}), json!(1), &[]),
        (
            json!({"type": "integer"}),
            json!(1.5),
            &[
                r#"x: Invalid value: "number": x in body must be of type integer: "number""#,
                r#"<nil>: Invalid value: "": Checked value must be of type integer (default format) in x"#,
            ],
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!(true),
            &[r#"x: Invalid value: "boolean": x in body must be of type integer,string: "boolean""#],
        ),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            json!("c"),
            &[r#"x: Unsupported value: "c": supported values: "a", "b""#],
        ),
        (json!({"type": "integer", "enum": [1]}), json!(1.0), &[]),
        (
            json!({"type": "integer", "minimum": 1}),
            json!(0),
            &["x: Invalid value: 0: x in body should be greater than or equal to 1"],
        ),
        (
            json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true}),
            json!(1),
            &["x: Invalid value: 1: x in body should be greater than 1"],
        ),
    ]);
}

#[test]
fn limits_of_texts_and_numbers() {
    check(&[
        (
            json!({"type": "number", "maximum": 1.5}),
            json!(1.6),
            &["x: Invalid value: 1.6: x in body should be less than or equal to 1.5"],
        ),
        (
            json!({"type": "number", "maximum": 2, "exclusiveMaximum": true}),
            json!(2),
            &["x: Invalid value: 2: x in body should be less than 2"],
        ),
        (
            json!({"type": "integer", "multipleOf": 3}),
            json!(4),
            &["x: Invalid value: 4: x in body should be a multiple of 3"],
        ),
        (json!({"type": "number", "multipleOf": 0.1}), json!(0.3), &[]),
        (
            json!({"type": "integer", "format": "int32"}),
            json!(3_000_000_000_i64),
            &[r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in x"#],
        ),
        (
            json!({"type": "string", "minLength": 2}),
            json!("é"),
            &[r#"x: Invalid value: "é": x in body should be at least 2 chars long"#],
        ),
        (json!({"type": "string", "maxLength": 2}), json!("éé"), &[]),
        (
            json!({"type": "string", "maxLength": 2}),
            json!("ééé"),
            &["x: Too long: may not be more than 2 bytes"],
        ),
        (
            json!({"type": "string", "pattern": "^a+$"}),
            json!("b"),
            &[r#"x: Invalid value: "b": x in body should match '^a+$'"#],
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            json!("now"),
            &[r#"x: Invalid value: "now": x in body must be of type date-time: "now""#],
        ),
        (json!({"type": "string", "format": "unheard-of"}), json!("now"), &[]),
        (
            json!({"type": "array", "minItems": 1, "items": {"type": "string"}}),
            json!([]),
            &["x: Invalid value: 0: x in body should have at least 1 items"],
        ),
        (
            json!({"type": "array", "maxItems": 1, "items": {"type": "string"}}),
            json!(["a", "b"]),
            &["x: Too many: 2: must have at most 1 item"],
        ),
    ]);
}

#[test]
fn limits_of_lists_and_objects() {
    check(&[
        (
            json!({"type": "array", "uniqueItems": true, "items": {}}),
            json!([1, 1]),
            &[r#"x: Invalid value: "": x in body shouldn't contain duplicates"#],
        ),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            json!(["a", 1]),
            &[r#"x[1]: Invalid value: "integer": x[1] in body must be of type string: "integer""#],
        ),
        (
            json!({"type": "object", "minProperties": 1}),
            json!({}),
            &["x: Invalid value: 0: x in body should have at least 1 properties"],
        ),
        (
            json!({"type": "object", "maxProperties": 0}),
            json!({"a": 1}),
            &["x: Too many: 1: must have at most 0 items"],
        ),
        (json!({"type": "object", "required": ["a"]}), json!({}), &["x.a: Required value"]),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"k": 1}),
            &[r#"x.k: Invalid value: "integer": x.k in body must be of type string: "integer""#],
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "boolean"}}}),
            json!({"a": true, "b": 1}),
            &[],
        ),
    ]);
}

#[test]
fn alternatives_are_counted() {
    let branches = json!([{"required": ["a"]}, {"required": ["b"]}]);
    let table = [
        ("anyOf", json!({"a": 1}), vec![]),
        ("anyOf", json!({"a": 1, "b": 1}), vec![]),
        (
            "anyOf",
            json!({}),
            vec![
                r#"<nil>: Invalid value: "": "x" must validate at least one schema (anyOf)"#,
                "x.a: Required value",
            ],
        ),
        ("oneOf", json!({"a": 1}), vec![]),
        (
            "oneOf",
            json!({}),
            vec![
                r#"<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found none valid"#,
                "x.a: Required value",
            ],
        ),
        (
            "oneOf",
            json!({"a": 1, "b": 1}),
            vec![
                r#"<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found 2 valid alternatives"#,
            ],
        ),
        ("allOf", json!({"a": 1, "b": 1}), vec![]),
        (
            "allOf",
            json!({"a": 1}),
            vec![
                "x.b: Required value",
                r#"<nil>: Invalid value: "": "x" must validate all the schemas (allOf)"#,
            ],
        ),
    ];
    for (keyword, value, want) in table {
        let schema = schema(
            &json!({"type": "object", "properties": {"x": {"type": "object", keyword: branches.clone()}}}),
        );
        assert_eq!(texts(&validate(&json!({"x": value.clone()}), &schema)), want, "{keyword} on {value}");
    }
    let not = schema(
        &json!({"type": "object", "properties": {"x": {"type": "object", "not": {"required": ["a"]}}}}),
    );
    assert!(validate(&json!({"x": {}}), &not).is_empty());
    assert_eq!(
        texts(&validate(&json!({"x": {"a": 1}}), &not)),
        [r#"<nil>: Invalid value: "": "x" must not validate the schema (not)"#]
    );
}

#[test]
fn what_was_wrong_before_and_has_not_changed_is_tolerated() {
    let schema = schema(&json!({"type": "object", "properties": {
        "name": {"type": "string", "maxLength": 1},
        "other": {"type": "string"},
        "list": {"type": "array", "items": {"type": "string", "maxLength": 1}},
        "keyed": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "string", "maxLength": 1}}},
        },
    }}));
    let old = json!({
        "name": "long", "other": "a", "list": ["long"],
        "keyed": [{"k": "1", "v": "long"}, {"k": "2", "v": "long"}],
    });
    let mut new = old.clone();
    new["other"] = json!("b");
    assert!(validate_update(&new, &old, &schema).is_empty());
    new["keyed"] = json!([{"k": "2", "v": "long"}, {"k": "3", "v": "long"}]);
    assert_eq!(
        texts(&validate_update(&new, &old, &schema)),
        ["keyed[1].v: Too long: may not be more than 1 bytes".replace("bytes", "byte")]
    );
    new = old.clone();
    new["name"] = json!("changed");
    new["list"] = json!(["long", "a"]);
    assert_eq!(
        texts(&validate_update(&new, &old, &schema)),
        ["list[0]: Too long: may not be more than 1 byte", "name: Too long: may not be more than 1 byte"]
    );
}
