//! Jobs that Volcano makes and places: one `batch.volcano.sh` Job per AIJob, and its phase back.
//!
//! Suspending is aborting, and resuming is Volcano's own word for what follows: both are Commands to its controller, which
//! takes the Pods away and keeps the Job. So is an end that Volcano's policies cannot tell.

mod manifest;
mod mirror;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::Time};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions},
    core::{ApiResource, GroupVersionKind},
};
use maar_api::v1alpha1::{AIJob, AIJobStatus, JobPhase, TaskStatus, condition_types, reasons};
use maar_controller::{Error, error::chain, pool::Next};
use serde_json::{Value, json};

use super::{
    Stay, View,
    decide::{Timeout, out_of_time},
    outcome,
    reconcile::{Jobs, MANAGER, WRITER},
    stay,
};
use crate::{
    cleanup::is_fresh,
    error::JobError,
    index::Key,
    name, own,
    status::{Say, bounded, set_condition, whole},
};
use manifest::{GENERATION, manifest, resized, verdict};
use mirror::{mirror, task_status};

pub(crate) async fn reconcile(jobs: &Jobs, job: &AIJob) -> Result<Next, JobError> {
    let now = jobs.context.environment.clock.now();
    let before = job.status.clone().unwrap_or_default();
    if before.phase.is_final() {
        return after_the_end(jobs, job, &before, now).await;
    }
    let api = api(jobs, job, &GroupVersionKind::gvk("batch.volcano.sh", "v1alpha1", "Job"));
    let failed = |source| Error::in_step(format!("apply the Volcano Job of {}", name::of(job)), source);
    let found = match api.get_opt(name::of(job)).await {
        Ok(found) => found,
        // A server that does not know the group answers in plain text, so there is no reason to look at.
        Err(kube::Error::Api(status)) if status.code == 404 && !job.spec.cancel => {
            return finish(jobs, job, missing(job, before, now)).await;
        }
        Err(kube::Error::Api(status)) if status.code == 404 => None,
        Err(source) => return Err(failed(source).into()),
    };
    let own = found.as_ref().filter(|found| own::belongs_to(*found, job.metadata.uid.as_deref()));
    if let Some(reason) = ending(job, &before, now) {
        if let Some(own) = own {
            stop(&api, own).await.map_err(failed)?;
        }
        return finish(jobs, job, ended(job, before, reason, now)).await;
    }
    if let Some(other) = found.as_ref().filter(|_| own.is_none()) {
        return in_the_way(jobs, job, before, other).await;
    }
    if own.is_none() && job.spec.suspend {
        // Made now, it would run until Volcano has heard that it shall not.
        return finish(jobs, job, resting(job, before, now)).await;
    }
    jobs.write_belongings(&Key::of(job), job).await?;
    let (found, refusal) = match (write(&api, job, own).await, own) {
        (Ok(found), _) => (found, None),
        // Volcano lets few fields of a Job be changed; what it runs goes on as it was, and hears what else is asked.
        (Err(source), Some(own)) => (own.clone(), Some(JobError::from(failed(source)).into_refusal()?)),
        (Err(source), None) => {
            let refusal = JobError::from(failed(source)).into_refusal()?;
            return finish(jobs, job, refused(before, &refusal)).await;
        }
    };
    if let Some(action) = command(job, &found.data) {
        order(jobs, job, &found, action).await?;
    }
    let mut status = mirror(job, &before, &found, &pods(jobs, job, &found), now);
    if let Some(refusal) = refusal {
        status = refused(status, &refusal);
    }
    finish(jobs, job, status).await
}

fn api(jobs: &Jobs, job: &AIJob, kind: &GroupVersionKind) -> Api<DynamicObject> {
    let namespace = job.namespace().unwrap_or_default();
    Api::namespaced_with(jobs.context.client.clone(), &namespace, &ApiResource::from_gvk(kind))
}

/// The job goes when its time is over. What is left of Volcano's goes with it.
async fn after_the_end(
    jobs: &Jobs,
    job: &AIJob,
    status: &AIJobStatus,
    now: Timestamp,
) -> Result<Next, JobError> {
    match stay(&job.spec, status, now) {
        Stay::ForEver => Ok(Next::AwaitChange),
        Stay::For(wait) => Ok(Next::After(wait)),
        Stay::Over => {
            WRITER.delete(&jobs.job_api(&Key::of(job)), job, DeleteParams::background()).await?;
            Ok(Next::AwaitChange)
        }
    }
}

/// Deletes the Job that was seen, and no namesake.
async fn stop(api: &Api<DynamicObject>, seen: &DynamicObject) -> Result<(), kube::Error> {
    let preconditions = Preconditions { uid: seen.uid(), resource_version: None };
    match api.delete(&seen.name_any(), &DeleteParams::background().preconditions(preconditions)).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        result => result.map(drop),
    }
}

/// A Job of the same name is not ours to write.
async fn in_the_way(
    jobs: &Jobs,
    job: &AIJob,
    before: AIJobStatus,
    found: &DynamicObject,
) -> Result<Next, JobError> {
    let name = format!("Volcano's Job {}", found.name_any());
    let earlier = found.owner_references().iter().any(|one| one.kind == "AIJob" && one.name == name::of(job));
    if earlier || found.metadata.deletion_timestamp.is_some() {
        return Err(JobError::Leaving(name));
    }
    let status = AIJobStatus { phase: JobPhase::Prequeue, ..before };
    finish(jobs, job, refused(status, &JobError::Taken(name))).await
}

fn refused(mut status: AIJobStatus, refusal: &JobError) -> AIJobStatus {
    status.reason = Some(reasons::REFUSED.to_owned());
    status.message = Some(bounded(&chain(refusal)));
    status
}

/// Pods of Volcano's Job.
fn pods(jobs: &Jobs, job: &AIJob, found: &DynamicObject) -> Vec<Arc<Pod>> {
    let mut all = jobs.volcano_pods.of(&Key::of(job));
    all.retain(|pod| own::belongs_to(&**pod, found.metadata.uid.as_deref()));
    all
}

/// Volcano's Job. It is written when the job has changed, and only looked at otherwise.
async fn write(
    api: &Api<DynamicObject>,
    job: &AIJob,
    found: Option<&DynamicObject>,
) -> Result<DynamicObject, kube::Error> {
    let mut wanted = found.map_or_else(|| manifest(job), |found| resized(job, &found.data));
    let generation = wanted["metadata"]["annotations"][GENERATION].as_str();
    if let Some(found) = found {
        if found.annotations().get(GENERATION).map(String::as_str) == generation {
            return Ok(found.clone());
        }
        wanted["metadata"]["uid"] = json!(found.metadata.uid);
    }
    let params = PatchParams::apply(MANAGER).force();
    api.patch(name::of(job), &params, &Patch::Apply(&wanted)).await
}

/// What Volcano has to be told so that its Job is suspended, goes on, or ends. Whoever aborted it, also somebody who was too
/// late: the AIJob says whether it shall run.
fn command(job: &AIJob, found: &Value) -> Option<&'static str> {
    let phase = found["status"]["state"]["phase"].as_str().unwrap_or_default();
    match (job.spec.suspend, phase) {
        (true, "Pending" | "Running" | "Restarting" | "") => Some("AbortJob"),
        (false, "Aborted") => Some("ResumeJob"),
        (false, "Pending" | "Running") => {
            let counts: Vec<TaskStatus> =
                job.spec.tasks.iter().map(|task| task_status(task, found)).collect();
            verdict(&job.spec, &counts)
        }
        _ => None,
    }
}

/// Gives Volcano's controller an order, which it takes away when it has carried it out.
async fn order(
    jobs: &Jobs,
    job: &AIJob,
    found: &DynamicObject,
    action: &'static str,
) -> Result<(), JobError> {
    let api = api(jobs, job, &GroupVersionKind::gvk("bus.volcano.sh", "v1alpha1", "Command"));
    let target = json!({ "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": name::of(job),
        "uid": found.metadata.uid, "controller": true, "blockOwnerDeletion": true });
    let word = action.to_lowercase();
    let body = json!({
        "apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command",
        "metadata": { "name": format!("{}-{word}", name::of(job)), "namespace": job.namespace(), "ownerReferences": [target] },
        "action": action, "target": target, "reason": "AIJob", "message": "as the AIJob says",
    });
    let failed = |source| Error::in_step(format!("tell Volcano to {action} {}", name::of(job)), source);
    let command = serde_json::from_value(body).map_err(|error| failed(kube::Error::SerdeError(error)))?;
    match api.create(&PostParams::default(), &command).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        Err(source) => Err(JobError::Cluster(failed(source))),
    }
}

async fn finish(jobs: &Jobs, job: &AIJob, status: AIJobStatus) -> Result<Next, JobError> {
    jobs.write_status(job, &status).await?;
    // What is over has a time to stay, which the next look finds.
    Ok(Next::After(jobs.volcano_every))
}

/// Why it is to end for good, if so.
fn ending(job: &AIJob, status: &AIJobStatus, now: Timestamp) -> Option<String> {
    if job.spec.cancel {
        return Some(reasons::CANCELLED.to_owned());
    }
    let told = status.cleanup.as_ref().filter(|told| is_fresh(Some(told), job.metadata.generation));
    if let Some(told) = told {
        return Some(told.rule.reason().to_owned());
    }
    match out_of_time(&View { job, pods: &[], now }, status) {
        Some(Timeout::Now(stop)) if stop.at.0 <= now => Some(stop.reason),
        _ => None,
    }
}

fn ended(job: &AIJob, mut status: AIJobStatus, reason: String, now: Timestamp) -> AIJobStatus {
    status.observed_generation = job.metadata.generation;
    status.phase = outcome::stopping_phase(&reason, true);
    status.reason = Some(reason);
    status.message = Some(outcome::sentence(&job.spec, &status));
    status.completion_time = Some(Time(whole(now)));
    status.last_transition_time = Some(Time(whole(now)));
    outcome::conditions(&mut status, job.metadata.generation, now);
    status
}

/// A job that is suspended before Volcano has heard of it.
fn resting(job: &AIJob, before: AIJobStatus, now: Timestamp) -> AIJobStatus {
    let changed = before.phase != JobPhase::Suspended;
    let mut status = AIJobStatus { phase: JobPhase::Suspended, ..before };
    status.observed_generation = job.metadata.generation;
    status.reason = Some(reasons::SUSPENDED.to_owned());
    status.message = Some(outcome::sentence(&job.spec, &status));
    if changed {
        status.last_transition_time = Some(Time(whole(now)));
    }
    outcome::conditions(&mut status, job.metadata.generation, now);
    status
}

fn missing(job: &AIJob, mut status: AIJobStatus, now: Timestamp) -> AIJobStatus {
    let message = "backend is Volcano, but this cluster does not serve batch.volcano.sh/v1alpha1";
    status.observed_generation = job.metadata.generation;
    status.phase = JobPhase::Prequeue;
    status.reason = Some(reasons::VOLCANO_MISSING.to_owned());
    status.message = Some(message.to_owned());
    let say =
        Say { kind: condition_types::BACKEND_READY, holds: false, reason: reasons::VOLCANO_MISSING, message };
    set_condition(&mut status.conditions, job.metadata.generation, now, &say);
    status
}
