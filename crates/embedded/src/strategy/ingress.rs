//! Ingresses.

use serde_json::{Value, json};

use super::Strategy;
use super::value::{make_child, make_root_child, restore, set_status};
use crate::world::World;

/// The strategy of Ingresses.
#[derive(Debug)]
pub(crate) struct Ingress;

impl Strategy for Ingress {
    fn default(&self, object: &mut Value) {
        make_root_child(object, "spec");
        if let Some(status) = make_root_child(object, "status") {
            make_child(status, "loadBalancer");
        }
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(object, json!({"loadBalancer": {}}));
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
    }
}
