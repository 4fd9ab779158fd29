//! What Volcano says of its Job, in the words of an AIJob.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::Time};
use kube::api::DynamicObject;
use maar_api::v1alpha1::{AIJob, AIJobStatus, JobPhase, TaskSpec, TaskStatus, condition_types, reasons};
use serde_json::Value;

use super::manifest::most_restarts;
use crate::{
    job::outcome,
    status::{Say, bounded, set_condition, whole},
};

/// The status of an AIJob from its Volcano Job and the Pods of that.
pub(crate) fn mirror(
    job: &AIJob,
    before: &AIJobStatus,
    found: &DynamicObject,
    pods: &[Arc<Pod>],
    now: Timestamp,
) -> AIJobStatus {
    let mut status = before.clone();
    let found = &found.data;
    let state = &found["status"]["state"];
    let word = state["phase"].as_str().unwrap_or("Pending");
    status.observed_generation = job.metadata.generation;
    status.phase = phase(word, job.spec.suspend);
    status.reason = Some(state["reason"].as_str().filter(|text| !text.is_empty()).unwrap_or(word).to_owned());
    if word == "Aborted" && status.phase == JobPhase::Restarting {
        status.reason = Some(reasons::RESUMING.to_owned());
    }
    status.message = state["message"].as_str().filter(|text| !text.is_empty()).map(bounded);
    // Volcano counts the restart that it does not carry out, too.
    status.retries = count(&found["status"]["retryCount"]).min(most_restarts(&job.spec) - 1);
    status.tasks = job.spec.tasks.iter().map(|task| task_status(task, found)).collect();
    let running: i32 = status.tasks.iter().map(|task| task.running).sum();
    status.ready = Some(format!("{running}/{}", job.spec.replicas()));
    times(&mut status, before, now);
    outcome::places(pods.iter().map(AsRef::as_ref), &mut status);
    let say =
        Say { kind: condition_types::BACKEND_READY, holds: true, reason: reasons::AS_ASKED, message: "" };
    set_condition(&mut status.conditions, job.metadata.generation, now, &say);
    outcome::conditions(&mut status, job.metadata.generation, now);
    status
}

/// Since when it is as it is. What has to wait again waits from now on.
fn times(status: &mut AIJobStatus, before: &AIJobStatus, now: Timestamp) {
    let moment = Time(whole(now));
    let changed = status.phase != before.phase;
    if changed || status.last_transition_time.is_none() {
        status.last_transition_time = Some(moment.clone());
    }
    match status.phase {
        JobPhase::Running => {
            status.start_time.get_or_insert_with(|| moment.clone());
            status.attempt_start_time.get_or_insert(moment);
        }
        JobPhase::Pending | JobPhase::Restarting | JobPhase::Suspended => {
            status.attempt_start_time = None;
            if changed || status.queued_time.is_none() {
                status.queued_time = Some(moment);
            }
        }
        phase if phase.is_final() => {
            status.completion_time.get_or_insert(moment);
        }
        _ => {}
    }
}

/// The phase of a job from that of Volcano's Job.
fn phase(word: &str, suspend: bool) -> JobPhase {
    match word {
        "Completing" => JobPhase::Completing,
        "Completed" => JobPhase::Completed,
        "Terminating" => JobPhase::Terminating,
        "Terminated" | "Failed" => JobPhase::Failed,
        "Aborted" if suspend => JobPhase::Suspended,
        // It has been told to go on.
        "Aborted" => JobPhase::Restarting,
        "Aborting" => JobPhase::Suspending,
        _ if suspend => JobPhase::Suspending,
        "Running" => JobPhase::Running,
        "Restarting" => JobPhase::Restarting,
        _ => JobPhase::Pending,
    }
}

pub(super) fn task_status(task: &TaskSpec, found: &Value) -> TaskStatus {
    let phases = &found["status"]["taskStatusCount"][task.name.as_str()]["phase"];
    TaskStatus {
        name: task.name.clone(),
        replicas: task.replicas,
        pending: count(&phases["Pending"]),
        running: count(&phases["Running"]),
        succeeded: count(&phases["Succeeded"]),
        failed: count(&phases["Failed"]),
        ..TaskStatus::default()
    }
}

fn count(value: &Value) -> i32 {
    value.as_i64().and_then(|count| i32::try_from(count).ok()).unwrap_or(0)
}
