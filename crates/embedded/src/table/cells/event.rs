//! Events, in the form of the core group and of `events.k8s.io`.

use serde_json::Value;

use super::{name, number, text};
use crate::table::age::Now;

pub(in crate::table) fn cells(event: &Value, now: Now) -> Vec<Value> {
    let subject = either(event, "involvedObject", "regarding");
    let first = either(event, "firstTimestamp", "deprecatedFirstTimestamp");
    let last = either(event, "lastTimestamp", "deprecatedLastTimestamp");
    let series = &event["series"];
    let first_seen = now.since(if first.is_null() { &event["eventTime"] } else { first });
    let last_seen = match (series.is_null(), last.is_null()) {
        (false, _) => now.since(&series["lastObservedTime"]),
        (true, false) => now.since(last),
        (true, true) => first_seen.clone(),
    };
    let count = if series.is_null() {
        number(either(event, "count", "deprecatedCount")).max(1)
    } else {
        number(&series["count"])
    };
    vec![
        last_seen.into(),
        text(&event["type"]).into(),
        text(&event["reason"]).into(),
        target(subject).into(),
        text(&subject["fieldPath"]).into(),
        reporter(event).into(),
        text(either(event, "message", "note")).trim().into(),
        first_seen.into(),
        count.into(),
        name(event),
    ]
}

/// A field under its name in one of the two forms.
fn either<'a>(event: &'a Value, core: &str, new: &str) -> &'a Value {
    event.get(core).unwrap_or(&event[new])
}

fn target(subject: &Value) -> String {
    let kind = text(&subject["kind"]).to_lowercase();
    match text(&subject["name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn reporter(event: &Value) -> String {
    let source = either(event, "source", "deprecatedSource");
    let first = |one: &Value, other: &Value| {
        if text(one).is_empty() { text(other).to_owned() } else { text(one).to_owned() }
    };
    let component = first(&source["component"], either(event, "reportingComponent", "reportingController"));
    let instance = first(&source["host"], &event["reportingInstance"]);
    if instance.is_empty() { component } else { format!("{component}, {instance}") }
}
