//! Metadata, which every kind has.

use maar_machinery::error::{FieldError, Path};
use maar_machinery::names::metadata::{self, Scope};
use serde_json::Value;

use super::Strategy;
use super::check::{self, Errors};
use super::value::{items, text};

/// The finalizers without a domain that all kinds may have.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// What is wrong with an object's metadata.
pub(crate) fn validate(object: &Value, namespaced: bool, strategy: &dyn Strategy) -> Vec<FieldError> {
    let scope = if namespaced { Scope::Namespaced } else { Scope::Cluster };
    let mut errors = metadata::validate(&object["metadata"], scope, strategy.name_rule().rule());
    validate_finalizers(&mut errors, object, strategy);
    errors
}

fn validate_finalizers(errors: &mut Errors, object: &Value, strategy: &dyn Strategy) {
    if strategy.takes_any_finalizer() {
        return;
    }
    let path = Path::Text("metadata.finalizers");
    let finalizers = items(&object["metadata"]["finalizers"]);
    for (index, finalizer) in finalizers.iter().map(text).enumerate() {
        if !names_domain(finalizer) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(path.index(index), finalizer, detail));
        }
    }
}

/// Whether a finalizer names the domain of its owner, or is one of those that everybody knows.
pub(super) fn names_domain(finalizer: &str) -> bool {
    finalizer.contains('/') || STANDARD_FINALIZERS.contains(&finalizer)
}

/// What metadata of objects and of templates have in common: labels and annotations.
pub(super) fn validate_shared(errors: &mut Errors, path: &Path<'_>, metadata: &Value) {
    check::labels(errors, &path.field("labels"), &metadata["labels"]);
    if let Some(annotations) = metadata["annotations"].as_object() {
        metadata::validate_annotations(annotations, &path.field("annotations"), errors);
    }
}

/// What is wrong with the metadata of a changed object.
pub(crate) fn validate_update(new: &Value, old: &Value, strategy: &dyn Strategy) -> Vec<FieldError> {
    let mut errors = metadata::validate_update(&new["metadata"], &old["metadata"]);
    validate_finalizers(&mut errors, new, strategy);
    errors
}
