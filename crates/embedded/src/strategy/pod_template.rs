//! Templates of Pods, kept as objects of their own.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::{Strategy, pod_spec};

/// The strategy of PodTemplates.
#[derive(Debug)]
pub(crate) struct PodTemplate;

impl Strategy for PodTemplate {
    fn default(&self, object: &mut Value) {
        if let Some(object) = object.as_object_mut() {
            pod_spec::default_template(object, "template");
        }
    }

    fn changes_generation(&self, new: &Value, old: &Value) -> bool {
        new["template"] != old["template"]
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        pod_spec::validate_template(&mut errors, &Path::Text("template"), &object["template"]);
        errors
    }
}
