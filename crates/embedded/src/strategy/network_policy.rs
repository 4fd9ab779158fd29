//! NetworkPolicies.

use serde_json::{Value, json};

use super::Strategy;
use super::value::{fill, items, items_mut, make_child, make_root_child};

/// The strategy of NetworkPolicies.
#[derive(Debug)]
pub(crate) struct NetworkPolicy;

impl Strategy for NetworkPolicy {
    fn default(&self, object: &mut Value) {
        let Some(spec) = make_root_child(object, "spec") else { return };
        make_child(spec, "podSelector");
        for direction in ["ingress", "egress"] {
            for rule in items_mut(spec, direction) {
                for port in items_mut(rule, "ports") {
                    fill(port, "protocol", "TCP");
                }
            }
        }
        if spec.get("policyTypes").is_none_or(|types| items(types).is_empty()) {
            let leaves = spec.get("egress").is_some_and(|egress| !items(egress).is_empty());
            let types = if leaves { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
            spec.insert("policyTypes".to_owned(), types);
        }
    }
}
