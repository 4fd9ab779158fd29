//! A Pod on a node says where that node is.

use serde_json::{Map, Value, json};

use crate::server::Server;

const LABELS: [&str; 2] = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"];

impl Server {
    /// The labels that a Pod takes over from its node.
    pub(crate) fn topology_labels(&self, node: &str) -> Map<String, Value> {
        let Some(entry) = self.stored("nodes", "", node) else { return Map::new() };
        let known = entry.meta.labels.iter().filter(|(key, _)| LABELS.contains(&&**key));
        known.map(|(key, value)| (key.to_string(), json!(value))).collect()
    }

    /// Labels a Pod that comes with a node.
    pub(super) fn label_by_node(&self, pod: &mut Value) {
        let Some(node) = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty()) else { return };
        for (key, value) in self.topology_labels(node) {
            pod["metadata"]["labels"][key] = value;
        }
    }
}
