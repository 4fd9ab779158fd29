//! Jobs and Pods for tests, in a line.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use maar_api::{
    names,
    v1alpha1::{AIJob, JobType, TaskSpec},
};
use serde_json::{Value, json};

use super::{Plan, View, plan};
use crate::{kind::Place, pod::render};

/// The moment at which tests begin.
pub(crate) fn start() -> Timestamp {
    Timestamp::constant(1_767_225_600, 0)
}

/// A job in the making.
#[derive(Debug, Clone)]
pub(crate) struct Build(pub(crate) Value);

/// A job `train` of one kind, without tasks.
pub(crate) fn job(job_type: JobType) -> Build {
    Build(json!({
        "metadata": { "name": "train", "namespace": "lab", "uid": "job-uid", "generation": 1,
            "creationTimestamp": start().to_string() },
        "spec": { "type": job_type, "tasks": [] },
    }))
}

impl Build {
    /// Adds a task.
    pub(crate) fn task(mut self, name: &str, replicas: i32) -> Self {
        let task = json!({ "name": name, "replicas": replicas, "template": { "spec": { "containers": [
            { "name": "main", "image": "example.com/image:1", "command": ["run"] } ] } } });
        self.0["spec"]["tasks"].as_array_mut().unwrap().push(task);
        self
    }

    /// Sets a field of the spec by a JSON pointer.
    pub(crate) fn set(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        let mut at = &mut self.0["spec"];
        for part in pointer.split('/').skip(1) {
            let part = part.replace("~1", "/");
            at = match part.parse::<usize>() {
                Ok(index) if at.is_array() => &mut at[index],
                _ => &mut at[part],
            };
        }
        *at = value.into();
        self
    }

    pub(crate) fn build(self) -> AIJob {
        serde_json::from_value(self.0).unwrap()
    }
}

/// A small world: one job, its Pods, the time. Plans are carried out as a controller and a kubelet would.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) job: AIJob,
    pub(crate) pods: Vec<Pod>,
    pub(crate) now: Timestamp,
    made: u32,
}

impl World {
    pub(crate) fn new(job: Build) -> Self {
        Self { job: job.build(), pods: Vec::new(), now: start(), made: 0 }
    }

    pub(crate) fn plan(&self) -> Plan {
        plan(&View { job: &self.job, pods: &self.pods, now: self.now })
    }

    /// One reconcile. Deleted Pods are on their way out until [`World::sweep`].
    pub(crate) fn step(&mut self) -> Plan {
        let plan = self.plan();
        self.job.status = Some(plan.status.clone());
        for pod in &plan.create {
            let mut pod = pod.clone();
            self.made += 1;
            pod.metadata.uid = Some(format!("uid-{}", self.made));
            self.pods.push(pod);
        }
        for gone in &plan.delete {
            let pod = self.pods.iter_mut().find(|pod| pod.metadata.uid == gone.metadata.uid).unwrap();
            pod.metadata.deletion_timestamp =
                Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(self.now));
        }
        for told in &plan.notify {
            let pod = self.pods.iter_mut().find(|pod| pod.metadata.uid == told.metadata.uid).unwrap();
            let stop = plan.status.stop.as_ref().unwrap();
            let all = pod.metadata.annotations.get_or_insert_default();
            all.insert(names::ANNOTATION_STOP_AT.to_owned(), stop.at.0.to_string());
            all.insert(names::ANNOTATION_STOP_REASON.to_owned(), stop.reason.clone());
        }
        for calm in &plan.calm {
            let pod = self.pods.iter_mut().find(|pod| pod.metadata.uid == calm.metadata.uid).unwrap();
            let all = pod.metadata.annotations.get_or_insert_default();
            all.remove(names::ANNOTATION_STOP_AT);
            all.remove(names::ANNOTATION_STOP_REASON);
        }
        plan
    }

    /// Steps until nothing is left to do now. Pods that are deleted go at once.
    pub(crate) fn settle(&mut self) {
        for _ in 0..20 {
            let before = (self.job.status.clone(), self.pods.len());
            let plan = self.step();
            self.sweep();
            let idle = plan.create.is_empty() && plan.delete.is_empty();
            if idle && before == (self.job.status.clone(), self.pods.len()) {
                return;
            }
        }
        panic!("it does not settle: {:#?}", self.job.status);
    }

    /// Pods on their way out are gone.
    pub(crate) fn sweep(&mut self) {
        self.pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
    }

    /// Gives a Pod a phase, and a node.
    pub(crate) fn become_(&mut self, name: &str, phase: &str) {
        let pod = self.pods.iter_mut().find(|pod| pod.metadata.name.as_deref() == Some(name)).unwrap();
        set_phase(pod, phase);
    }

    /// Gives all Pods a phase.
    pub(crate) fn all_become(&mut self, phase: &str) {
        self.pods.iter_mut().for_each(|pod| set_phase(pod, phase));
    }

    pub(crate) fn pass(&mut self, seconds: i64) {
        self.now = self.now.saturating_add(SignedDuration::from_secs(seconds)).unwrap();
    }

    /// Phase and reason.
    pub(crate) fn stands(&self) -> (String, String) {
        let status = self.job.status.clone().unwrap_or_default();
        (status.phase.to_string(), status.reason.unwrap_or_default())
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.pods.iter().filter_map(|pod| pod.metadata.name.clone()).collect();
        names.sort();
        names
    }
}

/// The Pod of a job's task.
pub(crate) fn pod_of(job: &AIJob, task: &str, index: i32) -> Pod {
    let task: &TaskSpec = job.spec.tasks.iter().find(|one| one.name == task).unwrap();
    render(&Place { job, task, index }, 0)
}

fn set_phase(pod: &mut Pod, phase: &str) {
    pod.spec.get_or_insert_default().node_name = Some("node-1".to_owned());
    let mut status = json!({ "phase": phase });
    if phase == "Failed" {
        status["containerStatuses"] = json!([{ "name": "main", "image": "i", "imageID": "", "ready": false,
            "restartCount": 0, "state": { "terminated": { "exitCode": 3, "reason": "Error" } } }]);
    }
    pod.status = serde_json::from_value(status).unwrap();
}
