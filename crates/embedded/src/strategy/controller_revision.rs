//! ControllerRevisions: the history of StatefulSets and DaemonSets.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::value::fill;
use super::{Strategy, check};

/// The strategy of ControllerRevisions.
#[derive(Debug)]
pub(crate) struct ControllerRevision;

impl Strategy for ControllerRevision {
    fn default(&self, object: &mut Value) {
        if let Some(object) = object.as_object_mut() {
            fill(object, "revision", 0);
        }
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        check::non_negative(&mut errors, &Path::Text("revision"), &object["revision"]);
        errors
    }

    fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        if object["data"].is_object() {
            return Vec::new();
        }
        vec![FieldError::required("data", "data is mandatory and must be an object")]
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        check::immutable(&mut errors, &Path::Text("data"), &new["data"], &old["data"]);
        errors
    }
}
