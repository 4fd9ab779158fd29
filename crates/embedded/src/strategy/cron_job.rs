//! CronJobs.

use serde_json::{Value, json};

use super::value::{fill, fill_text, make_child, make_root_child, restore, set_status};
use super::{Strategy, job, pod_spec};
use crate::world::World;

/// The strategy of CronJobs.
#[derive(Debug)]
pub(crate) struct CronJob;

impl Strategy for CronJob {
    fn default(&self, object: &mut Value) {
        let Some(spec) = make_root_child(object, "spec") else { return };
        fill_text(spec, "concurrencyPolicy", "Allow");
        fill(spec, "suspend", false);
        fill(spec, "successfulJobsHistoryLimit", 3);
        fill(spec, "failedJobsHistoryLimit", 1);
        let Some(template) = make_child(spec, "jobTemplate") else { return };
        make_child(template, "metadata");
        if let Some(spec) = make_child(template, "spec") {
            // The rest is filled when a Job is made of the template.
            pod_spec::default_template(spec, "template");
            job::default_failure_policy(spec);
        }
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(object, json!({}));
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
    }
}
