//! DaemonSets.

use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};

use super::check::{self, Errors};
use super::value::{fill, fill_text, make_child, make_root_child, restore, set_status, text};
use super::{Strategy, pod_spec, workload};
use crate::resource::Subresource;
use crate::world::World;

/// Counts the changes of the template; a number of its own before there were generations.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

const COUNTS: [&str; 4] =
    ["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"];

/// The strategy of DaemonSets.
#[derive(Debug)]
pub(crate) struct DaemonSet;

impl Strategy for DaemonSet {
    fn default(&self, object: &mut Value) {
        set_template_generation(object, template_generation(object).max(1));
        if let Some(spec) = make_root_child(object, "spec") {
            fill(spec, "revisionHistoryLimit", 10);
            if let Some(strategy) = make_child(spec, "updateStrategy") {
                fill_text(strategy, "type", "RollingUpdate");
                if strategy["type"] == "RollingUpdate"
                    && let Some(rolling) = make_child(strategy, "rollingUpdate")
                {
                    fill(rolling, "maxUnavailable", 1);
                    fill(rolling, "maxSurge", 0);
                }
            }
            pod_spec::default_template(spec, "template");
        }
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
        let changed = new["spec"]["template"] != old["spec"]["template"];
        set_template_generation(new, template_generation(old) + i64::from(changed));
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        let spec = &object["spec"];
        workload::validate_template(&mut errors, spec, "DaemonSet");
        for count in ["minReadySeconds", "revisionHistoryLimit"] {
            check::non_negative(&mut errors, &path.field(count), &spec[count]);
        }
        validate_update_strategy(&mut errors, &path.field("updateStrategy"), &spec["updateStrategy"]);
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        workload::validate_selector_update(new, old)
    }

    fn validate_subresource(&self, _subresource: Subresource, new: &Value, _old: &Value) -> Vec<FieldError> {
        workload::validate_counts(&new["status"], &COUNTS)
    }
}

fn template_generation(object: &Value) -> i64 {
    text(&object["metadata"]["annotations"][TEMPLATE_GENERATION]).parse().unwrap_or_default()
}

fn set_template_generation(object: &mut Value, generation: i64) {
    if let Some(metadata) = make_root_child(object, "metadata")
        && let Some(annotations) = make_child(metadata, "annotations")
    {
        annotations.insert(TEMPLATE_GENERATION.to_owned(), generation.to_string().into());
    }
}

fn validate_update_strategy(errors: &mut Errors, path: &Path<'_>, strategy: &Value) {
    let kinds = ["RollingUpdate", "OnDelete"];
    check::required_one_of(errors, &path.field("type"), &strategy["type"], &kinds);
    if strategy["type"] != "RollingUpdate" {
        return;
    }
    let path = path.field("rollingUpdate");
    let rolling = &strategy["rollingUpdate"];
    for field in ["maxUnavailable", "maxSurge"] {
        check::count_or_percentage(errors, &path.field(field), &rolling[field]);
        workload::at_most_all(errors, &path.field(field), &rolling[field]);
    }
    let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
    match (workload::amount(unavailable) != 0, workload::amount(surge) != 0) {
        (true, true) => {
            let detail = "may not be set when maxUnavailable is non-zero";
            errors.push(FieldError::invalid(path.field("maxSurge"), surge.clone(), detail));
        }
        (false, false) => {
            errors.push(FieldError::required(path.field("maxUnavailable"), "cannot be 0 when maxSurge is 0"));
        }
        _ => {}
    }
}
