//! Pods from templates, and names for templates.

use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// The letters of generated names; a hash written in them cannot spell a word.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// A Pod as a template describes it, without a name.
pub(crate) fn pod_from(template: &PodTemplateSpec, namespace: &str, owner: &OwnerReference) -> Pod {
    let described = template.metadata.clone().unwrap_or_default();
    Pod {
        metadata: ObjectMeta {
            namespace: Some(namespace.to_owned()),
            generate_name: Some(format!("{}-", owner.name)),
            labels: described.labels,
            annotations: described.annotations,
            finalizers: described.finalizers,
            owner_references: Some(vec![owner.clone()]),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        status: None,
    }
}

/// A short name for a value: equal values have equal names. `collisions` gives another name to the same value
/// when a name turns out to be taken by a different one.
pub(crate) fn hash(value: &impl Serialize, collisions: Option<i32>) -> String {
    let text = serde_json::to_vec(value).expect("Kubernetes types always serialise into memory");
    let mut hash = Sha256::new();
    hash.update(text);
    if let Some(count) = collisions {
        hash.update(count.to_be_bytes());
    }
    hash.finalize()
        .iter()
        .take(10)
        .map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn a_pod_carries_what_the_template_says_and_its_owner() {
        let template: PodTemplateSpec = from_value(json!({
            "metadata": {"labels": {"app": "web"}, "annotations": {"note": "x"}},
            "spec": {"containers": [{"name": "c"}]},
        }))
        .unwrap();
        let owner = OwnerReference { name: "web-1".into(), uid: "u".into(), ..OwnerReference::default() };
        let pod = pod_from(&template, "ns", &owner);
        assert_eq!(pod.metadata.generate_name.as_deref(), Some("web-1-"));
        assert_eq!(pod.metadata.labels.unwrap()["app"], "web");
        assert_eq!(pod.metadata.owner_references.unwrap(), [owner]);
        assert_eq!(pod.spec.unwrap().containers.len(), 1);
    }

    #[test]
    fn hashes_depend_on_value_and_collisions_only() {
        let value = json!({"a": 1});
        assert_eq!(hash(&value, None), hash(&json!({"a": 1}), None));
        assert_ne!(hash(&value, None), hash(&json!({"a": 2}), None));
        assert_ne!(hash(&value, None), hash(&value, Some(1)));
        assert_eq!(hash(&value, None).len(), 10);
    }
}
