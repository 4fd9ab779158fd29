//! Who was asked to go, in as few events as say it: thousands of Pods may have to, and an event is a write like any other.
//!
//! The Pods of a job are one event about the job. Pods without one get an event each while they are few; if many of a
//! namespace go at once, one event names them, and stands on the first.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use maar_controller::events::{News, Severity};

use super::pod_reference;
use crate::adapter::evict::Evict;

/// So many Pods of a namespace get an event each.
const FEW: usize = 5;
/// Names in one event; the API allows notes of 1024 bytes.
const NAMES: usize = 8;
/// The longest part of a name that is shown.
const LONGEST: usize = 64;

/// One who was asked to go.
#[derive(Debug, Clone)]
pub(super) struct Stop {
    pub(super) namespace: String,
    pub(super) pod: String,
    pub(super) uid: String,
    /// The object it belongs to, if there is one.
    pub(super) owner: Option<ObjectReference>,
    /// For whom; nobody if its card is another's.
    pub(super) claimant: Option<String>,
    /// Why, in one word.
    pub(super) reason: &'static str,
    pub(super) at: Timestamp,
}

impl Stop {
    pub(super) fn of(evict: &Evict, owner: Option<ObjectReference>, claimant: Option<String>) -> Self {
        Self {
            namespace: evict.namespace.to_string(),
            pod: evict.name.to_string(),
            uid: evict.uid.to_string(),
            owner,
            claimant,
            reason: evict.reason,
            at: evict.at,
        }
    }

    fn is_of(&self) -> (&str, Option<(&str, &str)>, &'static str) {
        let owner = self.owner.as_ref();
        let owner = owner.and_then(|owner| Some((owner.kind.as_deref()?, owner.name.as_deref()?)));
        (&self.namespace, owner, self.reason)
    }
}

/// The events for those who were asked to go at one time.
pub(super) fn events(stops: &[Stop]) -> Vec<(ObjectReference, News)> {
    let mut sets: BTreeMap<_, Vec<&Stop>> = BTreeMap::new();
    for stop in stops {
        sets.entry(stop.is_of()).or_default().push(stop);
    }
    let mut events = Vec::new();
    for set in sets.values() {
        if set[0].owner.is_some() || set.len() > FEW {
            events.push(event(set));
        } else {
            events.extend(set.iter().map(|stop| event(&[*stop])));
        }
    }
    events
}

/// One event for all of a set that is not empty.
fn event(set: &[&Stop]) -> (ObjectReference, News) {
    let first = set[0];
    let about =
        first.owner.clone().unwrap_or_else(|| pod_reference(&first.namespace, &first.pod, &first.uid));
    let alone = set.len() == 1;
    let whose = match (first.owner.is_some(), alone) {
        (false, true) => String::new(),
        (true, true) => format!("its Pod {} ", short(&first.pod)),
        (true, false) => format!("{} of its Pods ", set.len()),
        (false, false) => format!("{} Pods ", set.len()),
    };
    let must = match (claimants(set), alone) {
        (None, true) => "holds a card that another Pod was given before it".to_owned(),
        (None, false) => "hold cards that other Pods were given before them".to_owned(),
        (Some(claimants), true) => format!("has to make room for {claimants}"),
        (Some(claimants), false) => format!("have to make room for {claimants}"),
    };
    let they = if alone { "it" } else { "they" };
    let mut note = format!("{whose}{must}; {they} will be stopped {}", moment(set));
    if !alone {
        let names: Vec<&str> = set.iter().map(|stop| short(&stop.pod)).collect();
        note = format!("{note}: {}", listed(&names));
    }
    (about, News { severity: Severity::Warning, reason: first.reason, action: "Evicting", note })
}

/// Those for whom the Pods go.
fn claimants(set: &[&Stop]) -> Option<String> {
    let mut names: Vec<&str> = set.iter().filter_map(|stop| stop.claimant.as_deref()).map(short).collect();
    names.sort_unstable();
    names.dedup();
    let others = names.len().saturating_sub(1);
    let first = names.first()?;
    Some(if others == 0 { (*first).to_owned() } else { format!("{first} and {others} more") })
}

/// When; the first and the last, if not all at once.
fn moment(set: &[&Stop]) -> String {
    let text = |at: Timestamp| at.strftime("%FT%TZ").to_string();
    let times = set.iter().map(|stop| stop.at);
    let (first, last) = (times.clone().min().unwrap_or_default(), times.max().unwrap_or_default());
    let (first, last) = (text(first), text(last));
    if first == last { format!("at {first}") } else { format!("between {first} and {last}") }
}

fn listed(names: &[&str]) -> String {
    let shown = names[..names.len().min(NAMES)].join(", ");
    match names.len().saturating_sub(NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn short(name: &str) -> &str {
    &name[..name.floor_char_boundary(LONGEST)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(pod: &str, owner: Option<&str>, claimant: &str) -> Stop {
        let owner = owner.map(|name| ObjectReference {
            kind: Some("AIJob".to_owned()),
            namespace: Some("lab".to_owned()),
            name: Some(name.to_owned()),
            ..ObjectReference::default()
        });
        Stop {
            namespace: "lab".to_owned(),
            pod: pod.to_owned(),
            uid: format!("uid of {pod}"),
            owner,
            claimant: (!claimant.is_empty()).then(|| claimant.to_owned()),
            reason: "Preempted",
            at: Timestamp::UNIX_EPOCH,
        }
    }

    fn said(stops: &[Stop]) -> Vec<String> {
        let line = |(about, news): (ObjectReference, News)| {
            format!("{} {}: {}", about.kind.unwrap_or_default(), about.name.unwrap_or_default(), news.note)
        };
        events(stops).into_iter().map(line).collect()
    }

    #[test]
    fn the_pods_of_a_job_are_one_event_about_the_job() {
        let stops = [
            stop("sweep-0", Some("sweep"), "lab/sure"),
            stop("alone", None, "lab/sure"),
            stop("sweep-1", Some("sweep"), "lab/other"),
            stop("small-0", Some("small"), "lab/sure"),
        ];
        insta::assert_snapshot!(said(&stops).join("\n"), @r"
        Pod alone: has to make room for lab/sure; it will be stopped at 1970-01-01T00:00:00Z
        AIJob small: its Pod small-0 has to make room for lab/sure; it will be stopped at 1970-01-01T00:00:00Z
        AIJob sweep: 2 of its Pods have to make room for lab/other and 1 more; they will be stopped at 1970-01-01T00:00:00Z: sweep-0, sweep-1
        ");
    }

    #[test]
    fn few_pods_get_an_event_each_and_many_one_that_fits() {
        let pods = |count: usize| -> Vec<Stop> {
            (0..count)
                .map(|number| stop(&format!("{}-{number}", "x".repeat(240)), None, "lab/sure"))
                .collect()
        };
        assert_eq!(events(&pods(FEW)).len(), FEW);
        let many = events(&pods(4000));
        assert_eq!(many.len(), 1);
        let note = &many[0].1.note;
        assert!(note.starts_with("4000 Pods have to make room for lab/sure; they will be stopped"), "{note}");
        assert!(note.ends_with("and 3992 more") && note.len() <= 1024, "{note}");
    }

    #[test]
    fn other_reasons_and_times_are_told_apart() {
        let taken = stop("late", None, "");
        let mut soon = stop("sweep-0", Some("sweep"), "lab/sure");
        soon.at = Timestamp::constant(60, 0);
        let mut reclaimed = stop("sweep-2", Some("sweep"), "lab/sure");
        reclaimed.reason = "Reclaimed";
        let stops = [taken, soon, stop("sweep-1", Some("sweep"), "lab/sure"), reclaimed];
        insta::assert_snapshot!(said(&stops).join("\n"), @r"
        Pod late: holds a card that another Pod was given before it; it will be stopped at 1970-01-01T00:00:00Z
        AIJob sweep: 2 of its Pods have to make room for lab/sure; they will be stopped between 1970-01-01T00:00:00Z and 1970-01-01T00:01:00Z: sweep-0, sweep-1
        AIJob sweep: its Pod sweep-2 has to make room for lab/sure; it will be stopped at 1970-01-01T00:00:00Z
        ");
    }
}
