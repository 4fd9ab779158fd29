//! CronJobs.

mod schedule;

use jiff::tz::TimeZone;
use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};

use super::check::{self, Errors};
use super::value::{fill, fill_text, flag, make_child, make_root_child, restore, set_status, text};
use super::{Strategy, job, pod_spec};
use crate::world::World;

/// Jobs get a hyphen and a time of ten digits after the name, and must still fit into a label.
const LONGEST_NAME: usize = 52;

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

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        let spec = &object["spec"];
        validate_schedule(&mut errors, &path.field("schedule"), text(&spec["schedule"]));
        for count in ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
            check::non_negative(&mut errors, &path.field(count), &spec[count]);
        }
        time_zone(&mut errors, &path.field("timeZone"), &spec["timeZone"]);
        let policies = ["Allow", "Forbid", "Replace"];
        check::required_one_of(
            &mut errors,
            &path.field("concurrencyPolicy"),
            &spec["concurrencyPolicy"],
            &policies,
        );
        let template = path.field("jobTemplate");
        let job_path = template.field("spec");
        let job_spec = &spec["jobTemplate"]["spec"];
        job::validate_spec(&mut errors, &job_path, job_spec);
        if !job_spec["selector"].is_null() {
            let detail = "`selector` will be auto-generated";
            errors.push(FieldError::invalid(
                job_path.field("selector"),
                job_spec["selector"].clone(),
                detail,
            ));
        }
        if flag(&job_spec["manualSelector"]) {
            errors.push(FieldError::not_supported(job_path.field("manualSelector"), true, ["nil", "false"]));
        }
        errors
    }

    fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        let name = text(&object["metadata"]["name"]);
        if name.len() <= LONGEST_NAME {
            return Vec::new();
        }
        vec![FieldError::invalid("metadata.name", name, "must be no more than 52 characters")]
    }
}

fn validate_schedule(errors: &mut Errors, path: &Path<'_>, schedule: &str) {
    if schedule.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    if schedule.contains("TZ") {
        let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        errors.push(FieldError::invalid(path, schedule, detail));
    } else if let Some(complaint) = schedule::complaint(schedule) {
        errors.push(FieldError::invalid(path, schedule, complaint));
    }
}

fn time_zone(errors: &mut Errors, path: &Path<'_>, zone: &Value) {
    let Some(name) = zone.as_str() else { return };
    let complaint = if name.is_empty() {
        "timeZone must be nil or non-empty string".to_owned()
    } else if name.eq_ignore_ascii_case("local") {
        "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones".to_owned()
    } else if !is_time_zone(name) {
        format!("unknown time zone {name}")
    } else {
        return;
    };
    errors.push(FieldError::invalid(path, name, complaint));
}

fn is_time_zone(name: &str) -> bool {
    let fits = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.starts_with('-');
    name.split('/').all(fits) && TimeZone::get(name).is_ok()
}
