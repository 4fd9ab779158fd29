//! PodDisruptionBudgets.

use serde_json::{Value, json};

use super::Strategy;
use super::value::{fill, make_root_child, restore, set_status};
use crate::world::World;

const COUNTS: [&str; 4] = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];

/// The strategy of PodDisruptionBudgets.
#[derive(Debug)]
pub(crate) struct PodDisruptionBudget;

impl Strategy for PodDisruptionBudget {
    fn default(&self, object: &mut Value) {
        make_root_child(object, "spec");
        if let Some(status) = make_root_child(object, "status") {
            for count in COUNTS {
                fill(status, count, 0);
            }
        }
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        let mut status = json!({});
        for count in COUNTS {
            status[count] = 0.into();
        }
        set_status(object, status);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
    }
}
