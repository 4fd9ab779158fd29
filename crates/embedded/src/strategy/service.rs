//! Services.

mod allocated;
mod validate;

use maar_machinery::error::FieldError;
use serde_json::{Value, json};

use super::value::{
    Object, child, fill, fill_text, items, items_mut, make_child, make_root_child, restore, set_status, text,
};
use super::{NameRule, Strategy, ingress};
use crate::resource::Subresource;
use crate::world::World;

const AFFINITY_SECONDS: i64 = 10800;

/// The strategy of Services. Addresses and node ports are given by whoever keeps track of them.
#[derive(Debug)]
pub(crate) struct Service;

impl Strategy for Service {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = make_root_child(object, "spec") {
            default_spec(spec);
        }
        if let Some(status) = make_root_child(object, "status") {
            make_child(status, "loadBalancer");
        }
        if object["spec"]["type"] == "LoadBalancer"
            && let Some(status) = make_root_child(object, "status")
            && let Some(balancer) = child(status, "loadBalancer")
        {
            for ingress in items_mut(balancer, "ingress") {
                if ingress.get("ip").is_some_and(|ip| !text(ip).is_empty()) {
                    fill(ingress, "ipMode", "VIP");
                }
            }
        }
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(object, json!({"loadBalancer": {}}));
        allocated::settle_families(object);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
        allocated::drop_unused(new, old);
        allocated::keep(new, old);
        allocated::settle_families(new);
    }

    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        validate::service(&mut errors, object);
        errors
    }

    fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        validate::families_of_cluster(object)
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if ["ipFamilies", "ipFamilyPolicy"].iter().any(|field| new["spec"][field] != old["spec"][field]) {
            errors.extend(validate::families_of_cluster(new));
        }
        validate::update(&mut errors, &new["spec"], &old["spec"]);
        errors
    }

    fn validate_subresource(&self, _subresource: Subresource, new: &Value, _old: &Value) -> Vec<FieldError> {
        ingress::validate_load_balancer(&new["status"]["loadBalancer"])
    }
}

fn default_spec(spec: &mut Object) {
    fill_text(spec, "sessionAffinity", "None");
    let is_endless = |config: &Value| config["clientIP"]["timeoutSeconds"].is_null();
    match spec.get("sessionAffinity").and_then(Value::as_str) {
        Some("None") => {
            spec.remove("sessionAffinityConfig");
        }
        Some("ClientIP") if spec.get("sessionAffinityConfig").is_none_or(is_endless) => {
            let config = json!({"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}});
            spec.insert("sessionAffinityConfig".to_owned(), config);
        }
        _ => {}
    }
    fill_text(spec, "type", "ClusterIP");
    for port in items_mut(spec, "ports") {
        fill_text(port, "protocol", "TCP");
        if port.get("targetPort").is_none_or(|target| target.is_null() || target == 0 || target == "") {
            let number = port.get("port").cloned().unwrap_or_default();
            port.insert("targetPort".to_owned(), number);
        }
    }
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let external = is_external(&kind, spec.get("externalIPs").map_or(&[][..], items));
    if external {
        fill_text(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind != "ExternalName" {
        fill(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        fill(spec, "allocateLoadBalancerNodePorts", true);
    }
}

/// Whether traffic from outside the cluster can arrive.
fn is_external(kind: &str, external_addresses: &[Value]) -> bool {
    matches!(kind, "NodePort" | "LoadBalancer") || (kind == "ClusterIP" && !external_addresses.is_empty())
}

/// Whether a Service of that type has a port on every node.
fn has_node_ports(kind: &str) -> bool {
    matches!(kind, "NodePort" | "LoadBalancer")
}
