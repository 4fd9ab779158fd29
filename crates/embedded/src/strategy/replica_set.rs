//! ReplicaSets.

use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};

use super::value::{fill, make_root_child, restore, set_status};
use super::{Strategy, check, pod_spec, workload};
use crate::resource::Subresource;
use crate::world::World;

const COUNTS: [&str; 5] =
    ["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"];

/// The strategy of ReplicaSets.
#[derive(Debug)]
pub(crate) struct ReplicaSet;

impl Strategy for ReplicaSet {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = make_root_child(object, "spec") {
            fill(spec, "replicas", 1);
            pod_spec::default_template(spec, "template");
        }
        if let Some(status) = make_root_child(object, "status") {
            fill(status, "replicas", 0);
        }
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(object, json!({"replicas": 0}));
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        let spec = &object["spec"];
        for count in ["replicas", "minReadySeconds"] {
            check::non_negative(&mut errors, &path.field(count), &spec[count]);
        }
        workload::validate_template(&mut errors, spec, "ReplicaSet");
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        workload::validate_selector_update(new, old)
    }

    fn validate_subresource(&self, _subresource: Subresource, new: &Value, _old: &Value) -> Vec<FieldError> {
        let mut errors = workload::validate_counts(&new["status"], &COUNTS);
        let replicas = workload::amount(&new["status"]["replicas"]);
        for count in ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] {
            let value = &new["status"][count];
            if workload::amount(value) > replicas {
                let detail = "cannot be greater than status.replicas";
                errors.push(FieldError::invalid(Path::Text("status").field(count), value.clone(), detail));
            }
        }
        errors
    }
}
