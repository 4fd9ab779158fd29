//! Services.

use serde_json::{Value, json};

use super::Strategy;
use super::value::{
    Object, child, fill, fill_text, items, items_mut, make_child, make_root_child, restore, set_status, text,
};
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
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
        drop_what_the_type_no_longer_has(new, old);
    }
}

fn default_spec(spec: &mut Object) {
    fill_text(spec, "sessionAffinity", "None");
    match spec.get("sessionAffinity").and_then(Value::as_str) {
        Some("None") => {
            spec.remove("sessionAffinityConfig");
        }
        Some("ClientIP") => {
            if spec
                .get("sessionAffinityConfig")
                .is_none_or(|config| config["clientIP"]["timeoutSeconds"].is_null())
            {
                spec.insert(
                    "sessionAffinityConfig".to_owned(),
                    json!({"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}}),
                );
            }
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

/// Removes what the server gave the old type and the new one has no use for, unless the client changed it.
fn drop_what_the_type_no_longer_has(new: &mut Value, old: &Value) {
    let kinds = (text(&old["spec"]["type"]).to_owned(), text(&new["spec"]["type"]).to_owned());
    let (old_kind, new_kind) = (kinds.0.as_str(), kinds.1.as_str());
    if old_kind == new_kind {
        return;
    }
    let mut dropped: Vec<&str> = Vec::new();
    if new_kind == "ExternalName" {
        dropped.extend(["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"]);
    }
    if old_kind == "LoadBalancer" {
        dropped.extend(["healthCheckNodePort", "allocateLoadBalancerNodePorts", "loadBalancerClass"]);
    }
    let external = |object: &Value, kind| is_external(kind, items(&object["spec"]["externalIPs"]));
    if external(old, old_kind) && !external(new, new_kind) {
        dropped.push("externalTrafficPolicy");
    }
    let node_ports = |object: &Value| -> Vec<Value> {
        items(&object["spec"]["ports"]).iter().map(|port| port["nodePort"].clone()).collect()
    };
    let has_node_ports = |kind| matches!(kind, "NodePort" | "LoadBalancer");
    let drop_node_ports =
        has_node_ports(old_kind) && !has_node_ports(new_kind) && node_ports(new) == node_ports(old);
    let Some(spec) = make_root_child(new, "spec") else { return };
    for field in dropped {
        if spec.get(field) == old["spec"].get(field) {
            spec.remove(field);
        }
    }
    if drop_node_ports {
        for port in items_mut(spec, "ports") {
            port.remove("nodePort");
        }
    }
    if new_kind != "LoadBalancer"
        && let Some(status) = make_root_child(new, "status")
    {
        status.insert("loadBalancer".to_owned(), json!({}));
    }
}
