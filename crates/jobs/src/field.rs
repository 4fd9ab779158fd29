//! Which field of an object is wrong.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The path of the field for which `value` cannot be read as a `T`, such as `spec.tasks[0].replicas`, and what is wrong
/// with it; none if it can be read.
///
/// Reading says what is wrong but not where. So parts are left out one by one: the part without which the complaint
/// is another one holds the culprit. (A field that is missing is complained of last, so leaving out an innocent one
/// changes nothing.)
pub(crate) fn culprit<T: DeserializeOwned>(value: &Value) -> Option<(String, String)> {
    let complaint = complaint::<T>(value)?;
    let mut pointer = String::new();
    let mut path = String::new();
    while let Some(at) = value.pointer(&pointer) {
        let Some(part) = parts(at).into_iter().find(|part| is_in::<T>(value, &pointer, part, &complaint))
        else {
            break;
        };
        pointer = format!("{pointer}/{}", part.replace('~', "~0").replace('/', "~1"));
        path = match at {
            Value::Array(_) => format!("{path}[{part}]"),
            _ if path.is_empty() => part,
            _ => format!("{path}.{part}"),
        };
    }
    Some((path, complaint))
}

fn complaint<T: DeserializeOwned>(value: &Value) -> Option<String> {
    T::deserialize(value).err().map(|error| error.to_string())
}

fn parts(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => fields.keys().cloned().collect(),
        Value::Array(items) => (0..items.len()).map(|index| index.to_string()).collect(),
        _ => Vec::new(),
    }
}

/// Whether the complaint is about this part.
fn is_in<T: DeserializeOwned>(value: &Value, pointer: &str, part: &str, complaint_before: &str) -> bool {
    let mut without = value.clone();
    match without.pointer_mut(pointer) {
        Some(Value::Object(fields)) => drop(fields.remove(part)),
        Some(Value::Array(items)) => {
            if let Some(index) = part.parse().ok().filter(|index| *index < items.len()) {
                items.remove(index);
            }
        }
        _ => return false,
    }
    complaint::<T>(&without).as_deref() != Some(complaint_before)
}

#[cfg(test)]
mod tests {
    use maar_api::v1alpha1::{AIJob, Workspace};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_field_that_is_wrong_is_named() {
        let job = |spec: Value| json!({ "metadata": { "name": "a" }, "spec": spec });
        let container =
            json!({ "name": "main", "ports": [{ "containerPort": 1 }, { "containerPort": "x" }] });
        for (spec, want) in [
            (
                json!({ "tasks": [{ "name": "m", "template": { "spec": { "containers": 5 } } }] }),
                "spec.tasks[0].template.spec.containers",
            ),
            (
                json!({ "tasks": [{ "name": "m", "template": { "spec": { "containers": [container] } } }] }),
                "spec.tasks[0].template.spec.containers[0].ports[1].containerPort",
            ),
            (json!({ "tasks": [], "priority": "high" }), "spec.priority"),
            (json!({ "tasks": [{ "template": {} }] }), "spec.tasks[0]"),
            (
                json!({ "tasks": [{ "name": "m", "template": {}, "cards": { "share": "half" } }] }),
                "spec.tasks[0].cards.share",
            ),
        ] {
            let (path, complaint) = culprit::<AIJob>(&job(spec)).unwrap();
            assert_eq!(path, want, "{complaint}");
        }
        assert_eq!(culprit::<AIJob>(&job(json!({ "tasks": [] }))), None);
        let desk = json!({ "metadata": {}, "spec": { "image": "i", "env": [{ "name": 5 }] } });
        assert_eq!(culprit::<Workspace>(&desk).unwrap().0, "spec.env[0].name");
    }
}
