//! Deployments.

use serde_json::{Value, json};

use super::value::{fill, fill_text, make_child, make_root_child, restore, set_status};
use super::{Strategy, pod_spec};
use crate::world::World;

/// The strategy of Deployments.
#[derive(Debug)]
pub(crate) struct Deployment;

impl Strategy for Deployment {
    fn default(&self, object: &mut Value) {
        let Some(spec) = make_root_child(object, "spec") else { return };
        fill(spec, "replicas", 1);
        fill(spec, "revisionHistoryLimit", 10);
        fill(spec, "progressDeadlineSeconds", 600);
        if let Some(strategy) = make_child(spec, "strategy") {
            fill_text(strategy, "type", "RollingUpdate");
            if strategy["type"] == "RollingUpdate"
                && let Some(rolling) = make_child(strategy, "rollingUpdate")
            {
                fill(rolling, "maxUnavailable", "25%");
                fill(rolling, "maxSurge", "25%");
            }
        }
        pod_spec::default_template(spec, "template");
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(object, json!({}));
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _world: &World) {
        if let Some(metadata) = new.get_mut("metadata") {
            restore(metadata, &old["metadata"], "labels");
        }
    }

    /// Annotations count too, because they are copied to the ReplicaSets.
    fn changes_generation(&self, new: &Value, old: &Value) -> bool {
        new["spec"] != old["spec"] || new["metadata"]["annotations"] != old["metadata"]["annotations"]
    }
}
