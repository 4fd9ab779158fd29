//! Laws that hold for every schema and every value, however odd.

use proptest::{collection, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use super::{
    Additional, Format, Kind, Schema, check_lists, compile, default, prune, to_type, validate,
    validate_rules, validate_update,
};
use crate::builtin;

/// Few names, so that values and schemas often speak of the same field.
fn name() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "c", "k"]).prop_map(str::to_owned)
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(vec!["", "a", "1Gi", "2024-01-02T03:04:05Z", "aGk=", "1h", "é\u{0}"]).prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            collection::btree_map(name(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Keywords that may stand anywhere, whether they make sense or not.
fn keywords() -> impl Strategy<Value = Map<String, Value>> {
    let keyword = prop_oneof![
        any::<bool>().prop_map(|flag| ("nullable", json!(flag))),
        Just(("x-kubernetes-preserve-unknown-fields", json!(true))),
        Just(("x-kubernetes-embedded-resource", json!(true))),
        Just(("uniqueItems", json!(true))),
        scalar().prop_map(|value| ("default", value)),
        collection::vec(scalar(), 0..3).prop_map(|values| ("enum", json!(values))),
        (-2.0..3.0).prop_map(|limit| ("minimum", json!(limit))),
        (-2.0..3.0).prop_map(|limit| ("maximum", json!(limit))),
        (-1.0..3.0).prop_map(|factor| ("multipleOf", json!(factor))),
        (0_u64..3).prop_map(|count| ("maxLength", json!(count))),
        (0_u64..3).prop_map(|count| ("minItems", json!(count))),
        (0_u64..3).prop_map(|count| ("maxProperties", json!(count))),
        collection::vec(name(), 0..3).prop_map(|names| ("required", json!(names))),
        select(vec!["^a", "[", "(?=x)", "\\d+", ""]).prop_map(|pattern| ("pattern", json!(pattern))),
        select(vec!["int32", "date-time", "byte", "ipv4", "duration", "nonsense"])
            .prop_map(|format| ("format", json!(format))),
        select(vec!["atomic", "set", "map"]).prop_map(|kind| ("x-kubernetes-list-type", json!(kind))),
        collection::vec(name(), 1..3).prop_map(|keys| ("x-kubernetes-list-map-keys", json!(keys))),
        select(vec!["self == self", "self == oldSelf", "has(self.a)", "self.a > 1", "size(self) > 0"])
            .prop_map(|rule| ("x-kubernetes-validations", json!([{"rule": rule}]))),
    ];
    collection::vec(keyword, 0..4)
        .prop_map(|keywords| keywords.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn schema() -> impl Strategy<Value = Value> {
    let types = select(vec!["object", "array", "string", "integer", "number", "boolean", ""]);
    let leaf = (types.clone(), keywords()).prop_map(|(kind, mut keywords)| {
        keywords.insert("type".to_owned(), kind.into());
        Value::Object(keywords)
    });
    leaf.prop_recursive(4, 20, 4, move |inner| {
        let properties = collection::btree_map(name(), inner.clone(), 0..4);
        (types.clone(), keywords(), properties, inner.clone(), inner, 0_u8..4).prop_map(
            |(kind, mut schema, properties, items, other, shape)| {
                schema.insert("type".to_owned(), kind.into());
                schema.insert("items".to_owned(), items);
                match shape {
                    0 => drop(schema.insert("additionalProperties".to_owned(), other)),
                    1 => drop(schema.insert("anyOf".to_owned(), json!([other]))),
                    2 => drop(schema.insert("not".to_owned(), other)),
                    _ => drop(schema.insert("properties".to_owned(), json!(properties))),
                }
                Value::Object(schema)
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pruning_and_defaulting_settle_at_once(document in schema(), mut value in value()) {
        let Ok(schema) = compile(&document) else { return Err(TestCaseError::reject("no schema")) };
        prune(&mut value, &schema);
        prop_assert_eq!(prune(&mut value, &schema), Vec::<String>::new());
        default(&mut value, &schema);
        let mut again = value.clone();
        default(&mut again, &schema);
        prop_assert_eq!(&again, &value);
        prune(&mut value, &schema);
        let errors = validate(&value, &schema);
        let mut settled = value.clone();
        default(&mut settled, &schema);
        prune(&mut settled, &schema);
        prop_assert_eq!(validate(&settled, &schema), errors);
    }

    #[test]
    fn nothing_panics_and_no_change_is_no_error(document in schema(), value in value(), old in value()) {
        let Ok(schema) = compile(&document) else { return Err(TestCaseError::reject("no schema")) };
        let _ = to_type(&schema);
        let _ = (validate_update(&value, &old, &schema), check_lists(&value, &schema));
        prop_assert!(validate_update(&value, &value, &schema).is_empty());
        let _ = (validate_rules(&value, None, &schema), validate_rules(&value, Some(&old), &schema));
    }

    #[test]
    fn built_in_kinds_read_what_they_wrote(index in any::<prop::sample::Index>(), seed in any::<u64>()) {
        let schema = index.get(builtin::kinds()).schema();
        let mut value = Maker(seed | 1).make(&schema, 6);
        prop_assert_eq!(builtin::decode_check(&value, &schema), Ok(()));
        let unknown = builtin::decode(&mut value, &schema);
        prop_assert!(unknown.is_ok_and(|paths| paths.iter().all(|path| path.ends_with("unknown"))));
        let once = value.clone();
        prop_assert_eq!(builtin::decode(&mut value, &schema), Ok(Vec::new()));
        prop_assert_eq!(&value, &once);
        prop_assert_eq!(prune(&mut value, &schema), Vec::<String>::new());
    }

    #[test]
    fn built_in_kinds_refuse_without_panic(index in any::<prop::sample::Index>(), part in value(), other in value()) {
        let schema = index.get(builtin::kinds()).schema();
        let mut value = json!({"metadata": part, "spec": other, "data": {"a": "b"}, "status": {"a": 1}});
        let checked = builtin::decode_check(&value, &schema);
        prop_assert_eq!(builtin::decode(&mut value, &schema).map(drop), checked);
    }
}

/// Makes values that a built-in kind can read, with unknown fields and nulls here and there.
struct Maker(u64);

impl Maker {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn make(&mut self, schema: &Schema, depth: u32) -> Value {
        if self.below(12) == 0 && schema.kind != Kind::Any {
            return Value::Null;
        }
        let quantity = schema.format == Some(Format::Quantity);
        match schema.kind {
            Kind::Any => json!({"anything": [null]}),
            Kind::Object => self.make_object(schema, depth),
            Kind::Array => {
                let count = if depth == 0 { 0 } else { self.below(3) };
                let items = schema
                    .items
                    .as_deref()
                    .map_or_else(Vec::new, |items| (0..count).map(|_| self.make(items, depth - 1)).collect());
                Value::Array(items)
            }
            Kind::String => match schema.format {
                Some(Format::DateTime) => "2024-01-02T03:04:05.25+01:00".into(),
                Some(Format::MicroTime) => "2024-01-02T03:04:05.250000+01:00".into(),
                Some(Format::Byte) => "aGk=".into(),
                _ => "text".into(),
            },
            Kind::IntOrString if quantity => ["1500m", "1024Ki"][usize::from(self.below(2) == 0)].into(),
            Kind::IntOrString | Kind::Integer | Kind::Number => self.below(9).into(),
            Kind::Boolean => (self.below(2) == 0).into(),
        }
    }

    fn make_object(&mut self, schema: &Schema, depth: u32) -> Value {
        let mut map = Map::new();
        if depth > 0 {
            for (name, property) in schema.properties.iter() {
                if self.below(3) == 0 {
                    map.insert(name.to_owned(), self.make(property, depth - 1));
                }
            }
            if let Additional::Schema(entry) = &schema.additional {
                map.insert("key".to_owned(), self.make(entry, depth - 1));
            } else if self.below(8) == 0 {
                map.insert("unknown".to_owned(), json!({"a": 1}));
            }
        }
        Value::Object(map)
    }
}
