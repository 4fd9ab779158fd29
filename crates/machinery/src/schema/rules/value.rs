//! JSON as CEL sees it: typed by the schema, with unknown fields out of reach.

use std::{collections::HashMap, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use kube_cel::cel::{
    self,
    objects::{Key, Map as CelMap},
};
use serde_json::{Map, Number, Value};

use super::{escape::escape, functions::time, unordered::Unordered};
use crate::schema::{Additional, Format, Kind, ListType, Schema};

/// Converts a value. Of an object's `metadata` only the names can be seen.
pub(super) fn convert(value: &Value, schema: &Schema) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(truth) => cel::Value::Bool(*truth),
        Value::Number(number) => number_of(number, schema.kind),
        Value::String(text) => text_of(text, schema),
        Value::Array(items) => {
            let items = items.iter().map(|item| match schema.items.as_deref() {
                Some(schema) => convert(item, schema),
                None => untyped(item),
            });
            let keys = schema.list_map_keys.iter().filter_map(|key| escape(key));
            match schema.list_type {
                ListType::Atomic => cel::Value::List(Arc::new(items.collect())),
                ListType::Set | ListType::Map => Unordered::new(items.collect(), keys).into(),
            }
        }
        Value::Object(map) => object_of(map, schema),
    }
}

fn number_of(number: &Number, kind: Kind) -> cel::Value {
    let float = || cel::Value::Float(number.as_f64().unwrap_or(f64::NAN));
    match kind {
        Kind::Number => float(),
        Kind::Integer | Kind::IntOrString => {
            let whole = crate::schema::whole(number).and_then(|number| i64::try_from(number).ok());
            whole.map_or_else(float, cel::Value::Int)
        }
        _ => number.as_i64().map_or_else(float, cel::Value::Int),
    }
}

fn text_of(text: &str, schema: &Schema) -> cel::Value {
    let plain = || cel::Value::String(Arc::new(text.to_owned()));
    match schema.format {
        Some(Format::Byte) => {
            STANDARD.decode(text).map_or_else(|_| plain(), |bytes| cel::Value::Bytes(Arc::new(bytes)))
        }
        Some(Format::DateTime) => time::lenient(text).unwrap_or_else(plain),
        Some(Format::Date) => time::lenient(&format!("{text}T00:00:00Z")).unwrap_or_else(plain),
        Some(Format::Duration) => time::duration(text).unwrap_or_else(|_| plain()),
        _ => plain(),
    }
}

fn object_of(map: &Map<String, Value>, schema: &Schema) -> cel::Value {
    let mut fields = HashMap::with_capacity(map.len());
    for (name, value) in map {
        let entry = match (schema.properties.get(name), &schema.additional) {
            (Some(_), _) if schema.embedded_resource && name == "metadata" => {
                escape(name).map(|name| (name, names_of(value)))
            }
            // A field that is null is one that is not there.
            (Some(_), _) if value.is_null() => None,
            (Some(property), _) => escape(name).map(|name| (name, convert(value, property))),
            (None, Additional::Schema(entry)) => Some((name.clone(), convert(value, entry))),
            (None, Additional::Any) => Some((name.clone(), untyped(value))),
            (None, Additional::None) => None,
        };
        if let Some((name, value)) = entry {
            fields.insert(Key::String(Arc::new(name)), value);
        }
    }
    cel::Value::Map(CelMap { map: Arc::new(fields) })
}

fn names_of(metadata: &Value) -> cel::Value {
    let fields = ["name", "generateName"]
        .into_iter()
        .filter_map(|name| Some((Key::String(Arc::new(name.to_owned())), untyped(metadata.get(name)?))));
    cel::Value::Map(CelMap { map: Arc::new(fields.collect()) })
}

/// Converts a value of which nothing is known.
pub(super) fn untyped(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(truth) => cel::Value::Bool(*truth),
        Value::Number(number) => number_of(number, Kind::Any),
        Value::String(text) => cel::Value::String(Arc::new(text.clone())),
        Value::Array(items) => cel::Value::List(Arc::new(items.iter().map(untyped).collect())),
        Value::Object(map) => {
            let fields =
                map.iter().map(|(name, value)| (Key::String(Arc::new(name.clone())), untyped(value)));
            cel::Value::Map(CelMap { map: Arc::new(fields.collect()) })
        }
    }
}
