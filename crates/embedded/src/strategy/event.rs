//! Events, in the form of the core group and of `events.k8s.io`.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::check::{self, Errors};
use super::value::{fill, integer, is_set, make_child, text};
use super::{Strategy, name};
use crate::world::World;

const CORE: &str = "v1";

/// The strategy of Events.
#[derive(Debug)]
pub(crate) struct Event;

impl Strategy for Event {
    fn takes_any_finalizer(&self) -> bool {
        true
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        show_report(object);
    }

    fn prepare_update(&self, new: &mut Value, _old: &Value) {
        show_report(new);
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let core = object["apiVersion"] == CORE;
        let subject = if core { "involvedObject" } else { "regarding" };
        let namespace = text(&object["metadata"]["namespace"]);
        let about = text(&object[subject]["namespace"]);
        let timed = is_set(&object["eventTime"]);
        let agrees = match (about.is_empty(), timed) {
            (true, false) => namespace == "default",
            (true, true) => namespace == "default" || namespace == "kube-system",
            (false, false) => namespace == about,
            (false, true) => true,
        };
        if !agrees {
            errors.push(FieldError::invalid(
                "involvedObject.namespace",
                about,
                "does not match event.namespace",
            ));
        }
        if timed {
            reported(&mut errors, object, core);
        }
        errors
    }

    fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if object["apiVersion"] == CORE {
            return errors;
        }
        check::given(&mut errors, &Path::Text("eventTime"), &object["eventTime"]);
        let kind = text(&object["type"]);
        if kind != "Normal" && kind != "Warning" {
            errors.push(FieldError::invalid("type", "", format!("has invalid value: {kind}")));
        }
        for field in
            ["deprecatedFirstTimestamp", "deprecatedLastTimestamp", "deprecatedCount", "deprecatedSource"]
        {
            if is_set(&object[field]) && integer(&object[field]) != Some(0) {
                errors.push(FieldError::invalid(field, "", "needs to be unset"));
            }
        }
        series(&mut errors, &object["series"]);
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if new["apiVersion"] == CORE {
            return errors;
        }
        if new["series"] != old["series"] {
            series(&mut errors, &new["series"]);
        }
        for field in [
            "regarding",
            "reason",
            "note",
            "type",
            "eventTime",
            "action",
            "related",
            "reportingController",
            "reportingInstance",
        ] {
            check::immutable(&mut errors, &Path::Text(field), &new[field], &old[field]);
        }
        errors
    }
}

/// What an event with a time must say about its reporter.
fn reported(errors: &mut Errors, object: &Value, core: bool) {
    let reporter = if core { "reportingComponent" } else { "reportingController" };
    check::given(errors, &Path::Text(reporter), &object[reporter]);
    check::text_follows(errors, &Path::Text(reporter), text(&object[reporter]), name::qualified);
    for field in ["reportingInstance", "action", "reason"] {
        let path = Path::Text(field);
        check::given(errors, &path, &object[field]);
        if text(&object[field]).len() > 128 {
            errors.push(FieldError::invalid(path, "", "can have at most 128 characters"));
        }
    }
    let note = if core { "message" } else { "note" };
    if text(&object[note]).len() > 1024 {
        errors.push(FieldError::invalid("message", "", "can have at most 1024 characters"));
    }
}

fn series(errors: &mut Errors, series: &Value) {
    if series.is_null() {
        return;
    }
    if integer(&series["count"]).unwrap_or_default() < 2 {
        errors.push(FieldError::invalid("series.count", "", "should be at least 2"));
    }
    check::given(errors, &Path::Text("series.lastObservedTime"), &series["lastObservedTime"]);
}

/// Who reports and when is shown even if nobody says so, and belongs to nobody then.
fn show_report(object: &mut Value) {
    let Some(event) = object.as_object_mut() else { return };
    if event.get("apiVersion").is_some_and(|version| version == CORE) {
        fill(event, "reportingComponent", "");
        fill(event, "reportingInstance", "");
        for time in ["eventTime", "firstTimestamp", "lastTimestamp"] {
            fill(event, time, Value::Null);
        }
        make_child(event, "source");
    } else {
        for time in ["deprecatedFirstTimestamp", "deprecatedLastTimestamp"] {
            fill(event, time, Value::Null);
        }
        make_child(event, "deprecatedSource");
    }
}
