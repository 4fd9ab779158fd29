//! How long Pods stay on a node that is in trouble, unless they say otherwise.

use serde_json::{Value, json};

use super::json::{items, push};

/// What taints of nodes in trouble are called.
pub(super) const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

const SECONDS: i64 = 300;

/// Adds the two tolerations that every Pod has.
pub(super) fn add_defaults(pod: &mut Value) {
    for taint in [NOT_READY, UNREACHABLE] {
        if items(&pod["spec"], "tolerations").any(|one| covers(one, taint)) {
            continue;
        }
        let toleration =
            json!({"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS});
        push(&mut pod["spec"], "tolerations", toleration);
    }
}

/// Whether a toleration says something about that taint, whatever it is.
fn covers(toleration: &Value, taint: &str) -> bool {
    let text = |field: &str| toleration[field].as_str().unwrap_or_default();
    matches!(text("effect"), "" | "NoExecute") && (text("key").is_empty() || text("key") == taint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_said_is_added() {
        let rows = [
            (json!(null), vec![NOT_READY, UNREACHABLE]),
            (json!([{"operator": "Exists"}]), vec![""]),
            (json!([{"key": NOT_READY, "effect": "NoExecute"}]), vec![NOT_READY, UNREACHABLE]),
            (json!([{"key": NOT_READY, "effect": "NoSchedule"}]), vec![NOT_READY, NOT_READY, UNREACHABLE]),
            (json!([{"key": "gpu"}]), vec!["gpu", NOT_READY, UNREACHABLE]),
        ];
        for (given, want) in rows {
            let mut pod = json!({"spec": {"tolerations": given}});
            add_defaults(&mut pod);
            let list = pod["spec"]["tolerations"].as_array().unwrap();
            let keys: Vec<&str> = list.iter().map(|one| one["key"].as_str().unwrap_or_default()).collect();
            assert_eq!(keys, want, "{given}");
            let before = pod.clone();
            add_defaults(&mut pod);
            assert_eq!(pod, before, "a second time changes nothing");
        }
    }
}
