//! What has ports: a workspace, or a job, of which the first Pod that runs is meant.

use std::sync::Arc;

use kube::{Resource, ResourceExt as _};
use maar_api::v1alpha1::{AIJob, JobType, Workspace, WorkspaceType};
use maar_gateway::ports::AppLabel;
use maar_records::PortPlace;

use super::reach::runs;
use crate::{
    access::Object,
    error::{ApiError, Code},
    job,
    live::{PodFacts, Work},
    portal::Portal,
    route::Call,
    workspace::{self, pod_of},
};

/// What stands before the name of a job in the records and in hashes. A slash is in no name, so that it is never taken
/// for a workspace.
const JOB: &str = "job/";
/// The phase of a Pod that can be reached.
const RUNNING: &str = "Running";

/// Something with ports.
#[derive(Debug, Clone)]
pub(super) enum Behind {
    Workspace(Arc<Workspace>),
    Job(Arc<AIJob>),
}

impl Behind {
    /// What a request is about.
    pub(super) fn of(call: &Call) -> Result<Self, ApiError> {
        match call.workspace() {
            Ok(found) => Ok(Self::Workspace(Arc::clone(found))),
            Err(_) => call.job().map(|found| Self::Job(Arc::clone(found))),
        }
    }

    /// What is there now: the same, not one of the same name.
    pub(super) fn find(portal: &Portal, place: &PortPlace) -> Option<Self> {
        let found = match place.workspace.strip_prefix(JOB) {
            Some(name) => portal.live.jobs.get(&place.namespace, name).map(Self::Job),
            None => portal.live.workspaces.get(&place.namespace, &place.workspace).map(Self::Workspace),
        };
        found.filter(|found| found.place(place.port) == *place)
    }

    /// One of its ports.
    pub(super) fn place(&self, port: u16) -> PortPlace {
        fn of(found: &impl Resource, before: &str, port: u16) -> PortPlace {
            let metadata = found.meta();
            PortPlace {
                namespace: metadata.namespace.clone().unwrap_or_default(),
                workspace: format!("{before}{}", metadata.name.as_deref().unwrap_or_default()),
                uid: metadata.uid.clone().unwrap_or_default(),
                port,
            }
        }
        match self {
            Self::Workspace(found) => of(&**found, "", port),
            Self::Job(found) => of(&**found, JOB, port),
        }
    }

    /// What access to it is decided by.
    pub(super) fn object(&self) -> Object {
        match self {
            Self::Workspace(found) => workspace::object_of(found),
            Self::Job(found) => job::object_of(found),
        }
    }

    /// The Pod to go to, if one runs.
    pub(super) fn pod(&self, portal: &Portal) -> Option<String> {
        match self {
            Self::Workspace(found) => runs(found).then(|| pod_of(found)),
            Self::Job(found) => first(&pods_of(portal, found)),
        }
    }

    /// The Pod that a program goes into: the one that it asks for, else the first that runs. Only Pods of its own: access
    /// to a job says nothing of others in its namespace.
    pub(super) fn entered(&self, portal: &Portal, asked: Option<&str>) -> Result<String, ApiError> {
        match (self, asked) {
            (Self::Workspace(_), Some(_)) => {
                Err(ApiError::invalid("pod", "is for jobs: a workspace has one Pod"))
            }
            (Self::Workspace(found), None) if runs(found) => Ok(pod_of(found)),
            (Self::Workspace(_), None) => Err(ApiError::new(Code::Conflict, "the workspace is not running")),
            (Self::Job(found), asked) => choose(&pods_of(portal, found), asked),
        }
    }

    /// Ports that it names itself, each with what listens there.
    pub(super) fn named(&self) -> Vec<(u16, String)> {
        let (jupyter, code_server) = ((8888, "jupyter"), (8080, "code-server"));
        let (own, said) = match self {
            Self::Workspace(found) => {
                let own = match found.spec.workspace_type {
                    WorkspaceType::Terminal => None,
                    WorkspaceType::Jupyter => Some(jupyter),
                    WorkspaceType::CodeServer => Some(code_server),
                };
                (own, found.spec.ports.iter().map(|port| (port.port, port.name.clone())).collect())
            }
            Self::Job(found) => {
                let own = match found.spec.job_type {
                    JobType::Jupyter => Some(jupyter),
                    JobType::CodeServer => Some(code_server),
                    _ => None,
                };
                let said = found.spec.launch.as_ref().and_then(|launch| launch.port);
                (own.map(|(usual, name)| (said.unwrap_or(usual), name)), Vec::new())
            }
        };
        let all = own.map(|(port, name)| (port, name.to_owned())).into_iter().chain(said);
        all.filter_map(|(port, name)| Some((u16::try_from(port).ok()?, name))).collect()
    }
}

fn pods_of(portal: &Portal, job: &AIJob) -> Vec<Arc<PodFacts>> {
    let work = Work::Job(job.name_any());
    let mut pods = portal.live.pods.list(Some(&job.namespace().unwrap_or_default()));
    pods.retain(|pod| pod.work == work);
    pods
}

/// The first of a job that runs.
fn first(pods: &[Arc<PodFacts>]) -> Option<String> {
    pods.iter().filter(|pod| pod.phase == RUNNING).map(|pod| pod.name.clone()).min()
}

fn choose(pods: &[Arc<PodFacts>], asked: Option<&str>) -> Result<String, ApiError> {
    let Some(asked) = asked else {
        return first(pods).ok_or_else(|| ApiError::new(Code::Conflict, "no Pod of the job is running"));
    };
    let found = pods.iter().find(|pod| pod.name == asked);
    let found = found.ok_or_else(|| ApiError::not_found("this Pod of the job"))?;
    if found.phase == RUNNING {
        return Ok(found.name.clone());
    }
    Err(ApiError::new(Code::Conflict, format!("Pod {asked} is not running: it is {}", found.phase)))
}

/// What the audit log calls it: kind and name.
pub(super) fn about(place: &PortPlace) -> (&'static str, String) {
    match place.workspace.strip_prefix(JOB) {
        Some(name) => ("job", format!("{}/{name}", place.namespace)),
        None => ("workspace", format!("{}/{}", place.namespace, place.workspace)),
    }
}

pub(super) fn label_of(place: &PortPlace) -> AppLabel {
    AppLabel::of(&place.namespace, &place.workspace, place.port)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(more: &serde_json::Value) -> Behind {
        let mut job = json!({
            "metadata": { "name": "desk", "namespace": "n", "uid": "u" },
            "spec": { "type": "Jupyter", "tasks": [] },
        });
        job["spec"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Behind::Job(Arc::new(serde_json::from_value(job).unwrap()))
    }

    #[test]
    fn a_job_is_never_taken_for_a_workspace_of_the_same_name() {
        let workspace =
            json!({ "metadata": { "name": "desk", "namespace": "n", "uid": "u" }, "spec": { "image": "a" } });
        let workspace = Behind::Workspace(Arc::new(serde_json::from_value(workspace).unwrap()));
        let (own, other) = (job(&json!({})).place(80), workspace.place(80));
        assert_ne!(own, other);
        assert_ne!(label_of(&own), label_of(&other));
        assert_eq!(about(&own), ("job", "n/desk".to_owned()));
        assert_eq!(about(&other), ("workspace", "n/desk".to_owned()));
    }

    #[test]
    fn a_job_names_the_port_of_its_program() {
        let named = |more| job(&more).named();
        assert_eq!(named(json!({})), [(8888, "jupyter".to_owned())]);
        let moved = json!({ "type": "CodeServer", "launch": { "port": 9000 } });
        assert_eq!(named(moved), [(9000, "code-server".to_owned())]);
        assert_eq!(named(json!({ "type": "PyTorch", "launch": { "port": 9000 } })), []);
    }
}
