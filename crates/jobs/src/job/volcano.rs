//! Jobs that Volcano makes and places: one `batch.volcano.sh` Job per AIJob, and its phase back.
//!
//! Volcano's Pods of a task share one template, so what differs from Pod to Pod (ranks, host lists) comes from its own
//! plug-ins. Suspending is not offered: Volcano has no such state that survives.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{
    Api, ResourceExt as _,
    api::{DynamicObject, Patch, PatchParams},
    core::{ApiResource, GroupVersionKind},
};
use maar_api::v1alpha1::{AIJob, AIJobStatus, JobPhase, RestartPolicy, TaskStatus, condition_types, reasons};
use maar_controller::{Error, pool::Next};
use serde_json::{Value, json};

use super::reconcile::{Jobs, MANAGER};
use crate::{
    error::JobError,
    index::Key,
    kind::{self, Place},
    name,
    pod::{owner, render},
    status::{Say, set_condition, whole},
};

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
    if job.spec.cancel {
        match api.delete(name::of(job), &kube::api::DeleteParams::background()).await {
            Err(kube::Error::Api(status)) if status.code != 404 => {
                return Err(JobError::Cluster(failed(kube::Error::Api(status))));
            }
            _ => {}
        }
        return finish(jobs, job, cancelled(before, now)).await;
    }
    jobs.write_secret(&Key::of(job), job).await?;
    let params = PatchParams::apply(MANAGER).force();
    match api.patch(name::of(job), &params, &Patch::Apply(&manifest(job))).await {
        Ok(found) => finish(jobs, job, mirror(job, &before, &found.data, now)).await,
        // A server that does not know the group answers in plain text, so there is no reason to look at.
        Err(kube::Error::Api(status)) if status.code == 404 => {
            finish(jobs, job, missing(job, before, now)).await
        }
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
        "metadata": { "name": name::of(job), "namespace": job.namespace(), "ownerReferences": [owner(job)] },
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

fn cancelled(mut status: AIJobStatus, now: Timestamp) -> AIJobStatus {
    status.phase = JobPhase::Aborted;
    status.reason = Some(reasons::CANCELLED.to_owned());
    status.message = Some("it was cancelled".to_owned());
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
    status.phase = match word {
        "Running" => JobPhase::Running,
        "Restarting" => JobPhase::Restarting,
        "Completing" => JobPhase::Completing,
        "Completed" => JobPhase::Completed,
        "Aborting" => JobPhase::Aborting,
        "Aborted" => JobPhase::Aborted,
        "Terminating" => JobPhase::Terminating,
        "Terminated" | "Failed" => JobPhase::Failed,
        _ => JobPhase::Pending,
    };
    status.reason = Some(state["reason"].as_str().filter(|text| !text.is_empty()).unwrap_or(word).to_owned());
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
