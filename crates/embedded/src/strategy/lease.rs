//! Leases.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::value::make_root_child;
use super::{Strategy, check};
use crate::world::World;

/// The strategy of Leases.
#[derive(Debug)]
pub(crate) struct Lease;

impl Strategy for Lease {
    fn takes_any_finalizer(&self) -> bool {
        true
    }

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

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        let spec = &object["spec"];
        check::at_least(&mut errors, &path.field("leaseDurationSeconds"), &spec["leaseDurationSeconds"], 1);
        check::non_negative(&mut errors, &path.field("leaseTransitions"), &spec["leaseTransitions"]);
        errors
    }
}
