//! What is particular about each built-in kind: defaults, what a client may not set, what may not change.
//!
//! The verbs call these hooks in this order: `default`, `prepare_create` or `prepare_update`, `validate`,
//! `validate_update`. All are pure.

use maar_machinery::error::FieldError;
use serde_json::Value;

use crate::world::World;

/// The hooks of a kind; the defaults do nothing.
pub(crate) trait Strategy: Sync + std::fmt::Debug {
    /// Fills fields the client left out, on every write.
    fn default(&self, _object: &mut Value) {}

    /// Resets what a client may not choose at creation and sets the initial state.
    fn prepare_create(&self, _object: &mut Value, _world: &World) {}

    /// Restores what a client may not change by writing the object itself.
    fn prepare_update(&self, _new: &mut Value, _old: &Value) {}

    /// Restores what a write to the status may not change, beyond everything outside `status`.
    fn prepare_status(&self, _new: &mut Value, _old: &Value) {}

    /// What is wrong with the object.
    fn validate(&self, _object: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// What is wrong with the change.
    fn validate_update(&self, _new: &Value, _old: &Value) -> Vec<FieldError> {
        Vec::new()
    }
}

/// A kind with nothing particular about it.
#[derive(Debug)]
pub(crate) struct Plain;

impl Strategy for Plain {}
