//! What a deletion makes of an object: pure, told the time.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::prepare::metadata;
use super::{DEFINITION_CLEANUP, DeleteOptions, FOREGROUND, ORPHAN, Propagation};
use crate::hooks::DEFINITIONS;
use crate::resource::Resource;
use crate::world::seconds_text;

/// What a deletion does to the object now.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// With how it is seen for the last time, if that is not how it is.
    Remove(Option<Value>),
    Mark(Value),
    Nothing,
}

/// How much time the object has.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Term {
    /// It goes when nothing holds it any more.
    None,
    /// It has been given time, which this deletion does not shorten.
    Running,
    /// It is given so many seconds, which end then.
    Given(i64, Timestamp),
}

pub(super) fn step(resource: &Resource, object: &Value, options: &DeleteOptions, now: Timestamp) -> Step {
    let term = if resource.is("pods") { pod_term(object, options, now) } else { Term::None };
    if term == Term::Running {
        return Step::Nothing;
    }
    let first = !object["metadata"]["deletionTimestamp"].is_string();
    let mut marked = object.clone();
    set_propagation(&mut marked, propagation(resource, object, options));
    if resource.is(DEFINITIONS) && first {
        hold_definition(&mut marked, &seconds_text(now));
    }
    let held = is_held(resource, &marked);
    match term {
        Term::None if !held => return Step::Remove(None),
        Term::None | Term::Running => {
            if first {
                set_term(resource, &mut marked, 0, now);
            }
        }
        Term::Given(seconds, end) => set_term(resource, &mut marked, seconds, end),
    }
    if first {
        count_deletion(&mut marked);
    }
    if resource.is("namespaces") {
        marked["status"]["phase"] = json!("Terminating");
    }
    let changed = (&marked != object).then_some(marked);
    // A Pod goes because its time is up, be that none: whoever watches sees that first.
    let goes = !held && !matches!(term, Term::Given(1.., _));
    if goes { Step::Remove(changed) } else { changed.map_or(Step::Nothing, Step::Mark) }
}

/// Only Pods that a kubelet may be running are given time.
fn pod_term(pod: &Value, options: &DeleteOptions, now: Timestamp) -> Term {
    // Less than no time is as short as there is.
    let at_least_some = |seconds: i64| if seconds < 0 { 1 } else { seconds };
    let asked = options.grace_period_seconds.map(at_least_some);
    let metadata = &pod["metadata"];
    if let Some(end) = metadata["deletionTimestamp"].as_str() {
        let has = at_least_some(metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0));
        return match asked {
            _ if has == 0 => Term::None,
            Some(asked) if asked < has => shortened(end, has, asked, now),
            _ => Term::Running,
        };
    }
    let ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let placed = pod["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    if ended || !placed {
        return Term::Given(0, now);
    }
    let own = pod["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
    // Not past the end of all time, so that what is left can be counted back from it.
    let longest = (Timestamp::MAX.as_second() - now.as_second() - 1).max(0);
    let seconds = asked.unwrap_or(at_least_some(own)).min(longest);
    Term::Given(seconds, later(now, seconds))
}

/// A shorter time counts from the first deletion. If it is over already, whoever runs the Pod still ends it.
fn shortened(end: &str, has: i64, asked: i64, now: Timestamp) -> Term {
    let begun = end.parse().map_or(now, |end| later(end, -has));
    let end = later(begun, asked);
    if end < now { Term::Given(asked.min(1), now) } else { Term::Given(asked, end) }
}

fn later(time: Timestamp, seconds: i64) -> Timestamp {
    let limit = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    time.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(limit)
}

fn set_term(resource: &Resource, object: &mut Value, seconds: i64, end: Timestamp) {
    let metadata = metadata(object);
    metadata.insert("deletionTimestamp".into(), seconds_text(end).into());
    // A namespace is not given time, it takes it.
    if !resource.is("namespaces") {
        metadata.insert("deletionGracePeriodSeconds".into(), seconds.into());
    }
}

/// That an object is to go is a change of what is wanted.
fn count_deletion(object: &mut Value) {
    let metadata = metadata(object);
    if let Some(generation) = metadata.get("generation").and_then(Value::as_i64) {
        metadata.insert("generation".into(), generation.saturating_add(1).into());
    }
}

/// What becomes of dependents: as the options say, or the object's finalizers. Else they go, only Jobs leave their
/// Pods behind, as they did before there was a garbage collector.
fn propagation(resource: &Resource, object: &Value, options: &DeleteOptions) -> Option<Propagation> {
    options.effective_propagation().or_else(|| {
        let mut finalizers = object["metadata"]["finalizers"].as_array().into_iter().flatten();
        let said = finalizers.any(|finalizer| finalizer == FOREGROUND || finalizer == ORPHAN);
        (orphans_by_default(resource) && !said).then_some(Propagation::Orphan)
    })
}

pub(super) fn orphans_by_default(resource: &Resource) -> bool {
    resource.is("jobs.batch")
}

fn set_propagation(object: &mut Value, propagation: Option<Propagation>) {
    let Some(propagation) = propagation else { return };
    let wanted = match propagation {
        Propagation::Foreground => Some(FOREGROUND),
        Propagation::Orphan => Some(ORPHAN),
        Propagation::Background => None,
    };
    let metadata = metadata(object);
    let mut finalizers: Vec<Value> =
        metadata.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
    finalizers.retain(|finalizer| finalizer != FOREGROUND && finalizer != ORPHAN);
    finalizers.extend(wanted.map(Value::from));
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".into(), finalizers.into());
    }
}

/// A CRD goes after its objects.
fn hold_definition(definition: &mut Value, now: &str) {
    let finalizers = metadata(definition).entry("finalizers").or_insert_with(|| json!([]));
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|one| one == DEFINITION_CLEANUP)
    {
        finalizers.push(DEFINITION_CLEANUP.into());
    }
    let condition = json!({"type": "Terminating", "status": "True", "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        "lastTransitionTime": now});
    if let Some(conditions) = definition["status"]["conditions"].as_array_mut() {
        conditions.retain(|one| one["type"] != "Terminating");
        conditions.push(condition);
    }
}

fn is_held(resource: &Resource, object: &Value) -> bool {
    let non_empty = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
    non_empty(&object["metadata"]["finalizers"])
        || (resource.is("namespaces") && non_empty(&object["spec"]["finalizers"]))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::resource::Registry;

    fn resource(group: &str, plural: &str) -> Arc<Resource> {
        Arc::clone(Registry::builtin().find(group, "v1", plural).unwrap())
    }

    fn finalizers(step: Step) -> Value {
        match step {
            Step::Mark(object) => object["metadata"]["finalizers"].clone(),
            Step::Remove(_) => Value::Null,
            Step::Nothing => panic!("nothing is done"),
        }
    }

    #[test]
    fn only_jobs_leave_their_dependents_and_only_if_nothing_else_is_said() {
        let now = Timestamp::UNIX_EPOCH;
        let jobs = resource("batch", "jobs");
        let silent = DeleteOptions::default();
        let job = |finalizers: Value| json!({"metadata": {"name": "a", "finalizers": finalizers}});
        assert_eq!(finalizers(step(&jobs, &job(json!([])), &silent, now)), json!([ORPHAN]));
        assert_eq!(finalizers(step(&jobs, &job(json!([FOREGROUND])), &silent, now)), json!([FOREGROUND]));
        assert_eq!(
            finalizers(step(&resource("apps", "deployments"), &job(json!([])), &silent, now)),
            Value::Null
        );
        let background = DeleteOptions::default().propagation(Propagation::Background);
        assert_eq!(finalizers(step(&jobs, &job(json!([])), &background, now)), Value::Null);
        let kept = DeleteOptions { orphan_dependents: Some(false), ..DeleteOptions::default() };
        assert_eq!(finalizers(step(&jobs, &job(json!([])), &kept, now)), Value::Null);
        assert_eq!((silent.warnings(&jobs).len(), background.warnings(&jobs).len()), (1, 0));
    }

    #[test]
    fn counts_that_a_client_chose_do_not_overflow() {
        let held = json!({"metadata": {"name": "a", "generation": i64::MAX, "finalizers": ["a.b/c"]}});
        let options = DeleteOptions::default();
        let Step::Mark(marked) = step(&resource("", "configmaps"), &held, &options, Timestamp::MAX) else {
            panic!("a finalizer holds it")
        };
        assert_eq!(marked["metadata"]["generation"], i64::MAX);
        let pod = json!({"metadata": {"name": "a"}, "spec": {"nodeName": "n"}});
        for seconds in [i64::MAX, i64::MIN] {
            let options = DeleteOptions { grace_period_seconds: Some(seconds), ..DeleteOptions::default() };
            for now in [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX] {
                pod_term(&pod, &options, now);
            }
        }
    }
}
