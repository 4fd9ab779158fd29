//! Volcano's Job for an AIJob.
//!
//! Volcano's Pods of a task share one template. What differs from Pod to Pod is its number, which Volcano writes onto each
//! as an annotation: the downward API brings it into `MAAR_INDEX`, and other variables are made of that. Names of hosts
//! are the same as Maar's, so files with lists of them and keys are Maar's too; Volcano's plug-ins for MPI and Ray are not
//! used. The exception is the rank of a PyTorch worker beside a master, its number plus one, which its plug-in knows.

use kube::ResourceExt as _;
use maar_api::{
    names,
    v1alpha1::{AIJob, AIJobSpec, RestartPolicy, ServiceLevel, TaskSpec, TaskStatus},
};
use serde_json::{Value, json};

use crate::{
    job::decide::policy,
    kind::{self, Place},
    name,
    pod::{REPLICAS, owner, render},
};

/// Annotation of Volcano's Job: the generation of the AIJob it was made for.
pub(super) const GENERATION: &str = "maar.io/generation";
/// Annotation of Volcano's Job, and so of its Pods: may be stopped for others.
const PREEMPTABLE: &str = "volcano.sh/preemptable";
/// Pods are found before they are ready, because they have to meet to become so; and by others, as those of Maar are.
const SERVICE: [&str; 2] = ["--publish-not-ready-addresses=true", "--disable-network-policy=true"];
/// Volcano begins again so often after evictions if failures end the job anyway.
const MOST_RESTARTS: i32 = 1000;
/// What Volcano puts in place of a number that is not said. Said, so that a Job which is written again has not changed:
/// Volcano would refuse.
const TASK_RETRIES: i32 = 3;

/// Volcano's Job for an AIJob.
pub(crate) fn manifest(job: &AIJob) -> Value {
    let spec = &job.spec;
    let mut plugins = json!({ "env": [], "svc": SERVICE });
    for (plugin, arguments) in kind::of(spec.job_type).volcano_plugins(spec) {
        plugins[plugin] = json!(arguments);
    }
    let mut annotations = json!({ GENERATION: job.metadata.generation.unwrap_or_default().to_string() });
    if spec.service_level == ServiceLevel::BestEffort {
        annotations[PREEMPTABLE] = json!("true");
    }
    json!({
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {
            "name": name::of(job), "namespace": job.namespace(), "ownerReferences": [owner(job)],
            "annotations": annotations,
        },
        // Without a time to stay: a Job that Volcano took away before its end was seen would be made once more.
        "spec": {
            "schedulerName": "volcano",
            "queue": queue(job),
            "minAvailable": spec.minimum(),
            "maxRetry": most_restarts(spec),
            "policies": [{ "event": "PodEvicted", "action": "RestartJob" }],
            "plugins": plugins,
            "tasks": spec.tasks.iter().map(|task| task_manifest(job, task)).collect::<Vec<_>>(),
        },
    })
}

/// The same for a Job that is there. Volcano lets the number of Pods be changed and no template, but templates say that number:
/// those of programs that do with any go on saying the one they began with.
pub(crate) fn resized(job: &AIJob, found: &Value) -> Value {
    let mut wanted = manifest(job);
    if kind::of(job.spec.job_type).is_rigid(&job.spec) {
        return wanted;
    }
    let mut before = job.clone();
    for (at, task) in before.spec.tasks.iter_mut().enumerate() {
        task.replicas = told(&found["spec"]["tasks"][at]).unwrap_or(task.replicas);
    }
    let before = manifest(&before);
    for at in 0..job.spec.tasks.len() {
        wanted["spec"]["tasks"][at]["template"] = before["spec"]["tasks"][at]["template"].clone();
    }
    wanted
}

/// How many Pods the template of a task says there are.
fn told(task: &Value) -> Option<i32> {
    let env = task["template"]["spec"]["containers"][0]["env"].as_array()?;
    env.iter().find(|one| one["name"] == REPLICAS)?["value"].as_str()?.parse().ok()
}

/// The queue that the AIJob names, as Volcano's own objects do; that of the account otherwise. Volcano takes jobs for leaves
/// only, so the account of a tree of queues is not enough.
fn queue(job: &AIJob) -> String {
    let named = job.annotations().get(names::ANNOTATION_VOLCANO_QUEUE);
    named.cloned().unwrap_or_else(|| job.spec.account().to_owned())
}

/// Volcano counts evictions too, and the last of so many is not carried out.
pub(super) fn most_restarts(spec: &AIJobSpec) -> i32 {
    if spec.retries == 0 { MOST_RESTARTS } else { spec.retries + 1 }
}

fn task_manifest(job: &AIJob, task: &TaskSpec) -> Value {
    let pod = render(&Place { job, task, index: 0 }, 0);
    let mut metadata = json!({ "labels": pod.metadata.labels });
    if let Some(annotations) = pod.metadata.annotations {
        metadata["annotations"] = json!(annotations);
    }
    json!({
        "name": task.name,
        "replicas": task.replicas,
        "minAvailable": job.spec.minimum_of(task),
        "maxRetry": TASK_RETRIES,
        "policies": policies(&job.spec, task),
        "template": { "metadata": metadata, "spec": pod.spec },
    })
}

fn policies(spec: &AIJobSpec, task: &TaskSpec) -> Vec<Value> {
    let mut all = Vec::new();
    let deciding = kind::deciding(spec);
    // Volcano knows no "all of these": what several tasks decide is said by a Command, see `verdict`. Where all tasks
    // decide it waits for all of them by itself.
    if deciding == [task.name.as_str()] && spec.tasks.len() > 1 {
        all.push(json!({ "event": "TaskCompleted", "action": "CompleteJob" }));
    }
    let restart = policy(spec, task);
    let failed = match restart {
        RestartPolicy::Never if spec.minimum_of(task) < task.replicas => None,
        // Volcano takes no retries for a number that was not said, and puts its own in place of it.
        _ if spec.retries == 0 => Some("TerminateJob"),
        RestartPolicy::Never => Some("TerminateJob"),
        RestartPolicy::Task => Some("RestartTask"),
        RestartPolicy::Job => Some("RestartJob"),
    };
    all.extend(failed.map(|action| json!({ "event": "PodFailed", "action": action })));
    if restart == RestartPolicy::Task {
        all.push(json!({ "event": "PodEvicted", "action": "RestartTask" }));
    }
    all
}

/// The order by which a job ends that Volcano's policies would let go on: all of several tasks that decide have ended well,
/// or a task that can spare Pods has lost more than that.
pub(super) fn verdict(spec: &AIJobSpec, counts: &[TaskStatus]) -> Option<&'static str> {
    let of = |task: &TaskSpec| counts.iter().find(|one| one.name == task.name).cloned().unwrap_or_default();
    let can_spare =
        |task: &TaskSpec| policy(spec, task) == RestartPolicy::Never && spec.minimum_of(task) < task.replicas;
    let broken = |task: &TaskSpec| can_spare(task) && of(task).failed > task.replicas - spec.minimum_of(task);
    if spec.tasks.iter().any(broken) {
        return Some("TerminateJob");
    }
    let deciding = kind::deciding(spec);
    let (decide, others): (Vec<&TaskSpec>, Vec<&TaskSpec>) =
        spec.tasks.iter().partition(|task| deciding.contains(&task.name.as_str()));
    let well = |task: &&TaskSpec| {
        let count = of(task);
        count.succeeded + count.failed >= task.replicas && count.succeeded >= spec.minimum_of(task).max(1)
    };
    (!others.is_empty() && decide.iter().all(well)).then_some("CompleteJob")
}
