//! Metadata, which every kind has.

use maar_machinery::error::{FieldError, Path};
use maar_machinery::names::metadata::{self, Scope};
use serde_json::Value;

use super::check::{self, Errors};
use super::name::NameRule;
use super::value::{items, text};

/// The finalizers without a domain that built-in kinds may have.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// What is wrong with an object's metadata.
pub(crate) fn validate(object: &Value, namespaced: bool, rule: NameRule) -> Vec<FieldError> {
    let scope = if namespaced { Scope::Namespaced } else { Scope::Cluster };
    let mut errors = metadata::validate(&object["metadata"], scope, rule.rule());
    if rule != NameRule::Custom {
        standard_finalizers(&mut errors, items(&object["metadata"]["finalizers"]));
    }
    errors
}

fn standard_finalizers(errors: &mut Errors, finalizers: &[Value]) {
    let path = Path::Text("metadata.finalizers");
    for (index, finalizer) in finalizers.iter().map(text).enumerate() {
        if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(path.index(index), finalizer, detail));
        }
    }
}

/// What metadata of objects and of templates have in common: labels and annotations.
pub(super) fn validate_shared(errors: &mut Errors, path: &Path<'_>, metadata: &Value) {
    check::labels(errors, &path.field("labels"), &metadata["labels"]);
    if let Some(annotations) = metadata["annotations"].as_object() {
        metadata::validate_annotations(annotations, &path.field("annotations"), errors);
    }
}

/// What is wrong with the metadata of a changed object.
pub(crate) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    metadata::validate_update(&new["metadata"], &old["metadata"])
}
