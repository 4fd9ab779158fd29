//! CustomResourceDefinitions.

use maar_machinery::crd;
use maar_machinery::error::FieldError;
use serde_json::{Value, json};

use super::Strategy;
use super::value::{items, make_root_child, restore, set_status};
use crate::world::World;

/// The strategy of CustomResourceDefinitions.
#[derive(Debug)]
pub(crate) struct CustomResourceDefinition;

impl Strategy for CustomResourceDefinition {
    fn takes_any_finalizer(&self) -> bool {
        true
    }

    fn default(&self, object: &mut Value) {
        crd::default(object);
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(
            object,
            json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": []}),
        );
        note_storage_version(object);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
        note_storage_version(new);
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = crd::compile(object).err().unwrap_or_default();
        errors.extend(crd::validate_stored_versions(object));
        errors
    }

    fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = crd::validate_create(object);
        errors.extend(costs(object));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let is_established =
            |condition: &Value| condition["type"] == "Established" && condition["status"] == "True";
        let established = items(&old["status"]["conditions"]).iter().any(is_established);
        let mut errors = crd::validate_update(new, old, established);
        if new["spec"]["versions"] != old["spec"]["versions"] {
            let before = costs(old);
            errors.extend(costs(new).into_iter().filter(|cost| !before.contains(cost)));
        }
        errors
    }
}

/// The rules that could cost too much, in a definition that is otherwise good.
fn costs(object: &Value) -> Vec<FieldError> {
    crd::compile(object).map(|definition| definition.costs()).unwrap_or_default()
}

/// Remembers every version that objects may have been stored in.
fn note_storage_version(object: &mut Value) {
    let mut storage = items(&object["spec"]["versions"]).iter().filter(|version| version["storage"] == true);
    let (Some(version), None) = (storage.next(), storage.next()) else { return };
    let name = version["name"].clone();
    let Some(status) = make_root_child(object, "status") else { return };
    let stored = status.entry("storedVersions").or_insert_with(|| json!([]));
    if let Some(stored) = stored.as_array_mut()
        && !stored.contains(&name)
    {
        stored.push(name);
    }
}
