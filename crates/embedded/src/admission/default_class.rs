//! Claims and ingresses that name no class get the one that is marked as the default.

use std::sync::Arc;

use serde_json::Value;

use crate::store::Entry;

pub(super) const STORAGE_CLASSES: &str = "storageclasses.storage.k8s.io";
pub(super) const INGRESS_CLASSES: &str = "ingressclasses.networking.k8s.io";

const STORAGE_DEFAULT: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
const INGRESS_DEFAULT: [&str; 1] = ["ingressclass.kubernetes.io/is-default-class"];

/// The older ways of naming a class.
const CLAIM_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
const INGRESS_ANNOTATION: &str = "kubernetes.io/ingress.class";

pub(super) fn of_claim(claim: &mut Value, classes: &[Arc<Entry>]) {
    if claim["metadata"]["annotations"].get(CLAIM_ANNOTATION).is_some() {
        return;
    }
    fill(claim, "storageClassName", classes, &STORAGE_DEFAULT);
}

pub(super) fn of_ingress(ingress: &mut Value, classes: &[Arc<Entry>]) {
    if ingress["metadata"]["annotations"].get(INGRESS_ANNOTATION).is_some() {
        return;
    }
    fill(ingress, "ingressClassName", classes, &INGRESS_DEFAULT);
}

fn fill(object: &mut Value, field: &str, classes: &[Arc<Entry>], marks: &[&str]) {
    // An empty name is a choice too: no class at all.
    if !object["spec"][field].is_null() {
        return;
    }
    if let Some(name) = newest_default(classes, marks) {
        object["spec"][field] = name.into();
    }
}

/// The newest class that is marked, by name among those of the same second.
fn newest_default(classes: &[Arc<Entry>], marks: &[&str]) -> Option<String> {
    let mut best: Option<(String, String)> = None;
    for entry in classes {
        let class = entry.value();
        if !marks.iter().any(|mark| class["metadata"]["annotations"][mark] == "true") {
            continue;
        }
        let created = class["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned();
        // Classes come in the order of their names, so that of equals the first stays.
        if best.as_ref().is_none_or(|(newest, _)| created > *newest) {
            best = Some((created, entry.meta.name.to_string()));
        }
    }
    best.map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store;

    fn class(name: &str, created: &str, default: &str) -> Arc<Entry> {
        let value = json!({"metadata": {"name": name, "creationTimestamp": created,
            "annotations": {STORAGE_DEFAULT[0]: default}}});
        store::decode(&value, 1).into()
    }

    #[test]
    fn the_newest_default_class_is_taken_unless_one_is_named() {
        let classes = [
            class("a", "2026-01-01T00:00:00Z", "true"),
            class("b", "2026-01-02T00:00:00Z", "true"),
            class("c", "2026-01-02T00:00:00Z", "true"),
            class("d", "2026-01-03T00:00:00Z", "false"),
        ];
        let rows = [
            (json!({"metadata": {}, "spec": {}}), json!("b")),
            (json!({"metadata": {}, "spec": {"storageClassName": ""}}), json!("")),
            (json!({"metadata": {"annotations": {CLAIM_ANNOTATION: "x"}}, "spec": {}}), json!(null)),
        ];
        for (mut claim, want) in rows {
            of_claim(&mut claim, &classes);
            assert_eq!(claim["spec"]["storageClassName"], want);
        }
        let mut claim = json!({"metadata": {}, "spec": {}});
        of_claim(&mut claim, &[]);
        assert_eq!(claim["spec"]["storageClassName"], json!(null));
    }
}
