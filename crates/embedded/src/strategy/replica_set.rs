//! ReplicaSets.

use serde_json::{Value, json};

use super::value::{fill, make_root_child, restore, set_status};
use super::{Strategy, pod_spec};
use crate::world::World;

/// The strategy of ReplicaSets.
#[derive(Debug)]
pub(crate) struct ReplicaSet;

impl Strategy for ReplicaSet {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = make_root_child(object, "spec") {
            fill(spec, "replicas", 1);
            pod_spec::default_template(spec, "template");
        }
        if let Some(status) = make_root_child(object, "status") {
            fill(status, "replicas", 0);
        }
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(object, json!({"replicas": 0}));
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
    }
}
