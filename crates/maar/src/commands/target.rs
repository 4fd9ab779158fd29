//! What people go into by its name: a workspace, or a Pod of a job; behind a portal or in a cluster.

use std::fmt;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;

use super::{
    client::Connection,
    failure::Failure,
    job::{self, default_container},
    workspace::{CONTAINER, Source, pod_of},
};

/// What people go into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Workspace(String),
    /// One Pod of a job; the first that runs if none is said.
    Job {
        name: String,
        pod: Option<String>,
    },
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workspace(name) => formatter.write_str(name),
            Self::Job { name, pod: None } => write!(formatter, "job/{name}"),
            Self::Job { name, pod: Some(pod) } => write!(formatter, "job/{name}/{pod}"),
        }
    }
}

/// A Pod, and whether it runs.
struct Found {
    name: String,
    runs: bool,
}

impl Target {
    /// `NAME` is a workspace, as `workspace/NAME` is; `job/NAME` the first Pod of a job that runs; `job/NAME/POD` one of
    /// its Pods, which may leave out the name of the job.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = || {
            let examples = "a workspace such as desk, or a job such as job/train or job/train/worker-1";
            Failure::usage(format!("{text:?} is not {examples}"))
        };
        let parts: Vec<&str> = text.split('/').collect();
        if parts.iter().any(|part| part.is_empty()) {
            return Err(wrong());
        }
        match parts[..] {
            [name] | ["workspace" | "ws", name] => Ok(Self::Workspace(name.to_owned())),
            ["job", name] => Ok(Self::Job { name: name.to_owned(), pod: None }),
            ["job", name, pod] => Ok(Self::Job { name: name.to_owned(), pod: Some(pod.to_owned()) }),
            _ => Err(wrong()),
        }
    }

    /// The same with the whole name of its Pod, if one was said. What nobody has is told here, before anything begins.
    pub(crate) async fn known(self, source: &Source) -> anyhow::Result<Self> {
        let (name, asked) = match self {
            Self::Workspace(name) => {
                source.get(&name).await?;
                return Ok(Self::Workspace(name));
            }
            Self::Job { name, pod } => (name, pod),
        };
        let job = job::get(source, &name).await?;
        let Some(asked) = asked else { return Ok(Self::Job { name, pod: None }) };
        let pods = match source {
            Source::Portal { .. } => {
                let all = job::pods_by_portal(source, &name).await?;
                let found = |pod: &serde_json::Value| {
                    Some(Found { name: pod["name"].as_str()?.to_owned(), runs: pod["phase"] == "Running" })
                };
                all.iter().filter_map(found).collect()
            }
            Source::Cluster(connection) => found(&job::pods_in(connection, &job).await?),
        };
        let pod = choose(&name, Some(&asked), pods)?;
        Ok(Self::Job { name, pod: Some(pod) })
    }

    /// Its path behind a portal.
    pub(crate) fn path(&self, source: &Source) -> anyhow::Result<String> {
        match self {
            Self::Workspace(name) => Source::path(job::namespace(source), name),
            Self::Job { name, .. } => job::path(source, name),
        }
    }

    /// What a portal is told besides, to append to a query.
    pub(crate) fn query(&self) -> String {
        match self {
            Self::Job { pod: Some(pod), .. } => {
                let mut query = form_urlencoded::Serializer::new(String::new());
                format!("&{}", query.append_pair("pod", pod).finish())
            }
            _ => String::new(),
        }
    }

    /// Its Pod in a cluster, and the container that is meant if none is said.
    pub(crate) async fn place(&self, connection: &Connection) -> anyhow::Result<(String, String)> {
        let (name, asked) = match self {
            Self::Workspace(name) => return Ok((pod_of(connection, name).await?, CONTAINER.to_owned())),
            Self::Job { name, pod } => (name, pod),
        };
        let job = job::get_in(connection, name).await?;
        let pods = job::pods_in(connection, &job).await?;
        let pod = choose(name, asked.as_deref(), found(&pods))?;
        let chosen = pods.iter().find(|one| one.name_any() == pod);
        let container = chosen.and_then(default_container);
        Ok((pod, container.context("the Pod has no containers")?))
    }
}

fn found(pods: &[Pod]) -> Vec<Found> {
    let runs =
        |pod: &Pod| pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Running"));
    pods.iter().map(|pod| Found { name: pod.name_any(), runs: runs(pod) }).collect()
}

/// The Pod of a job that is meant: the first that runs, or one by its name, whole or without that of the job.
fn choose(job: &str, asked: Option<&str>, mut pods: Vec<Found>) -> Result<String, Failure> {
    pods.sort_by(|one, other| one.name.cmp(&other.name));
    let Some(asked) = asked else {
        let first = pods.into_iter().find(|pod| pod.runs).map(|pod| pod.name);
        return first.ok_or_else(|| Failure::failed(format!("no Pod of job {job} runs")));
    };
    let short = format!("{job}-{asked}");
    let named = |name: &str| pods.iter().find(|pod| pod.name == name);
    match named(asked).or_else(|| named(&short)) {
        Some(pod) if pod.runs => Ok(pod.name.clone()),
        Some(pod) => Err(Failure::failed(format!("Pod {} of job {job} does not run", pod.name))),
        None => {
            let mut running = pods.iter().filter(|pod| pod.runs).map(|pod| pod.name.as_str());
            let some = running.by_ref().take(5).collect::<Vec<_>>().join(", ");
            let some = if some.is_empty() { "none".to_owned() } else { some };
            let more = if running.next().is_some() { ", …" } else { "" };
            let message = format!("job {job} has no Pod {asked}; of its Pods run: {some}{more}");
            Err(Failure::not_found(message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_alone_is_a_workspace_and_a_job_says_so() {
        let job = |name: &str, pod: Option<&str>| Target::Job {
            name: name.to_owned(),
            pod: pod.map(str::to_owned),
        };
        let desk = Target::Workspace("desk".to_owned());
        for (text, want) in [
            ("desk", desk.clone()),
            ("workspace/desk", desk.clone()),
            ("ws/desk", desk),
            ("job", Target::Workspace("job".to_owned())),
            ("job/train", job("train", None)),
            ("job/train/worker-1", job("train", Some("worker-1"))),
        ] {
            assert_eq!(Target::parse(text).unwrap(), want, "{text}");
        }
        for wrong in ["", "/", "job/", "/desk", "pod/desk", "job/a/b/c", "job//b"] {
            let error = Target::parse(wrong).unwrap_err().to_string();
            assert!(error.contains("job/train/worker-1"), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_pod_is_meant_by_its_whole_name_or_by_its_task_and_number() {
        let pods = || {
            let pod = |name: &str, runs| Found { name: name.to_owned(), runs };
            vec![pod("train-worker-1", true), pod("train-worker-0", true), pod("train-master-0", false)]
        };
        let chosen = |asked| choose("train", asked, pods()).map_err(|failure| failure.to_string());
        assert_eq!(chosen(None).unwrap(), "train-worker-0", "the first that runs");
        assert_eq!(chosen(Some("worker-1")).unwrap(), "train-worker-1");
        assert_eq!(chosen(Some("train-worker-1")).unwrap(), "train-worker-1");
        assert_eq!(chosen(Some("master-0")).unwrap_err(), "Pod train-master-0 of job train does not run");
        assert_eq!(
            chosen(Some("worker-2")).unwrap_err(),
            "job train has no Pod worker-2; of its Pods run: train-worker-0, train-worker-1"
        );
        assert_eq!(choose("train", None, Vec::new()).unwrap_err().to_string(), "no Pod of job train runs");
    }
}
