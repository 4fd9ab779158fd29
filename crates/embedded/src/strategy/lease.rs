//! Leases.

use serde_json::Value;

use super::Strategy;
use super::value::make_root_child;
use crate::world::World;

/// The strategy of Leases.
#[derive(Debug)]
pub(crate) struct Lease;

impl Strategy for Lease {
    fn default(&self, object: &mut Value) {
        make_root_child(object, "spec");
    }

    /// Coordinated leader election is off, so its fields are not kept.
    fn prepare_create(&self, object: &mut Value, _world: &World) {
        if let Some(spec) = make_root_child(object, "spec") {
            spec.remove("strategy");
            spec.remove("preferredHolder");
        }
    }
}
