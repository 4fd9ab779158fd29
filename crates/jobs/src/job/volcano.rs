//! Jobs that Volcano makes and places: one `batch.volcano.sh` Job per AIJob, and its phase back.
//!
//! Volcano's Pods of a task share one template, so what differs from Pod to Pod (ranks, host lists) comes from its own
//! plug-ins. Suspending is aborting, and resuming is Volcano's own word for what follows: both are Commands to its
//! controller, which takes the Pods away and keeps the Job.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::Time};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions},
    core::{ApiResource, GroupVersionKind},
};
use maar_api::v1alpha1::{AIJob, AIJobStatus, JobPhase, RestartPolicy, TaskStatus, condition_types, reasons};
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
    kind::{self, Place},
    name, own,
    pod::{owner, render},
    status::{Say, bounded, set_condition, whole},
};

/// Annotation of Volcano's Job: the generation of the AIJob it was made for.
const GENERATION: &str = "maar.io/generation";
/// How often Volcano's Job is looked at; it is not watched, because its API may come and go.
const LOOK: std::time::Duration = std::time::Duration::from_secs(5);

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
    jobs.write_secret(&Key::of(job), job).await?;
    let found = match write(&api, job, own).await {
        Ok(found) => found,
        Err(source) => {
            // Volcano lets few fields of a Job be changed; what it runs goes on as it was.
            let refusal = JobError::from(failed(source)).into_refusal()?;
            let seen = own.map(|own| mirror(job, &before, own, &pods(jobs, job, own), now));
            return finish(jobs, job, refused(seen.unwrap_or(before), &refusal)).await;
        }
    };
    if let Some(action) = command(job, &found.data) {
        order(jobs, job, &found, action).await?;
    }
    let status = mirror(job, &before, &found, &pods(jobs, job, &found), now);
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
    let mut wanted = manifest(job);
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

/// What Volcano has to be told so that its Job is suspended, or goes on. Whoever aborted it, also somebody who was too
/// late: the AIJob says whether it shall run.
fn command(job: &AIJob, found: &Value) -> Option<&'static str> {
    let phase = found["status"]["state"]["phase"].as_str().unwrap_or_default();
    match (job.spec.suspend, phase) {
        (true, "Pending" | "Running" | "Restarting" | "") => Some("AbortJob"),
        (false, "Aborted") => Some("ResumeJob"),
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
        "action": action, "target": target, "reason": "Suspend", "message": "maar.io/suspend",
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
    Ok(Next::After(LOOK))
}

/// Volcano's Job for an AIJob.
pub(crate) fn manifest(job: &AIJob) -> Value {
    let spec = &job.spec;
    let mut plugins = json!({ "env": [], "svc": [] });
    for (plugin, arguments) in kind::of(spec.job_type).volcano_plugins(spec) {
        plugins[plugin] = json!(arguments);
    }
    let deciding = kind::deciding(spec);
    let tasks: Vec<Value> = spec
        .tasks
        .iter()
        .map(|task| {
            let mut pod = render(&Place { job, task, index: 0 }, 0);
            let mut policies = Vec::new();
            if deciding.contains(&task.name.as_str()) {
                policies.push(json!({ "event": "TaskCompleted", "action": "CompleteJob" }));
            }
            let restart = task.restart_policy.unwrap_or(spec.restart_policy);
            // Volcano takes no retries for a number that was not said, and puts its own in place of it.
            let restart = if spec.retries == 0 { RestartPolicy::Never } else { restart };
            policies.push(match restart {
                RestartPolicy::Never => json!({ "event": "PodFailed", "action": "TerminateJob" }),
                RestartPolicy::Task => json!({ "event": "PodFailed", "action": "RestartTask" }),
                RestartPolicy::Job => json!({ "event": "PodFailed", "action": "RestartJob" }),
            });
            strip(&mut pod, task);
            let metadata = json!({ "labels": pod.metadata.labels, "annotations": pod.metadata.annotations });
            json!({
                "name": task.name,
                "replicas": task.replicas,
                "minAvailable": task.minimum(),
                "policies": policies,
                "template": { "metadata": metadata, "spec": pod.spec },
            })
        })
        .collect();
    json!({
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {
            "name": name::of(job), "namespace": job.namespace(), "ownerReferences": [owner(job)],
            "annotations": { GENERATION: job.metadata.generation.unwrap_or_default().to_string() },
        },
        "spec": {
            "schedulerName": "volcano",
            "queue": spec.account(),
            "minAvailable": spec.minimum(),
            "maxRetry": spec.retries,
            "ttlSecondsAfterFinished": spec.ttl_seconds_after_finished,
            "policies": [{ "event": "PodEvicted", "action": "RestartJob" }],
            "plugins": plugins,
            "tasks": tasks,
        },
    })
}

/// Takes away what is only true of one Pod of the task: Volcano and its plug-ins say it for each.
fn strip(pod: &mut Pod, task: &maar_api::v1alpha1::TaskSpec) {
    let template = task.template.spec.as_ref();
    if let Some(labels) = &mut pod.metadata.labels {
        labels.remove(maar_api::names::LABEL_INDEX);
        labels.remove(maar_api::names::LABEL_ATTEMPT);
        labels.remove(maar_api::names::LABEL_JOB);
    }
    let Some(spec) = &mut pod.spec else { return };
    spec.hostname = None;
    spec.subdomain = None;
    let own = |name: &str, container: &str| {
        let containers = template.map(|spec| spec.containers.as_slice()).unwrap_or_default();
        let mine = containers.iter().filter(|one| one.name == container).filter_map(|one| one.env.as_ref());
        mine.flatten().any(|variable| variable.name == name)
    };
    let added = ["MAAR_INDEX", "MAAR_ATTEMPT", "RANK", "PET_NODE_RANK", "TF_CONFIG"];
    for container in crate::pod::containers(spec) {
        let name = container.name.clone();
        if let Some(all) = &mut container.env {
            all.retain(|variable| !added.contains(&variable.name.as_str()) || own(&variable.name, &name));
        }
    }
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
    status.retries = count(&found["status"]["retryCount"]);
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

fn task_status(task: &maar_api::v1alpha1::TaskSpec, found: &Value) -> TaskStatus {
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
