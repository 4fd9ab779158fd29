//! Printer columns: what `kubectl get` shows of a custom resource.

use serde_json::{Map, Value};

use super::{jsonpath::JsonPath, text};
use crate::error::{FieldError, Path};

const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const FORMATS: [&str; 9] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password", ""];

/// One column of a table.
#[derive(Clone, Debug)]
pub struct PrinterColumn {
    /// The heading.
    pub name: String,
    /// The type: `integer`, `number`, `string`, `boolean` or `date`.
    pub kind: String,
    /// The format of the type.
    pub format: String,
    /// What people are told about the column.
    pub description: String,
    /// Columns above zero show up in wide output only.
    pub priority: i32,
    /// Where the value is found; `None` where the path cannot be read, which leaves the column empty.
    path: Option<JsonPath>,
}

impl PrinterColumn {
    /// The column that every table of a kind without columns of its own has beside the name.
    pub fn age() -> Self {
        Self {
            name: "Age".to_owned(),
            kind: "date".to_owned(),
            format: String::new(),
            description: "The time since the object was created.".to_owned(),
            priority: 0,
            path: JsonPath::parse(".metadata.creationTimestamp").ok(),
        }
    }

    /// The cell of an object; `age` turns a point in time into the time since then.
    pub fn cell(&self, object: &Value, age: impl Fn(&str) -> String) -> Value {
        let Some(path) = &self.path else { return Value::Null };
        let found = path.find(object);
        let Some(first) = found.first() else { return Value::Null };
        match (self.kind.as_str(), first) {
            ("string", _) => {
                Value::String(found.iter().map(|value| plain(value)).collect::<Vec<_>>().join(" "))
            }
            ("date", Value::String(time)) => Value::String(age(time)),
            ("integer", Value::Number(number)) => crate::schema::whole(number)
                .and_then(|whole| i64::try_from(whole).ok())
                .map_or(Value::Null, Value::from),
            ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => (*first).clone(),
            _ => Value::Null,
        }
    }
}

/// A value as text: strings without quotes, everything else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) fn compile(
    column: &Map<String, Value>,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) -> PrinterColumn {
    if text(column, "name").is_empty() {
        errors.push(FieldError::required(path.field("name"), ""));
    }
    let (kind, format) = (text(column, "type"), text(column, "format"));
    let detail = format!("must be one of {}", TYPES.join(","));
    if kind.is_empty() {
        errors.push(FieldError::required(path.field("type"), detail));
    } else if !TYPES.contains(&kind) {
        errors.push(FieldError::invalid(path.field("type"), kind, detail));
    }
    if !FORMATS.contains(&format) {
        let detail = format!("must be one of {}", FORMATS[..8].join(","));
        errors.push(FieldError::invalid(path.field("format"), format, detail));
    }
    let json_path = text(column, "jsonPath");
    if json_path.is_empty() {
        errors.push(FieldError::required(path.field("JSONPath"), ""));
    } else if !json_path.starts_with('.') {
        let detail = "must be a simple json path starting with .";
        errors.push(FieldError::invalid(path.field("JSONPath"), json_path, detail));
    }
    let priority = column.get("priority").and_then(Value::as_i64).unwrap_or_default();
    PrinterColumn {
        name: text(column, "name").to_owned(),
        kind: kind.to_owned(),
        format: format.to_owned(),
        description: text(column, "description").to_owned(),
        priority: i32::try_from(priority).unwrap_or(i32::MAX),
        path: JsonPath::parse(json_path).ok(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cells_have_the_type_of_their_column() {
        let object = json!({
            "metadata": {"creationTimestamp": "2024-01-01T00:00:00Z"},
            "spec": {"n": 3, "f": 1.5, "t": "x", "b": true, "o": {"a": 1}, "l": ["a", "b"]},
        });
        let table = [
            ("integer", ".spec.n", json!(3)),
            ("integer", ".spec.t", json!(null)),
            ("number", ".spec.f", json!(1.5)),
            ("string", ".spec.t", json!("x")),
            ("string", ".spec.n", json!("3")),
            ("string", ".spec.o", json!(r#"{"a":1}"#)),
            ("string", ".spec.l[*]", json!("a b")),
            ("boolean", ".spec.b", json!(true)),
            ("date", ".metadata.creationTimestamp", json!("since 2024-01-01T00:00:00Z")),
            ("string", ".spec.missing", json!(null)),
            ("string", ".spec[", json!(null)),
        ];
        for (kind, path, want) in table {
            let document = json!({"name": "x", "type": kind, "jsonPath": path});
            let mut errors = Vec::new();
            let column = compile(document.as_object().unwrap(), &Path::Root, &mut errors);
            assert!(errors.is_empty(), "{errors:?}");
            assert_eq!(column.cell(&object, |time| format!("since {time}")), want, "{kind} {path}");
        }
    }
}
