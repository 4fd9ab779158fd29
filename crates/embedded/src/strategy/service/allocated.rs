//! What the server gives a Service: addresses, families, ports of the nodes.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::super::value::{fill, integer, is_set, items, items_mut, make_root_child, text};
use super::{has_node_ports, is_external};

/// Writes down which address families a Service has, and both spellings of its addresses.
pub(super) fn settle_families(object: &mut Value) {
    let selects = is_set(&object["spec"]["selector"]);
    let Some(spec) = make_root_child(object, "spec") else { return };
    if spec.get("type").is_some_and(|kind| kind == "ExternalName") {
        return;
    }
    let address = spec.get("clusterIP").map(text).unwrap_or_default().to_owned();
    if !address.is_empty() && spec.get("clusterIPs").is_none_or(|list| items(list).is_empty()) {
        spec.insert("clusterIPs".to_owned(), json!([address]));
    }
    // Without a selector the addresses are somebody else's, of whatever family.
    let foreign = address == "None" && !selects;
    fill(spec, "ipFamilyPolicy", if foreign { "RequireDualStack" } else { "SingleStack" });
    let family = match address.parse::<IpAddr>() {
        Ok(IpAddr::V6(_)) => "IPv6",
        _ => "IPv4",
    };
    let families = if foreign { json!(["IPv4", "IPv6"]) } else { json!([family]) };
    if spec.get("ipFamilies").is_none_or(|families| items(families).is_empty()) {
        spec.insert("ipFamilies".to_owned(), families);
    }
}

/// Copies what the server gave before and the client did not repeat.
pub(super) fn keep(new: &mut Value, old: &Value) {
    let before = &old["spec"];
    let Some(spec) = make_root_child(new, "spec") else { return };
    let kind = spec.get("type").map(text).unwrap_or_default().to_owned();
    let had_address = before["type"] != "ExternalName";
    if kind != "ExternalName" && had_address {
        // A client that knows only the older spelling of addresses changes only that.
        let renamed =
            spec.get("clusterIP").is_some_and(|address| is_set(address) && *address != before["clusterIP"]);
        if renamed && spec.get("clusterIPs") == before.get("clusterIPs") {
            spec.remove("clusterIPs");
        }
        if !spec.get("clusterIP").is_some_and(is_set) && is_set(&before["clusterIP"]) {
            spec.insert("clusterIP".to_owned(), before["clusterIP"].clone());
        }
        if !spec.get("clusterIPs").is_some_and(is_set) && spec.get("clusterIP") == before.get("clusterIP") {
            for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                if let Some(value) = before.get(field) {
                    fill(spec, field, value.clone());
                }
            }
        }
    }
    if !has_node_ports(&kind) || !has_node_ports(text(&before["type"])) {
        return;
    }
    let node_port = |port: &Value| integer(&port["nodePort"]).unwrap_or_default();
    let given: Vec<i64> = spec.get("ports").map_or(&[][..], items).iter().map(node_port).collect();
    for port in items_mut(spec, "ports") {
        let name = port.get("name").map(text).unwrap_or_default().to_owned();
        let same = items(&before["ports"]).iter().find(|other| text(&other["name"]) == name);
        let number = same.map(node_port).unwrap_or_default();
        if number != 0 && !given.contains(&number) {
            super::super::value::fill_number(port, "nodePort", number);
        }
    }
}

/// Removes what the server gave the old type and the new one has no use for, unless the client changed it.
pub(super) fn drop_unused(new: &mut Value, old: &Value) {
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
