//! Nodes.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::check::{self, Errors};
use super::value::{entries, fill, is_set, items, items_mut, make_child, make_root_child, restore, text};
use super::{Strategy, name, pod_spec, resources};
use crate::resource::Subresource;
use crate::world::World;

const INFO: [&str; 10] = [
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
];

/// The strategy of Nodes.
#[derive(Debug)]
pub(crate) struct Node;

impl Strategy for Node {
    fn default(&self, object: &mut Value) {
        make_root_child(object, "spec");
        let Some(status) = make_root_child(object, "status") else { return };
        for condition in items_mut(status, "conditions") {
            for field in ["lastHeartbeatTime", "lastTransitionTime"] {
                condition.entry(field).or_insert(Value::Null);
            }
        }
        resources::normalize(status.get_mut("capacity"));
        resources::normalize(status.get_mut("allocatable"));
        if let Some(capacity) = status.get("capacity").cloned() {
            fill(status, "allocatable", capacity);
        }
        if let Some(endpoints) = make_child(status, "daemonEndpoints")
            && let Some(kubelet) = make_child(endpoints, "kubeletEndpoint")
        {
            fill(kubelet, "Port", 0);
        }
        if let Some(info) = make_child(status, "nodeInfo") {
            for field in INFO {
                fill(info, field, "");
            }
        }
    }

    // A node may bring its status when it registers, so creation resets nothing but the retired configuration.
    fn prepare_create(&self, object: &mut Value, _world: &World) {
        if let Some(spec) = make_root_child(object, "spec") {
            spec.remove("configSource");
        }
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        taints(&mut errors, items(&object["spec"]["taints"]));
        let networks = items(&object["spec"]["podCIDRs"]);
        let path = Path::Text("spec.podCIDRs");
        for (index, network) in networks.iter().enumerate() {
            check::text_follows(&mut errors, &path.index(index), text(network), name::network);
        }
        if networks.len() > 2 {
            let detail = "may specify no more than one CIDR for each IP family";
            errors.push(FieldError::invalid(path, networks.to_vec(), detail));
        }
        status(&mut errors, &object["status"]);
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        for field in ["podCIDRs", "providerID"] {
            if is_set(&old["spec"][field]) && new["spec"][field] != old["spec"][field] {
                let detail = format!("node updates may not change {field} except from \"\" to valid");
                errors.push(FieldError::forbidden(path.field(field), detail));
            }
        }
        errors
    }

    fn validate_subresource(&self, _subresource: Subresource, new: &Value, _old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        status(&mut errors, &new["status"]);
        let addresses = items(&new["status"]["addresses"]);
        let path = Path::Text("status.addresses");
        for (index, address) in addresses.iter().enumerate() {
            if addresses[..index].contains(address) {
                errors.push(FieldError::duplicate(path.index(index), address.clone()));
            }
        }
        errors
    }
}

fn taints(errors: &mut Errors, taints: &[Value]) {
    // Kubernetes gives this path, although taints are in the specification.
    let path = Path::Text("metadata.taints");
    for (index, taint) in taints.iter().enumerate() {
        let path = path.index(index);
        check::text_follows(errors, &path.field("key"), text(&taint["key"]), name::qualified);
        check::text_follows(errors, &path.field("value"), text(&taint["value"]), name::label_value);
        pod_spec::validate_taint_effect(errors, &path.field("effect"), &taint["effect"]);
        let same = |other: &Value| other["key"] == taint["key"] && other["effect"] == taint["effect"];
        if taints[..index].iter().any(same) {
            errors.push(FieldError::duplicate(path, taint.clone()));
        }
    }
}

fn status(errors: &mut Errors, status: &Value) {
    for list in ["capacity", "allocatable"] {
        let root = Path::Text("status");
        let path = root.field(list);
        for (resource, amount) in entries(&status[list]) {
            resources::validate_amount(errors, &path.field(resource), resource, amount);
        }
    }
}
