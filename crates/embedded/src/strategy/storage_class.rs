//! StorageClasses.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::check::{self, Errors};
use super::value::{entries, fill, is_set, items, text};
use super::{Strategy, name};

const MOST_PARAMETERS: usize = 512;
const MOST_BYTES: usize = 256 * 1024;

/// The strategy of StorageClasses.
#[derive(Debug)]
pub(crate) struct StorageClass;

impl Strategy for StorageClass {
    fn default(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else { return };
        fill(object, "reclaimPolicy", "Delete");
        fill(object, "volumeBindingMode", "Immediate");
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let provisioner = Path::Text("provisioner");
        if check::given(&mut errors, &provisioner, &object["provisioner"]) {
            let lower = text(&object["provisioner"]).to_ascii_lowercase();
            check::text_follows(&mut errors, &provisioner, &lower, name::qualified);
        }
        parameters(&mut errors, &object["parameters"]);
        check::one_of(
            &mut errors,
            &Path::Text("reclaimPolicy"),
            &object["reclaimPolicy"],
            &["Delete", "Retain"],
        );
        let modes = ["Immediate", "WaitForFirstConsumer"];
        let mode = Path::Text("volumeBindingMode");
        check::required_one_of(&mut errors, &mode, &object["volumeBindingMode"], &modes);
        topologies(&mut errors, items(&object["allowedTopologies"]));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for field in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
            check::immutable(&mut errors, &Path::Text(field), &new[field], &old[field]);
        }
        errors
    }
}

fn parameters(errors: &mut Errors, parameters: &Value) {
    let path = Path::Text("parameters");
    if entries(parameters).count() > MOST_PARAMETERS {
        errors.push(FieldError::too_long(path, MOST_PARAMETERS as u64));
        return;
    }
    let mut size = 0;
    for (key, value) in entries(parameters) {
        size += key.len() + text(value).len();
        if key.is_empty() {
            errors.push(FieldError::invalid(path, key, "field can not be empty."));
        }
    }
    if size > MOST_BYTES {
        errors.push(FieldError::too_long(path, MOST_BYTES as u64));
    }
}

fn topologies(errors: &mut Errors, terms: &[Value]) {
    let list = Path::Text("allowedTopologies");
    for (index, term) in terms.iter().enumerate() {
        let path = list.index(index);
        let expressions = path.field("matchLabelExpressions");
        for (index, expression) in items(&term["matchLabelExpressions"]).iter().enumerate() {
            let path = expressions.index(index);
            check::text_follows(errors, &path.field("key"), text(&expression["key"]), name::qualified);
            if !is_set(&expression["values"]) {
                errors.push(FieldError::required(path.field("values"), ""));
            }
        }
    }
}
