//! Jobs that Volcano makes and places: one `batch.volcano.sh` Job per AIJob, and its phase back.
//!
//! Volcano's Pods of a task share one template, so what differs from Pod to Pod (ranks, host lists) comes from its own
//! plug-ins. Suspending is aborting, and resuming is Volcano's own word for what follows: both are Commands to its
//! controller, which takes the Pods away and keeps the Job.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{
    Api, ResourceExt as _,
    api::{DynamicObject, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use maar_api::v1alpha1::{
    AIJob, AIJobStatus, CleanupRule, JobPhase, RestartPolicy, TaskStatus, condition_types, reasons,
};
use maar_controller::{Error, pool::Next};
use serde_json::{Value, json};

use super::reconcile::{Jobs, MANAGER};
use crate::{
    cleanup::{self, is_fresh},
    error::JobError,
    index::Key,
    kind::{self, Place},
    name,
    pod::{owner, render},
    status::{Say, set_condition, whole},
};

/// Annotation of Volcano's Job: the generation of the AIJob it was made for.
const GENERATION: &str = "maar.io/generation";
/// How often Volcano's Job is looked at; it is not watched, because its API may come and go.
const LOOK: std::time::Duration = std::time::Duration::from_secs(5);

pub(crate) async fn reconcile(jobs: &Jobs, job: &AIJob) -> Result<Next, JobError> {
    let now = jobs.context.environment.clock.now();
    let before = job.status.clone().unwrap_or_default();
    if before.phase.is_final() {
        return Ok(Next::AwaitChange);
    }
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("batch.volcano.sh", "v1alpha1", "Job"));
    let namespace = job.namespace().unwrap_or_default();
    let api: Api<DynamicObject> = Api::namespaced_with(jobs.context.client.clone(), &namespace, &resource);
    let failed = |source| Error::in_step(format!("apply the Volcano Job of {}", name::of(job)), source);
    if let Some(reason) = ending(job, &before) {
        match api.delete(name::of(job), &kube::api::DeleteParams::background()).await {
            Err(kube::Error::Api(status)) if status.code != 404 => {
                return Err(JobError::Cluster(failed(kube::Error::Api(status))));
            }
            _ => {}
        }
        return finish(jobs, job, ended(before, reason, now)).await;
    }
    jobs.write_secret(&Key::of(job), job).await?;
    let found = match find_or_apply(&api, job).await {
        Ok(found) => found,
        // A server that does not know the group answers in plain text, so there is no reason to look at.
        Err(kube::Error::Api(status)) if status.code == 404 => {
            return finish(jobs, job, missing(job, before, now)).await;
        }
        Err(source) => return Err(JobError::Cluster(failed(source))),
    };
    if let Some(action) = command(job, &before, &found.data) {
        order(jobs, job, &found, action).await?;
    }
    finish(jobs, job, mirror(job, &before, &found.data, now)).await
}

/// Volcano's Job. It is written when the job has changed, and only looked at otherwise.
async fn find_or_apply(api: &Api<DynamicObject>, job: &AIJob) -> Result<DynamicObject, kube::Error> {
    let wanted = manifest(job);
    let made_for = |found: &DynamicObject| found.annotations().get(GENERATION).cloned();
    let generation = wanted["metadata"]["annotations"][GENERATION].as_str();
    if let Some(found) = api.get_opt(name::of(job)).await?
        && made_for(&found).as_deref() == generation
    {
        return Ok(found);
    }
    let params = PatchParams::apply(MANAGER).force();
    api.patch(name::of(job), &params, &Patch::Apply(&wanted)).await
}

/// What Volcano has to be told so that its Job is suspended, or goes on.
fn command(job: &AIJob, before: &AIJobStatus, found: &Value) -> Option<&'static str> {
    let phase = found["status"]["state"]["phase"].as_str().unwrap_or_default();
    match (job.spec.suspend, phase) {
        (true, "Pending" | "Running" | "Restarting" | "") => Some("AbortJob"),
        (false, "Aborted") if rests(before) => Some("ResumeJob"),
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
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("bus.volcano.sh", "v1alpha1", "Command"));
    let namespace = job.namespace().unwrap_or_default();
    let api: Api<DynamicObject> = Api::namespaced_with(jobs.context.client.clone(), &namespace, &resource);
    let target = json!({ "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": name::of(job),
        "uid": found.metadata.uid, "controller": true, "blockOwnerDeletion": true });
    let word = action.to_lowercase();
    let body = json!({
        "apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command",
        "metadata": { "name": format!("{}-{word}", name::of(job)), "namespace": namespace, "ownerReferences": [target] },
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
    Ok(if status.phase.is_final() { Next::AwaitChange } else { Next::After(LOOK) })
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
fn strip(pod: &mut k8s_openapi::api::core::v1::Pod, task: &maar_api::v1alpha1::TaskSpec) {
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
fn ending(job: &AIJob, status: &AIJobStatus) -> Option<&'static str> {
    if job.spec.cancel {
        return Some(reasons::CANCELLED);
    }
    let told = status.cleanup.as_ref().filter(|told| is_fresh(Some(told), job.metadata.generation));
    told.map(|told| told.rule.reason())
}

fn ended(mut status: AIJobStatus, reason: &str, now: Timestamp) -> AIJobStatus {
    let rule = CleanupRule::of_reason(reason);
    status.phase = JobPhase::Aborted;
    status.reason = Some(reason.to_owned());
    status.message = Some(rule.map_or_else(|| "it was cancelled".to_owned(), cleanup::ending));
    status.completion_time = Some(Time(whole(now)));
    status.last_transition_time = Some(Time(whole(now)));
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

/// The status of an AIJob from its Volcano Job.
pub(crate) fn mirror(job: &AIJob, before: &AIJobStatus, found: &Value, now: Timestamp) -> AIJobStatus {
    let mut status = before.clone();
    let state = &found["status"]["state"];
    let word = state["phase"].as_str().unwrap_or("Pending");
    status.observed_generation = job.metadata.generation;
    status.phase = phase(word, job.spec.suspend, rests(before));
    status.reason = Some(state["reason"].as_str().filter(|text| !text.is_empty()).unwrap_or(word).to_owned());
    if word == "Aborted" && status.phase == JobPhase::Restarting {
        status.reason = Some(reasons::RESUMING.to_owned());
    }
    status.message = state["message"].as_str().filter(|text| !text.is_empty()).map(crate::status::bounded);
    status.retries = count(&found["status"]["retryCount"]);
    status.tasks = job.spec.tasks.iter().map(|task| task_status(task, found)).collect();
    let running: i32 = status.tasks.iter().map(|task| task.running).sum();
    status.ready = Some(format!("{running}/{}", job.spec.replicas()));
    let moment = Time(whole(now));
    if status.phase != before.phase {
        status.last_transition_time = Some(moment.clone());
    }
    if status.phase == JobPhase::Running {
        status.start_time.get_or_insert_with(|| moment.clone());
    }
    if status.phase.is_final() {
        status.completion_time.get_or_insert(moment);
    }
    let holds = true;
    for kind in [condition_types::VALID, condition_types::BACKEND_READY] {
        let say = Say { kind, holds, reason: reasons::AS_ASKED, message: "" };
        set_condition(&mut status.conditions, job.metadata.generation, now, &say);
    }
    status
}

/// Whether Volcano's Job is aborted because that is how it rests, or is on its way out of it.
fn rests(before: &AIJobStatus) -> bool {
    matches!(before.phase, JobPhase::Suspended | JobPhase::Suspending)
        || before.reason.as_deref() == Some(reasons::RESUMING)
}

/// The phase of a job from that of Volcano's Job.
fn phase(word: &str, suspend: bool, rests: bool) -> JobPhase {
    match word {
        "Completing" => JobPhase::Completing,
        "Completed" => JobPhase::Completed,
        "Terminating" => JobPhase::Terminating,
        "Terminated" | "Failed" => JobPhase::Failed,
        "Aborted" if suspend => JobPhase::Suspended,
        // It has been told to go on.
        "Aborted" if rests => JobPhase::Restarting,
        "Aborted" => JobPhase::Aborted,
        _ if suspend => JobPhase::Suspending,
        "Aborting" if rests => JobPhase::Suspending,
        "Aborting" => JobPhase::Aborting,
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
