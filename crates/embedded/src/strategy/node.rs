//! Nodes.

use serde_json::Value;

use super::value::{fill, make_child, make_root_child, restore};
use super::{Strategy, resources};
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
}
