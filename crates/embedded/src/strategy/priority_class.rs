//! PriorityClasses.

use serde_json::Value;

use super::Strategy;
use super::value::fill;

/// The strategy of PriorityClasses.
#[derive(Debug)]
pub(crate) struct PriorityClass;

impl Strategy for PriorityClass {
    fn default(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else { return };
        fill(object, "preemptionPolicy", "PreemptLowerPriority");
        fill(object, "value", 0);
    }
}
