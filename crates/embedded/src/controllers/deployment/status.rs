//! What a Deployment reports: counts, and whether it is available and makes progress.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::plan::Plan;
use super::sets::{self, Bounds};
use crate::controllers::replicaset::REPLICA_FAILURE;
use crate::controllers::view::{seconds_after, until};

const AVAILABLE: &str = "Available";
const PROGRESSING: &str = "Progressing";
const TIMED_OUT: &str = "ProgressDeadlineExceeded";
const NEW_AVAILABLE: &str = "NewReplicaSetAvailable";
const PAUSED: &str = "DeploymentPaused";

/// The status after a step, and when to look again for want of progress.
pub(crate) fn status(
    deployment: &Deployment,
    plan: &Plan,
    now: Timestamp,
) -> (DeploymentStatus, Option<Duration>) {
    let mut conditions = deployment.status.clone().unwrap_or_default().conditions.unwrap_or_default();
    let deleting = deployment.metadata.deletion_timestamp.is_some();
    if !deleting {
        note_pause(deployment, &mut conditions, now);
        note_new_set(deployment, plan, &mut conditions, now);
    }
    let mut status = counts(deployment, plan);
    set(&mut conditions, availability(deployment, &status, now));
    if plan.rollout {
        judge_progress(deployment, plan, &status, &mut conditions, now);
        match replica_failure(plan) {
            Some(failure) => set(&mut conditions, failure),
            None => conditions.retain(|condition| condition.type_ != REPLICA_FAILURE),
        }
    }
    status.conditions = Some(conditions).filter(|conditions| !conditions.is_empty());
    let again = next_check(deployment, &status, now);
    (status, again)
}

/// The condition of a Deployment whose ReplicaSet could not be made.
pub(crate) fn creation_failed(status: &mut DeploymentStatus, message: String, now: Timestamp) {
    let failed = condition(PROGRESSING, "False", "ReplicaSetCreateError", message, now);
    set(status.conditions.get_or_insert_default(), failed);
}

/// Whether all replicas are of the present template and available.
pub(crate) fn is_complete(deployment: &Deployment, status: &DeploymentStatus) -> bool {
    let desired = Bounds::of(deployment).desired;
    [status.updated_replicas, status.replicas, status.available_replicas]
        .iter()
        .all(|count| count.unwrap_or(0) == desired)
        && status.observed_generation >= deployment.metadata.generation
}

fn deadline(deployment: &Deployment) -> Option<i32> {
    deployment.spec.as_ref()?.progress_deadline_seconds.filter(|seconds| *seconds != i32::MAX)
}

fn counts(deployment: &Deployment, plan: &Plan) -> DeploymentStatus {
    let sum = |count: fn(&ReplicaSet) -> i32| sets::sum(&plan.sets, count);
    let some = |number: i32| Some(number).filter(|number| *number != 0);
    let available = sum(sets::available);
    let terminating =
        |set: &ReplicaSet| set.status.as_ref().and_then(|status| status.terminating_replicas).unwrap_or(0);
    DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas: some(sum(sets::actual)),
        updated_replicas: some(plan.new_set().map_or(0, sets::actual)),
        ready_replicas: some(sum(sets::ready)),
        available_replicas: some(available),
        unavailable_replicas: some((sum(sets::wanted) - available).max(0)),
        terminating_replicas: Some(sum(terminating)),
        collision_count: deployment.status.as_ref().and_then(|status| status.collision_count),
        conditions: None,
    }
}

fn availability(deployment: &Deployment, status: &DeploymentStatus, now: Timestamp) -> DeploymentCondition {
    if status.available_replicas.unwrap_or(0) >= Bounds::of(deployment).least_available() {
        let message = "Deployment has minimum availability.".into();
        condition(AVAILABLE, "True", "MinimumReplicasAvailable", message, now)
    } else {
        let message = "Deployment does not have minimum availability.".into();
        condition(AVAILABLE, "False", "MinimumReplicasUnavailable", message, now)
    }
}

/// Time spent paused must not count as time without progress.
fn note_pause(deployment: &Deployment, conditions: &mut Vec<DeploymentCondition>, now: Timestamp) {
    let reason = progressing(conditions).and_then(|condition| condition.reason.clone());
    if deadline(deployment).is_none() || reason.as_deref() == Some(TIMED_OUT) {
        return;
    }
    let paused = deployment.spec.as_ref().and_then(|spec| spec.paused).unwrap_or(false);
    let noted = reason.as_deref() == Some(PAUSED);
    if paused && !noted {
        set(conditions, condition(PROGRESSING, "Unknown", PAUSED, "Deployment is paused".into(), now));
    } else if !paused && noted {
        let message = "Deployment is resumed".into();
        set(conditions, condition(PROGRESSING, "Unknown", "DeploymentResumed", message, now));
    }
}

fn note_new_set(
    deployment: &Deployment,
    plan: &Plan,
    conditions: &mut Vec<DeploymentCondition>,
    now: Timestamp,
) {
    let (Some(new), Some(_)) = (plan.new_set(), deadline(deployment)) else { return };
    let name = sets::name(new);
    if plan.create {
        let message = format!("Created new replica set {name:?}");
        set(conditions, condition(PROGRESSING, "True", "NewReplicaSetCreated", message, now));
    } else if progressing(conditions).is_none() {
        let message = format!("Found new replica set {name:?}");
        set(conditions, condition(PROGRESSING, "True", "FoundNewReplicaSet", message, now));
    }
}

fn judge_progress(
    deployment: &Deployment,
    plan: &Plan,
    status: &DeploymentStatus,
    conditions: &mut Vec<DeploymentCondition>,
    now: Timestamp,
) {
    let Some(deadline) = deadline(deployment) else {
        conditions.retain(|condition| condition.type_ != PROGRESSING);
        return;
    };
    let current = progressing(conditions).cloned();
    let settled =
        current.as_ref().is_some_and(|condition| condition.reason.as_deref() == Some(NEW_AVAILABLE));
    if settled && status.replicas == status.updated_replicas {
        return;
    }
    let subject = match plan.new_set() {
        Some(new) => format!("ReplicaSet {:?}", sets::name(new)),
        None => format!("Deployment {:?}", deployment.metadata.name.as_deref().unwrap_or_default()),
    };
    if is_complete(deployment, status) {
        let message = format!("{subject} has successfully progressed.");
        set(conditions, condition(PROGRESSING, "True", NEW_AVAILABLE, message, now));
    } else if has_progressed(deployment, status) {
        let message = format!("{subject} is progressing.");
        let mut progress = condition(PROGRESSING, "True", "ReplicaSetUpdated", message, now);
        if let Some(current) = current.filter(|current| current.status == "True") {
            progress.last_transition_time = current.last_transition_time;
        }
        // Unlike other conditions this one is renewed although its reason stays: the deadline runs from here.
        conditions.retain(|condition| condition.type_ != PROGRESSING);
        conditions.push(progress);
    } else if current.is_some_and(|current| is_overdue(&current, deadline, now)) {
        let message = format!("{subject} has timed out progressing.");
        set(conditions, condition(PROGRESSING, "False", TIMED_OUT, message, now));
    }
}

fn is_overdue(current: &DeploymentCondition, deadline: i32, now: Timestamp) -> bool {
    match current.reason.as_deref() {
        Some(NEW_AVAILABLE) => false,
        Some(TIMED_OUT) => true,
        _ => due(current, deadline).is_some_and(|due| due < now),
    }
}

fn due(current: &DeploymentCondition, deadline: i32) -> Option<Timestamp> {
    Some(seconds_after(current.last_update_time.as_ref()?.0, i64::from(deadline)))
}

fn has_progressed(deployment: &Deployment, new: &DeploymentStatus) -> bool {
    let old = deployment.status.clone().unwrap_or_default();
    let number = |count: Option<i32>| count.unwrap_or(0);
    let outdated = |status: &DeploymentStatus| number(status.replicas) - number(status.updated_replicas);
    number(new.updated_replicas) > number(old.updated_replicas)
        || outdated(new) < outdated(&old)
        || number(new.ready_replicas) > number(old.ready_replicas)
        || number(new.available_replicas) > number(old.available_replicas)
}

/// A failure of the new ReplicaSet comes before those of old ones.
fn replica_failure(plan: &Plan) -> Option<DeploymentCondition> {
    let failure = |set: &ReplicaSet| {
        let conditions = set.status.as_ref()?.conditions.as_ref()?;
        conditions.iter().find(|condition| condition.type_ == REPLICA_FAILURE).cloned()
    };
    let found = plan.new_set().and_then(failure).or_else(|| plan.sets.iter().find_map(failure))?;
    Some(DeploymentCondition {
        type_: found.type_,
        status: found.status,
        reason: found.reason,
        message: found.message,
        last_update_time: found.last_transition_time.clone(),
        last_transition_time: found.last_transition_time,
    })
}

fn next_check(deployment: &Deployment, status: &DeploymentStatus, now: Timestamp) -> Option<Duration> {
    let deadline = deadline(deployment)?;
    let current = progressing(status.conditions.as_deref().unwrap_or_default())?;
    if is_complete(deployment, status) || current.reason.as_deref() == Some(TIMED_OUT) {
        return None;
    }
    // A second more, because times are stored without their fraction.
    Some(until(due(current, deadline)?, now) + Duration::from_secs(1))
}

fn progressing(conditions: &[DeploymentCondition]) -> Option<&DeploymentCondition> {
    conditions.iter().find(|condition| condition.type_ == PROGRESSING)
}

fn condition(kind: &str, status: &str, reason: &str, message: String, now: Timestamp) -> DeploymentCondition {
    DeploymentCondition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message),
        last_update_time: Some(Time(now)),
        last_transition_time: Some(Time(now)),
    }
}

/// Puts a condition in place of the one of its type, unless it says nothing new.
fn set(conditions: &mut Vec<DeploymentCondition>, mut new: DeploymentCondition) {
    if let Some(old) = conditions.iter().find(|condition| condition.type_ == new.type_) {
        if old.status == new.status && old.reason == new.reason {
            return;
        }
        if old.status == new.status {
            new.last_transition_time.clone_from(&old.last_transition_time);
        }
    }
    conditions.retain(|condition| condition.type_ != new.type_);
    conditions.push(new);
}
