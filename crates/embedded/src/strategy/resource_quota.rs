//! ResourceQuotas.

use serde_json::{Value, json};

use super::value::{make_root_child, restore, set_status};
use super::{Strategy, resources};
use crate::world::World;

/// The strategy of ResourceQuotas.
#[derive(Debug)]
pub(crate) struct ResourceQuota;

impl Strategy for ResourceQuota {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = make_root_child(object, "spec") {
            resources::normalize(spec.get_mut("hard"));
        }
        if let Some(status) = make_root_child(object, "status") {
            resources::normalize(status.get_mut("hard"));
            resources::normalize(status.get_mut("used"));
        }
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(object, json!({}));
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
    }
}
