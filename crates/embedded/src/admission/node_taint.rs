//! A node that has not said that it is ready gets no Pods.

use serde_json::{Value, json};

use super::json::{items, push};
use super::tolerations::NOT_READY;

/// Adds the taint that the node controller takes away when the node is ready.
pub(super) fn add(node: &mut Value) {
    let taint = json!({"key": NOT_READY, "effect": "NoSchedule"});
    let spec = &mut node["spec"];
    if !items(spec, "taints").any(|one| one["key"] == NOT_READY && one["effect"] == "NoSchedule") {
        push(spec, "taints", taint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_node_carries_the_taint_once() {
        let mut node = json!({"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}});
        add(&mut node);
        add(&mut node);
        let keys = node["spec"]["taints"].as_array().unwrap().iter().map(|taint| taint["key"].clone());
        assert_eq!(keys.collect::<Vec<_>>(), ["gpu", NOT_READY]);
        let mut bare = json!({});
        add(&mut bare);
        assert_eq!(bare["spec"]["taints"], json!([{"key": NOT_READY, "effect": "NoSchedule"}]));
    }
}
