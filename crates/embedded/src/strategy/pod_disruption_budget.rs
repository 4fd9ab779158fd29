//! PodDisruptionBudgets.

use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};

use super::value::{fill, make_root_child, restore, set_status};
use super::{Strategy, check, selector, workload};
use crate::resource::Subresource;
use crate::world::World;

const COUNTS: [&str; 4] = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];

/// The strategy of PodDisruptionBudgets.
#[derive(Debug)]
pub(crate) struct PodDisruptionBudget;

impl Strategy for PodDisruptionBudget {
    fn takes_any_finalizer(&self) -> bool {
        true
    }

    fn default(&self, object: &mut Value) {
        make_root_child(object, "spec");
        if let Some(status) = make_root_child(object, "status") {
            for count in COUNTS {
                fill(status, count, 0);
            }
        }
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        let mut status = json!({});
        for count in COUNTS {
            status[count] = 0.into();
        }
        set_status(object, status);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        let spec = &object["spec"];
        if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
            let detail = "minAvailable and maxUnavailable cannot be both set";
            errors.push(FieldError::invalid(path, spec.clone(), detail));
        }
        for field in ["minAvailable", "maxUnavailable"] {
            check::count_or_percentage(&mut errors, &path.field(field), &spec[field]);
            workload::at_most_all(&mut errors, &path.field(field), &spec[field]);
        }
        selector::validate(&mut errors, &path.field("selector"), &spec["selector"]);
        let policies = ["AlwaysAllow", "IfHealthyBudget"];
        let policy = &spec["unhealthyPodEvictionPolicy"];
        check::one_of(&mut errors, &path.field("unhealthyPodEvictionPolicy"), policy, &policies);
        errors
    }

    fn validate_subresource(&self, _subresource: Subresource, new: &Value, _old: &Value) -> Vec<FieldError> {
        workload::validate_counts(&new["status"], &COUNTS)
    }
}
