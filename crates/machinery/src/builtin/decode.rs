//! Reading a document as a built-in kind, with the outcome that decoding into Go's types and encoding again has.
//!
//! A value of the wrong JSON type is an error of decoding (HTTP 400), not of validation (422). Unknown fields go, and so do
//! `null` and empty optional lists and maps, because Go leaves them out when it writes the object back.
//! Times and quantities take the form in which the server stores them.

mod scalar;

use serde_json::{Map, Value};

use crate::{
    error::Path,
    schema::{Additional, Format, Kind, Schema},
};

/// A document that cannot be read as its kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DecodeError {
    /// Where, as `spec.containers[0].name`.
    pub path: String,
    /// The type that belongs there, in Go's words: `int32`, `[]v1.Container`.
    pub expected: String,
    /// The JSON type that was found.
    pub found: &'static str,
    message: String,
}

impl DecodeError {
    /// The same error with something said before it.
    pub(crate) fn prefixed(mut self, prefix: &str) -> Self {
        self.message = format!("{prefix}: {}", self.message);
        self
    }
}

/// Reads `value` as `schema`, in place, and names the unknown fields that were dropped, sorted.
pub fn decode(value: &mut Value, schema: &Schema) -> Result<Vec<String>, DecodeError> {
    decode_at(value, schema, "")
}

/// The same for a part of an object, which stands at `path`.
pub fn decode_at(value: &mut Value, schema: &Schema, path: &str) -> Result<Vec<String>, DecodeError> {
    let mut reader = Reader { unknown: Vec::new() };
    let place = Place { path: &Path::Text(path), field: &Path::Root, owner: None };
    reader.value(value, schema, place)?;
    reader.unknown.sort_unstable();
    Ok(reader.unknown)
}

/// Whether `value` could be read as `schema`, without changing it.
pub fn decode_check(value: &Value, schema: &Schema) -> Result<(), DecodeError> {
    check(value, schema, Place { path: &Path::Root, field: &Path::Root, owner: None })
}

/// Where a walk stands: the exact path, the path without indices and map keys, and the struct that holds the field.
#[derive(Clone, Copy)]
struct Place<'a> {
    path: &'a Path<'a>,
    field: &'a Path<'a>,
    owner: Option<&'a Schema>,
}

impl Place<'_> {
    fn wrong_type(&self, value: &Value, schema: &Schema) -> DecodeError {
        let expected = go_type(schema);
        let found = match value {
            Value::Number(number) if matches!(schema.kind, Kind::Integer | Kind::IntOrString) => {
                format!("number {number}")
            }
            other => go_value(other).to_owned(),
        };
        let target = match self.owner.and_then(|owner| owner.name.as_deref()) {
            Some(owner) => format!("struct field {}.{}", last_segment(owner), self.field),
            None => "value".to_owned(),
        };
        let message = format!("json: cannot unmarshal {found} into Go {target} of type {expected}");
        DecodeError { path: self.path.to_string(), expected, found: go_value(value), message }
    }

    fn malformed(&self, value: &Value, schema: &Schema, message: String) -> DecodeError {
        DecodeError {
            path: self.path.to_string(),
            expected: go_type(schema),
            found: go_value(value),
            message,
        }
    }
}

struct Reader {
    unknown: Vec<String>,
}

impl Reader {
    fn value(&mut self, value: &mut Value, schema: &Schema, place: Place<'_>) -> Result<(), DecodeError> {
        match (schema.kind, &mut *value) {
            (Kind::Any, _) => Ok(()),
            (Kind::Object, Value::Object(map)) => self.object(map, schema, place),
            (Kind::Array, Value::Array(items)) => self.array(items, schema, place),
            (_, Value::Null) => {
                *value = zero(schema);
                Ok(())
            }
            _ => {
                if let Some(stored) = scalar::read(value, schema, place)? {
                    *value = stored;
                }
                Ok(())
            }
        }
    }

    fn object(
        &mut self,
        map: &mut Map<String, Value>,
        schema: &Schema,
        place: Place<'_>,
    ) -> Result<(), DecodeError> {
        let mut gone: Vec<String> = Vec::new();
        for (name, value) in map.iter_mut() {
            let path = place.path.field(name);
            if let Some(property) = schema.properties.get(name) {
                let field = place.field.field(name);
                if value.is_null() && property.kind != Kind::Any {
                    gone.push(name.clone());
                    continue;
                }
                self.value(value, property, Place { path: &path, field: &field, owner: Some(schema) })?;
                if is_left_out(value, property)
                    && !schema.required.iter().any(|required| **required == **name)
                {
                    gone.push(name.clone());
                }
            } else if let Additional::Schema(entry) = &schema.additional {
                self.value(value, entry, Place { path: &path, ..place })?;
            } else if !schema.preserve_unknown {
                self.unknown.push(path.to_string());
                gone.push(name.clone());
            }
        }
        for name in gone {
            map.remove(&name);
        }
        Ok(())
    }

    fn array(&mut self, items: &mut [Value], schema: &Schema, place: Place<'_>) -> Result<(), DecodeError> {
        let Some(schema) = schema.items.as_deref() else { return Ok(()) };
        for (index, item) in items.iter_mut().enumerate() {
            self.value(item, schema, Place { path: &place.path.index(index), ..place })?;
        }
        Ok(())
    }
}

fn check(value: &Value, schema: &Schema, place: Place<'_>) -> Result<(), DecodeError> {
    match (schema.kind, value) {
        (Kind::Any, _) | (_, Value::Null) => Ok(()),
        (Kind::Object, Value::Object(map)) => map.iter().try_for_each(|(name, value)| {
            let path = place.path.field(name);
            if let Some(property) = schema.properties.get(name) {
                let field = place.field.field(name);
                check(value, property, Place { path: &path, field: &field, owner: Some(schema) })
            } else if let Additional::Schema(entry) = &schema.additional {
                check(value, entry, Place { path: &path, ..place })
            } else {
                Ok(())
            }
        }),
        (Kind::Array, Value::Array(items)) => match schema.items.as_deref() {
            None => Ok(()),
            Some(schema) => items.iter().enumerate().try_for_each(|(index, item)| {
                check(item, schema, Place { path: &place.path.index(index), ..place })
            }),
        },
        _ => scalar::read(value, schema, place).map(drop),
    }
}

/// An empty list or map, which Go does not write where the field is optional. An empty struct is written.
fn is_left_out(value: &Value, schema: &Schema) -> bool {
    match value {
        Value::Array(items) => items.is_empty() && schema.kind == Kind::Array,
        Value::Object(map) => map.is_empty() && matches!(schema.additional, Additional::Schema(_)),
        _ => false,
    }
}

/// What Go holds for a `null` in a list or map.
fn zero(schema: &Schema) -> Value {
    match (schema.kind, schema.format) {
        (Kind::Object, _) if schema.properties.is_empty() => Value::Null,
        (Kind::Object, _) => Value::Object(Map::new()),
        (Kind::String, None | Some(Format::Byte)) => Value::String(String::new()),
        (Kind::IntOrString, Some(Format::Quantity)) => Value::String("0".to_owned()),
        (Kind::Integer | Kind::Number | Kind::IntOrString, _) => Value::from(0),
        (Kind::Boolean, _) => Value::Bool(false),
        (Kind::String, Some(_)) | (Kind::Array | Kind::Any, _) => Value::Null,
    }
}

fn go_value(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The type in Go's words: what people know from the real server's messages.
fn go_type(schema: &Schema) -> String {
    if schema.kind == Kind::IntOrString && schema.format != Some(Format::Quantity) {
        return "int32".to_owned();
    }
    if let Some(name) = schema.name.as_deref() {
        let mut segments = name.rsplit('.');
        let (kind, package) = (segments.next().unwrap_or_default(), segments.next().unwrap_or_default());
        return format!("{package}.{kind}");
    }
    match (schema.kind, schema.format) {
        (Kind::Integer, Some(Format::Int32)) => "int32".to_owned(),
        (Kind::Integer, _) => "int64".to_owned(),
        (Kind::Number, _) => "float64".to_owned(),
        (Kind::Boolean, _) => "bool".to_owned(),
        (Kind::String, Some(Format::Byte)) => "[]uint8".to_owned(),
        (Kind::String, _) => "string".to_owned(),
        (Kind::Array, _) => {
            format!("[]{}", schema.items.as_deref().map_or_else(|| "interface {}".to_owned(), go_type))
        }
        (Kind::Object, _) => match &schema.additional {
            Additional::Schema(entry) => format!("map[string]{}", go_type(entry)),
            Additional::None | Additional::Any => "map[string]interface {}".to_owned(),
        },
        (Kind::Any | Kind::IntOrString, _) => "interface {}".to_owned(),
    }
}

fn last_segment(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::builtin;

    fn read(group: &str, kind: &str, mut value: Value) -> Result<(Value, Vec<String>), DecodeError> {
        let schema = builtin::schema(group, "v1", kind).unwrap_or_else(|| panic!("{kind} is built in"));
        decode(&mut value, &schema).map(|unknown| (value, unknown))
    }

    #[test]
    fn what_go_would_not_write_back_is_gone() {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "a", "creationTimestamp": null, "labels": {}, "annotations": {"x": null}},
            "spec": {
                "containers": [{"name": "c", "env": [], "resources": {}, "bogus": 1}],
                "nodeName": null, "volumes": [{"name": "v", "emptyDir": {}}], "typo": {"a": 1},
            },
        });
        let (pod, unknown) = read("", "Pod", pod).unwrap();
        assert_eq!(
            pod,
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "a", "annotations": {"x": ""}},
                "spec": {
                    "containers": [{"name": "c", "resources": {}}],
                    "volumes": [{"name": "v", "emptyDir": {}}],
                },
            })
        );
        assert_eq!(unknown, ["spec.containers[0].bogus", "spec.typo"]);
    }

    #[test]
    fn required_lists_stay_even_when_empty() {
        let (role, _) = read("rbac.authorization.k8s.io", "Role", json!({"rules": [{"verbs": []}]})).unwrap();
        assert_eq!(role, json!({"rules": [{"verbs": []}]}));
    }

    #[test]
    fn a_wrong_type_is_named_as_go_names_it() {
        let table = [
            (
                "apps",
                "Deployment",
                json!({"spec": {"replicas": "3"}}),
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
                "spec.replicas",
            ),
            (
                "apps",
                "Deployment",
                json!({"spec": {"replicas": 1.5}}),
                "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
                "spec.replicas",
            ),
            (
                "",
                "Pod",
                json!({"spec": {"containers": [{"env": [{"value": 1}]}]}}),
                "json: cannot unmarshal number into Go struct field EnvVar.spec.containers.env.value of type string",
                "spec.containers[0].env[0].value",
            ),
            (
                "",
                "Pod",
                json!({"metadata": {"labels": {"a": true}}}),
                "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string",
                "metadata.labels.a",
            ),
            (
                "",
                "Pod",
                json!({"spec": {"containers": {}}}),
                "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
                "spec.containers",
            ),
            (
                "apps",
                "Deployment",
                json!({"spec": {"replicas": 5_000_000_000_i64}}),
                "json: cannot unmarshal number 5000000000 into Go struct field DeploymentSpec.spec.replicas of type int32",
                "spec.replicas",
            ),
            (
                "",
                "Pod",
                json!({"spec": []}),
                "json: cannot unmarshal array into Go struct field Pod.spec of type v1.PodSpec",
                "spec",
            ),
            ("", "Pod", json!([]), "json: cannot unmarshal array into Go value of type v1.Pod", ""),
        ];
        for (group, kind, value, message, path) in table {
            let schema = builtin::schema(group, "v1", kind).unwrap();
            let checked = decode_check(&value, &schema).expect_err(message);
            let error = read(group, kind, value).expect_err(message);
            assert_eq!(error, checked);
            assert_eq!(error.to_string(), message);
            assert_eq!(error.path, path);
        }
    }

    #[test]
    fn any_json_may_stand_where_the_type_is_open() {
        let revision = json!({"data": {"spec": {"anything": [1, null]}}, "revision": 1});
        let (read_back, unknown) = read("apps", "ControllerRevision", revision.clone()).unwrap();
        assert_eq!((read_back, unknown), (revision, vec![]));
        let crd = json!({"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"a": {"default": 5, "items": {"type": "string"}, "nope": 1}},
        }}}]}});
        let (_, unknown) = read("apiextensions.k8s.io", "CustomResourceDefinition", crd).unwrap();
        assert_eq!(unknown, ["spec.versions[0].schema.openAPIV3Schema.properties.a.nope"]);
    }
}
