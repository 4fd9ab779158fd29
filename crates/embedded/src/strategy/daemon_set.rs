//! DaemonSets.

use serde_json::{Value, json};

use super::value::{fill, fill_text, make_child, make_root_child, restore, set_status, text};
use super::{Strategy, pod_spec};
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
        set_template_generation(object, template_generation(object).max(1));
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
        let changed = new["spec"]["template"] != old["spec"]["template"];
        set_template_generation(new, template_generation(old) + i64::from(changed));
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
