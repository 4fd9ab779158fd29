//! `maar job logs`.

use std::{fmt::Write as _, io::Write as _};

use anyhow::Context as _;
use futures::{AsyncReadExt as _, future::join_all};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::{Api, ResourceExt as _, api::LogParams};
use maar_api::{
    names,
    v1alpha1::{AIJob, TaskSpec},
};
use serde_json::Value;

use super::source;
use crate::commands::{failure::Failure, workspace::Source};

/// Annotation of a Pod: the container that is meant if none is named, as kubectl has it.
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";
/// Label by which Volcano numbers Pods.
const VOLCANO_INDEX: &str = "volcano.sh/task-index";
/// The most lines that a portal tells at once.
const PORTAL_LINES: i64 = 100_000;

/// What `maar job logs` can be told.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// The job
    name: String,
    /// Only Pods of this task
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only the Pod of this number in its task
    #[arg(long, value_name = "NUMBER")]
    index: Option<u32>,
    /// Of this container; without it the one that the Pod prefers (kubectl.kubernetes.io/default-container), else the first
    #[arg(long, short, value_name = "CONTAINER")]
    container: Option<String>,
    /// Go on while the job runs
    #[arg(long, short)]
    follow: bool,
    /// Of the container before it was started again
    #[arg(long, short)]
    previous: bool,
    /// Only the last lines of each Pod
    #[arg(long, value_name = "LINES", value_parser = clap::value_parser!(i64).range(0..=PORTAL_LINES))]
    tail: Option<i64>,
    /// Only what was written in the last seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i64).range(1..))]
    since: Option<i64>,
    /// With the time of each line
    #[arg(long)]
    timestamps: bool,
}

/// A Pod of the job, and who in it has written something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Candidate {
    pod: String,
    task: Option<String>,
    index: Option<u32>,
    /// All its containers, the main one first.
    containers: Vec<String>,
    /// Containers with a log, of those that are asked for: of now, or of before they were started again.
    wrote: Vec<String>,
}

/// Whose log is read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Speaker {
    pod: String,
    container: String,
}

pub(super) async fn run(source: &Source, arguments: &Arguments) -> anyhow::Result<()> {
    // A job that is not there is another answer than one without Pods.
    let job = source::get(source, &arguments.name).await?;
    let candidates = match source {
        Source::Portal { .. } => of_portal(&job, &source::pods_by_portal(source, &arguments.name).await?),
        Source::Cluster(connection) => {
            of_cluster(source::pods_in(connection, &job).await?, arguments.previous)
        }
    };
    let speakers = choose(&job, &candidates, arguments)?;
    let many = speakers.len() > 1;
    let reads = speakers.iter().map(|speaker| one(source, speaker, arguments, many));
    let ends = if arguments.follow {
        join_all(reads).await
    } else {
        let mut ends = Vec::new();
        for read in reads {
            ends.push(read.await);
        }
        ends
    };
    // One Pod that cannot be read does not silence the others.
    let mut failed: Vec<anyhow::Error> = ends.into_iter().filter_map(Result::err).collect();
    let Some(last) = failed.pop() else { return Ok(()) };
    for error in failed {
        let _ = std::io::stderr().write_all(format!("{error:#}\n").as_bytes());
    }
    Err(last)
}

fn of_cluster(mut pods: Vec<Pod>, previous: bool) -> Vec<Candidate> {
    let place = |pod: &Pod| (pod.labels().get(names::LABEL_TASK).cloned(), number(pod), pod.name_any());
    pods.sort_by_cached_key(place);
    pods.iter().map(|pod| candidate(pod, previous)).collect()
}

/// Its number in its task.
fn number(pod: &Pod) -> Option<u32> {
    let labels = pod.labels();
    labels.get(names::LABEL_INDEX).or_else(|| labels.get(VOLCANO_INDEX))?.parse().ok()
}

/// Its containers, the one first that is meant if none is named.
fn containers(pod: &Pod) -> Vec<String> {
    let spec = pod.spec.iter();
    let names = spec.flat_map(|spec| spec.containers.iter().chain(spec.init_containers.iter().flatten()));
    main_first(names.map(|one| one.name.clone()).collect(), pod.annotations().get(DEFAULT_CONTAINER))
}

/// The container that is meant if none is named.
pub(crate) fn default_container(pod: &Pod) -> Option<String> {
    containers(pod).into_iter().next()
}

fn candidate(pod: &Pod, previous: bool) -> Candidate {
    let status = pod.status.clone().unwrap_or_default();
    let statuses = status.container_statuses.iter().chain(&status.init_container_statuses).flatten();
    let wrote = statuses.filter(|one| has_log(one, previous)).map(|one| one.name.clone());
    Candidate {
        pod: pod.name_any(),
        task: pod.labels().get(names::LABEL_TASK).cloned(),
        index: number(pod),
        containers: containers(pod),
        wrote: wrote.collect(),
    }
}

fn has_log(status: &ContainerStatus, previous: bool) -> bool {
    let state = if previous { &status.last_state } else { &status.state };
    state.as_ref().is_some_and(|state| state.running.is_some() || state.terminated.is_some())
        // Between two starts there is the log of the last one.
        || (!previous && status.restart_count > 0)
}

/// Puts the container first that is meant if none is named.
fn main_first(mut names: Vec<String>, preferred: Option<&String>) -> Vec<String> {
    if let Some(at) = preferred.and_then(|preferred| names.iter().position(|name| name == preferred)) {
        let main = names.remove(at);
        names.insert(0, main);
    }
    names
}

/// Pods as a portal tells of them: their containers are those of the template.
fn of_portal(job: &AIJob, pods: &[Value]) -> Vec<Candidate> {
    let text = |pod: &Value, field: &str| pod[field].as_str().map(str::to_owned);
    let all = pods.iter().filter_map(|pod| {
        let (name, task) = (text(pod, "name")?, text(pod, "task"));
        let template = job.spec.tasks.iter().find(|one| Some(&one.name) == task.as_ref());
        let containers = template.map(containers_of).unwrap_or_default();
        let wrote = if pod["phase"] == "Pending" { Vec::new() } else { containers.clone() };
        let index = name.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
        Some(Candidate { pod: name, task, index, containers, wrote })
    });
    let mut all: Vec<Candidate> = all.collect();
    all.sort_by(|one, other| (&one.task, one.index, &one.pod).cmp(&(&other.task, other.index, &other.pod)));
    all
}

fn containers_of(task: &TaskSpec) -> Vec<String> {
    let spec = task.template.spec.clone().unwrap_or_default();
    let names =
        spec.containers.iter().chain(spec.init_containers.iter().flatten()).map(|one| one.name.clone());
    let annotations = task.template.metadata.as_ref().and_then(|metadata| metadata.annotations.as_ref());
    main_first(names.collect(), annotations.and_then(|all| all.get(DEFAULT_CONTAINER)))
}

/// Whose logs are asked for; why there are none, if so.
fn choose(job: &AIJob, candidates: &[Candidate], arguments: &Arguments) -> Result<Vec<Speaker>, Failure> {
    let name = job.name_any();
    let tasks: Vec<&TaskSpec> = job.spec.tasks.iter().collect();
    let asked: Vec<&TaskSpec> = tasks
        .iter()
        .copied()
        .filter(|task| arguments.task.as_ref().is_none_or(|wanted| *wanted == task.name))
        .collect();
    if let Some(task) = arguments.task.as_ref().filter(|_| asked.is_empty() && !tasks.is_empty()) {
        let known = tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(Failure::not_found(format!("--task: job {name} has no task {task}; it has {known}")));
    }
    let ended = job.status.as_ref().map(|status| status.phase).filter(|phase| phase.is_final());
    let most = asked.iter().map(|task| task.replicas).max().unwrap_or(i32::MAX);
    if let Some(index) = arguments.index.filter(|index| i64::from(*index) >= i64::from(most)) {
        let message = format!("--index: job {name} has no Pod {index}: they are numbered 0 to {}", most - 1);
        return Err(Failure::not_found(message));
    }
    let meant: Vec<&Candidate> = candidates
        .iter()
        .filter(|one| arguments.task.is_none() || one.task == arguments.task)
        .filter(|one| arguments.index.is_none() || one.index == arguments.index)
        .collect();
    if let Some(container) = &arguments.container
        && !meant.is_empty()
        && !meant.iter().any(|one| one.containers.contains(container))
    {
        let known = meant[0].containers.join(", ");
        let message =
            format!("--container: Pods of job {name} have no container {container}; they have {known}");
        return Err(Failure::not_found(message));
    }
    let speakers: Vec<Speaker> = meant.iter().filter_map(|one| speaker(one, arguments)).collect();
    if !speakers.is_empty() {
        return Ok(speakers);
    }
    Err(Failure::not_found(if arguments.previous && !meant.is_empty() {
        format!("--previous: no container of job {name} was started again")
    } else if let Some(phase) = ended.filter(|_| meant.is_empty()) {
        format!("job {name} has ended, {phase}, and has no Pods any more")
    } else {
        format!("job {name} has no Pod that has started ({} wait)", meant.len())
    }))
}

fn speaker(one: &Candidate, arguments: &Arguments) -> Option<Speaker> {
    let container = arguments.container.as_ref().or_else(|| one.containers.first())?;
    let wrote = one.wrote.contains(container);
    wrote.then(|| Speaker { pod: one.pod.clone(), container: container.clone() })
}

/// The log of one Pod, with its name before each line if there are several.
async fn one(source: &Source, speaker: &Speaker, arguments: &Arguments, named: bool) -> anyhow::Result<()> {
    let mut lines = Lines { prefix: named.then(|| format!("[{}] ", speaker.pod)), ..Lines::default() };
    let step = || format!("reading the log of Pod {}", speaker.pod);
    match source {
        Source::Portal { remote, .. } => {
            let path =
                format!("{}/logs?{}", source::path(source, &arguments.name)?, query(speaker, arguments));
            remote.stream(&path, |bytes| write(&lines.take(bytes))).await.with_context(step)?;
        }
        Source::Cluster(connection) => {
            let api: Api<Pod> = Api::namespaced(connection.client.clone(), &connection.namespace);
            let stream =
                api.log_stream(&speaker.pod, &params(speaker, arguments)).await.with_context(step)?;
            let mut stream = std::pin::pin!(stream);
            let mut part = vec![0; 16 * 1024];
            while let length @ 1.. = stream.read(&mut part).await.with_context(step)? {
                write(&lines.take(&part[..length]));
            }
        }
    }
    write(&lines.end());
    Ok(())
}

fn params(speaker: &Speaker, arguments: &Arguments) -> LogParams {
    LogParams {
        container: Some(speaker.container.clone()),
        follow: arguments.follow,
        previous: arguments.previous,
        tail_lines: arguments.tail,
        since_seconds: arguments.since,
        timestamps: arguments.timestamps,
        ..LogParams::default()
    }
}

/// The same as a portal is asked. Names of Pods and containers need no escaping.
fn query(speaker: &Speaker, arguments: &Arguments) -> String {
    let Speaker { pod, container } = speaker;
    let Arguments { follow, previous, timestamps, .. } = arguments;
    let tail = arguments.tail.unwrap_or(PORTAL_LINES);
    let mut text = format!(
        "pod={pod}&container={container}&follow={follow}&previous={previous}&timestamps={timestamps}&tail={tail}"
    );
    if let Some(since) = arguments.since {
        // Writing to a String cannot fail.
        let _ = write!(text, "&sinceSeconds={since}");
    }
    text
}

/// Puts something before each line; lines of several Pods do not run into each other.
#[derive(Debug, Default)]
struct Lines {
    prefix: Option<String>,
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
}

impl Lines {
    /// What is to be written of what came.
    fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Some(prefix) = &self.prefix else { return bytes.to_vec() };
        self.begun.extend_from_slice(bytes);
        let Some(end) = self.begun.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let rest = self.begun.split_off(end + 1);
        let whole = std::mem::replace(&mut self.begun, rest);
        let lines = whole.split_inclusive(|byte| *byte == b'\n');
        lines.flat_map(|line| [prefix.as_bytes(), line].concat()).collect()
    }

    /// A last line without an end.
    fn end(&mut self) -> Vec<u8> {
        let Some(prefix) = self.prefix.as_ref().filter(|_| !self.begun.is_empty()) else { return Vec::new() };
        [prefix.as_bytes(), &std::mem::take(&mut self.begun), b"\n"].concat()
    }
}

fn write(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    // Nobody listening any more (`| head`) is no reason to fall over.
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests;
