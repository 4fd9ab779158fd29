//! PersistentVolumeClaims.

use serde_json::{Value, json};

use super::value::{Object, fill_text, make_root_child, restore, set_status, text};
use super::{Strategy, pod_spec, resources};
use crate::world::World;

/// The strategy of PersistentVolumeClaims.
#[derive(Debug)]
pub(crate) struct PersistentVolumeClaim;

impl Strategy for PersistentVolumeClaim {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = make_root_child(object, "spec") {
            pod_spec::default_claim_spec(spec);
        }
        if let Some(status) = make_root_child(object, "status") {
            fill_text(status, "phase", "Pending");
            resources::normalize(status.get_mut("capacity"));
            resources::normalize(status.get_mut("allocatedResources"));
        }
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(object, json!({"phase": "Pending"}));
        if let Some(spec) = make_root_child(object, "spec") {
            mirror_data_source(spec);
        }
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
        if let Some(spec) = make_root_child(new, "spec") {
            mirror_data_source(spec);
        }
    }
}

/// What a claim is filled from has an old and a new field; both say the same where the old one can say it.
fn mirror_data_source(spec: &mut Object) {
    let source = spec.get("dataSource").filter(|source| source.is_object()).cloned();
    let reference = spec.get("dataSourceRef").filter(|reference| reference.is_object()).cloned();
    match (source, reference) {
        (Some(source), None) => {
            spec.insert("dataSourceRef".to_owned(), source);
        }
        (None, Some(reference)) if text(&reference["namespace"]).is_empty() => {
            spec.insert("dataSource".to_owned(), reference);
        }
        _ => {}
    }
}
