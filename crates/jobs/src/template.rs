//! Fields of Pod templates that Kubernetes does not know.
//!
//! The definition of AIJob takes templates as they are, and reading them drops what is not a field of a Pod: a typing
//! error such as `resource:` for `resources:` would go unnoticed. So the template as it was written is compared with
//! what was understood of it.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// More than these are not named.
const MOST: usize = 8;

/// Paths of fields that were not understood, of all templates of a job as it came off the wire.
pub(crate) fn unknown_fields(job: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let tasks = job["spec"]["tasks"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (at, task) in tasks.iter().enumerate() {
        let path = format!("spec.tasks[{at}].template");
        found.extend(
            lost::<PodTemplateSpec>(&task["template"]).into_iter().map(|field| format!("{path}.{field}")),
        );
    }
    found
}

/// Paths of fields that are lost when an object is read as a `T`. One that cannot be read at all is told so elsewhere.
pub fn lost<T: Serialize + DeserializeOwned>(written: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(read) = T::deserialize(written)
        && let Ok(understood) = serde_json::to_value(read)
    {
        compare("", written, &understood, &mut found);
    }
    found
}

fn compare(path: &str, written: &Value, understood: &Value, found: &mut Vec<String>) {
    match (written, understood) {
        (Value::Object(written), understood) => {
            for (name, value) in written {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match understood.get(name) {
                    Some(understood) => compare(&path, value, understood, found),
                    None if is_empty(value) => {}
                    None => found.push(path),
                }
            }
        }
        (Value::Array(written), Value::Array(understood)) => {
            for (at, (written, understood)) in written.iter().zip(understood).enumerate() {
                compare(&format!("{path}[{at}]"), written, understood, found);
            }
        }
        _ => {}
    }
}

/// What says nothing may be left out without anything being lost.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// The fields in a sentence.
pub(crate) fn sentence(fields: &[String]) -> String {
    let more = fields.len().saturating_sub(MOST);
    let named = fields.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("not fields of a Pod, and left out: {named}{rest}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(template: &Value) -> Value {
        json!({ "spec": { "tasks": [{ "name": "main", "template": template }] } })
    }

    #[test]
    fn typing_errors_are_found_where_they_are() {
        let template = json!({
            "metadata": { "label": { "a": "b" }, "creationTimestamp": null },
            "spec": {
                "nodeselector": { "a": "b" },
                "volumes": [],
                "containers": [{ "name": "main", "resource": { "limits": {} }, "env": [{ "name": "A", "valu": "b" }],
                    "ports": [{ "containerPort": 80 }] }],
            },
        });
        let want = [
            "spec.tasks[0].template.metadata.label",
            "spec.tasks[0].template.spec.containers[0].env[0].valu",
            "spec.tasks[0].template.spec.containers[0].resource",
            "spec.tasks[0].template.spec.nodeselector",
        ];
        assert_eq!(unknown_fields(&job(&template)), want);
        assert_eq!(sentence(&vec!["a".to_owned(); 9]).matches("a,").count(), 7);
    }

    #[test]
    fn what_people_write_is_understood() {
        let template = json!({ "spec": {
            "containers": [{ "name": "main", "image": "i", "args": [], "tty": false,
                "resources": { "limits": { "cpu": 2, "nvidia.com/gpu": "1" } },
                "livenessProbe": { "httpGet": { "port": 80 } },
                "env": [{ "name": "A", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }] }],
            "volumes": [{ "name": "v", "emptyDir": {} }],
            "tolerations": [{ "operator": "Exists" }],
            "affinity": { "nodeAffinity": {} },
        } });
        assert!(unknown_fields(&job(&template)).is_empty());
        assert!(unknown_fields(&json!({ "spec": 5 })).is_empty());
    }
}
