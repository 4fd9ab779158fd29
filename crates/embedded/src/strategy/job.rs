//! Jobs.

mod indexes;
mod policy;
mod status;
mod update;
mod validate;

use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};

use super::value::{
    Object, child, fill, fill_text, flag, is_set, items_mut, make_child, make_root_child, restore, set_status,
};
use super::{Strategy, pod_spec};
use crate::resource::Subresource;
use crate::world::World;

pub(super) use validate::validate_spec;

const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";
const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const UID_LABELS: [&str; 2] = ["controller-uid", CONTROLLER_UID];

/// The strategy of Jobs.
#[derive(Debug)]
pub(crate) struct Job;

impl Strategy for Job {
    fn default(&self, object: &mut Value) {
        let Some(spec) = make_root_child(object, "spec") else { return };
        default_spec(spec);
        take_labels(object);
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        if !flag(&object["spec"]["manualSelector"]) {
            generate_selector(object);
            take_labels(object);
        }
        set_status(object, json!({}));
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        validate::generated_selector(&mut errors, object);
        validate_spec(&mut errors, &path, &object["spec"]);
        validate::selector(&mut errors, &path, &object["spec"]);
        validate::host_names(&mut errors, object);
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        update::validate(&mut errors, new, old);
        errors
    }

    fn validate_subresource(&self, subresource: Subresource, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if subresource == Subresource::Status {
            status::validate(&mut errors, new, old);
        }
        errors
    }
}

fn default_spec(spec: &mut Object) {
    let unset = |spec: &Object, field: &str| spec.get(field).is_none_or(Value::is_null);
    if unset(spec, "completions") && unset(spec, "parallelism") {
        fill(spec, "completions", 1);
    }
    fill(spec, "parallelism", 1);
    let retries = if unset(spec, "backoffLimitPerIndex") { 6 } else { i32::MAX };
    fill(spec, "backoffLimit", retries);
    fill(spec, "completionMode", "NonIndexed");
    fill(spec, "suspend", false);
    let replacement = if unset(spec, "podFailurePolicy") { "TerminatingOrFailed" } else { "Failed" };
    fill(spec, "podReplacementPolicy", replacement);
    fill(spec, "manualSelector", false);
    pod_spec::default_template(spec, "template");
    default_failure_policy(spec);
}

/// Fills the failure policy, which CronJobs fill too.
pub(super) fn default_failure_policy(spec: &mut Object) {
    if let Some(policy) = child(spec, "podFailurePolicy") {
        for rule in items_mut(policy, "rules") {
            for pattern in items_mut(rule, "onPodConditions") {
                fill_text(pattern, "status", "True");
            }
        }
    }
}

/// A Job without labels has those of its Pods.
fn take_labels(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    if is_set(&labels)
        && !is_set(&object["metadata"]["labels"])
        && let Some(metadata) = make_root_child(object, "metadata")
    {
        metadata.insert("labels".to_owned(), labels);
    }
}

/// Labels the Pods with the Job's name and identity, and selects them by the latter. A label that the client chose
/// stays; validation then finds the contradiction.
fn generate_selector(object: &mut Value) {
    let name = object["metadata"]["name"].clone();
    let uid = object["metadata"]["uid"].clone();
    let Some(spec) = make_root_child(object, "spec") else { return };
    if let Some(template) = make_child(spec, "template")
        && let Some(metadata) = make_child(template, "metadata")
        && let Some(labels) = make_child(metadata, "labels")
    {
        for label in NAME_LABELS {
            fill(labels, label, name.clone());
        }
        for label in UID_LABELS {
            fill(labels, label, uid.clone());
        }
    }
    if let Some(selector) = make_child(spec, "selector")
        && let Some(labels) = make_child(selector, "matchLabels")
    {
        fill(labels, CONTROLLER_UID, uid);
    }
}
