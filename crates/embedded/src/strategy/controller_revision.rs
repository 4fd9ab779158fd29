//! ControllerRevisions: the history of StatefulSets and DaemonSets.

use serde_json::Value;

use super::Strategy;
use super::value::fill;

/// The strategy of ControllerRevisions.
#[derive(Debug)]
pub(crate) struct ControllerRevision;

impl Strategy for ControllerRevision {
    fn default(&self, object: &mut Value) {
        if let Some(object) = object.as_object_mut() {
            fill(object, "revision", 0);
        }
    }
}
