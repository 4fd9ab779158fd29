//! Deployments.

use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};

use super::check::{self, Errors};
use super::value::{fill, fill_text, integer, make_child, make_root_child, restore, set_status, text};
use super::{Strategy, pod_spec, workload};
use crate::resource::Subresource;
use crate::world::World;

const COUNTS: [&str; 6] = [
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "observedGeneration",
];

/// The strategy of Deployments.
#[derive(Debug)]
pub(crate) struct Deployment;

impl Strategy for Deployment {
    fn default(&self, object: &mut Value) {
        let Some(spec) = make_root_child(object, "spec") else { return };
        fill(spec, "replicas", 1);
        fill(spec, "revisionHistoryLimit", 10);
        fill(spec, "progressDeadlineSeconds", 600);
        if let Some(strategy) = make_child(spec, "strategy") {
            fill_text(strategy, "type", "RollingUpdate");
            if strategy["type"] == "RollingUpdate"
                && let Some(rolling) = make_child(strategy, "rollingUpdate")
            {
                fill(rolling, "maxUnavailable", "25%");
                fill(rolling, "maxSurge", "25%");
            }
        }
        pod_spec::default_template(spec, "template");
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(object, json!({}));
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _world: &World) {
        if let Some(metadata) = new.get_mut("metadata") {
            restore(metadata, &old["metadata"], "labels");
        }
    }

    /// Annotations count too, because they are copied to the ReplicaSets.
    fn changes_generation(&self, new: &Value, old: &Value) -> bool {
        new["spec"] != old["spec"] || new["metadata"]["annotations"] != old["metadata"]["annotations"]
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        let spec = &object["spec"];
        for count in ["replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"] {
            check::non_negative(&mut errors, &path.field(count), &spec[count]);
        }
        workload::validate_template(&mut errors, spec, "ReplicaSet");
        validate_strategy(&mut errors, &path.field("strategy"), &spec["strategy"]);
        let deadline = &spec["progressDeadlineSeconds"];
        let ready = integer(&spec["minReadySeconds"]).unwrap_or_default();
        if integer(deadline).is_some_and(|seconds| seconds <= ready) {
            let detail = "must be greater than minReadySeconds";
            errors.push(FieldError::invalid(path.field("progressDeadlineSeconds"), deadline.clone(), detail));
        }
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        workload::validate_selector_update(new, old)
    }

    fn validate_subresource(&self, _subresource: Subresource, new: &Value, _old: &Value) -> Vec<FieldError> {
        workload::validate_counts(&new["status"], &COUNTS)
    }
}

fn validate_strategy(errors: &mut Errors, path: &Path<'_>, strategy: &Value) {
    let rolling = &strategy["rollingUpdate"];
    let rolling_path = path.field("rollingUpdate");
    match text(&strategy["type"]) {
        "Recreate" if !rolling.is_null() => {
            let detail = "may not be specified when strategy `type` is 'Recreate'";
            errors.push(FieldError::forbidden(rolling_path, detail));
        }
        "Recreate" => {}
        "RollingUpdate" => {
            let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
            check::count_or_percentage(errors, &rolling_path.field("maxUnavailable"), unavailable);
            check::count_or_percentage(errors, &rolling_path.field("maxSurge"), surge);
            if workload::amount(unavailable) == 0 && workload::amount(surge) == 0 {
                let detail = "may not be 0 when `maxSurge` is 0";
                errors.push(FieldError::invalid(
                    rolling_path.field("maxUnavailable"),
                    unavailable.clone(),
                    detail,
                ));
            }
            workload::at_most_all(errors, &rolling_path.field("maxUnavailable"), unavailable);
        }
        _ => errors.push(FieldError::not_supported(path, strategy.clone(), ["Recreate", "RollingUpdate"])),
    }
}
