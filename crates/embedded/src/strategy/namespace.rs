//! Namespaces.

use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};

use super::value::{fill_text, items, make_child, make_root_child, restore, set_status, text};
use super::{NameRule, Strategy, check, name};
use crate::resource::Subresource;
use crate::world::World;

const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// The strategy of Namespaces.
#[derive(Debug)]
pub(crate) struct Namespace;

impl Strategy for Namespace {
    fn default(&self, object: &mut Value) {
        make_root_child(object, "spec");
        if let Some(status) = make_root_child(object, "status") {
            fill_text(status, "phase", "Active");
        }
        label_with_name(object);
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(object, json!({"phase": "Active"}));
        // The name may have been generated since the defaults were filled.
        label_with_name(object);
        let Some(spec) = make_root_child(object, "spec") else { return };
        let finalizers = spec.entry("finalizers").or_insert_with(|| json!([]));
        match finalizers.as_array_mut() {
            Some(finalizers) if finalizers.iter().any(|finalizer| finalizer == "kubernetes") => {}
            Some(finalizers) => finalizers.push("kubernetes".into()),
            None => *finalizers = json!(["kubernetes"]),
        }
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
        if let Some(spec) = new.get_mut("spec") {
            restore(spec, &old["spec"], "finalizers");
        }
    }

    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec.finalizers");
        for finalizer in items(&object["spec"]["finalizers"]) {
            check::text_follows(&mut errors, &path, text(finalizer), name::qualified);
        }
        errors
    }

    fn validate_subresource(&self, subresource: Subresource, new: &Value, _old: &Value) -> Vec<FieldError> {
        match subresource {
            Subresource::Status => phase(new).into_iter().collect(),
            Subresource::Finalize => self.validate(new),
            _ => Vec::new(),
        }
    }
}

fn label_with_name(object: &mut Value) {
    let name = object["metadata"]["name"].clone();
    if name.is_string()
        && let Some(metadata) = make_root_child(object, "metadata")
        && let Some(labels) = make_child(metadata, "labels")
    {
        labels.insert(NAME_LABEL.to_owned(), name);
    }
}

/// The phase says no more than whether the namespace is being deleted.
fn phase(object: &Value) -> Option<FieldError> {
    let (wanted, state) = if object["metadata"]["deletionTimestamp"].is_null() {
        ("Active", "empty")
    } else {
        ("Terminating", "not empty")
    };
    let phase = &object["status"]["phase"];
    (phase != wanted).then(|| {
        let detail = format!("may only be '{wanted}' if `deletionTimestamp` is {state}");
        FieldError::invalid("status.Phase", phase.clone(), detail)
    })
}
