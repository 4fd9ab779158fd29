//! What the Pods of a job say.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ContainerState, Pod};
use maar_api::{
    names,
    v1alpha1::{AIJobSpec, AIJobStatus, reasons},
};

/// Where a Pod stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Waits for a node.
    Waiting,
    /// Has a node.
    Starting,
    Running,
    Succeeded,
    Failed,
}

/// How a Pod was lost without having failed by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The scheduler took its place for others.
    Preempted,
    /// Somebody deleted it, or its node refused, evicted or lost it.
    Taken,
}

/// A Pod of the job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) pod: &'a Pod,
    /// Position of its task in the spec; none if there is no such task (any more).
    pub(crate) task: Option<usize>,
    pub(crate) index: i32,
    pub(crate) attempt: i32,
    pub(crate) state: State,
    /// It is being deleted.
    pub(crate) going: bool,
}

impl Seen<'_> {
    pub(crate) fn uid(&self) -> &str {
        self.pod.metadata.uid.as_deref().unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.pod.metadata.name.as_deref().unwrap_or_default()
    }

    /// Whether it may still do something.
    pub(crate) fn is_active(&self) -> bool {
        self.going || !matches!(self.state, State::Succeeded | State::Failed)
    }

    fn annotation(&self, name: &str) -> Option<&str> {
        self.pod.metadata.annotations.as_ref()?.get(name).map(String::as_str)
    }

    /// Notice it has been given.
    pub(crate) fn stop_at(&self) -> Option<&str> {
        self.annotation(names::ANNOTATION_STOP_AT)
    }

    /// Why it has been given notice.
    pub(crate) fn stop_reason(&self) -> Option<&str> {
        self.annotation(names::ANNOTATION_STOP_REASON)
    }

    /// How it was lost, if nobody here asked for its end.
    pub(crate) fn loss(&self) -> Option<Loss> {
        if self.state == State::Succeeded {
            return None;
        }
        let status = self.pod.status.as_ref();
        let target = status
            .and_then(|status| status.conditions.as_ref())
            .and_then(|all| all.iter().find(|one| one.type_ == "DisruptionTarget" && one.status == "True"));
        let disrupted = target.and_then(|target| target.reason.as_deref());
        let preempted =
            self.stop_reason() == Some(reasons::PREEMPTED) || disrupted == Some("PreemptionByScheduler");
        let by_node = self.state == State::Failed
            && status.and_then(|status| status.reason.as_deref()).is_some_and(is_by_node);
        match (self.going || self.state == State::Failed, preempted) {
            (true, true) => Some(Loss::Preempted),
            (true, false) if self.going || target.is_some() || by_node => Some(Loss::Taken),
            _ => None,
        }
    }

    /// Why it failed, in a few words.
    pub(crate) fn failure(&self) -> String {
        let status = self.pod.status.as_ref();
        let ended =
            status.and_then(|status| status.container_statuses.as_ref()).into_iter().flatten().find_map(
                |container| match &container.state {
                    Some(ContainerState { terminated: Some(ended), .. }) if ended.exit_code != 0 => {
                        Some((container, ended))
                    }
                    _ => None,
                },
            );
        if let Some((container, ended)) = ended {
            let reason = ended.reason.as_deref().filter(|reason| *reason != "Error");
            let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
            let said = ended.message.as_deref().map(str::trim).filter(|said| !said.is_empty());
            let said = said.map(|said| format!(": {said}")).unwrap_or_default();
            return format!(
                "container {} of Pod {} ended with {}{reason}{said}",
                container.name,
                self.name(),
                ended.exit_code
            );
        }
        let reason = status.and_then(|status| status.reason.as_deref()).unwrap_or("no reason given");
        let said = status.and_then(|status| status.message.as_deref()).unwrap_or_default();
        format!("Pod {} failed: {reason} {said}", self.name()).trim_end().to_owned()
    }
}

/// Reasons that kubelets give when not the program but the node is to blame.
fn is_by_node(reason: &str) -> bool {
    matches!(
        reason,
        "Evicted"
            | "NodeLost"
            | "NodeShutdown"
            | "Terminated"
            | "Preempting"
            | "NodeAffinity"
            | "UnexpectedAdmissionError"
            | "TopologyAffinityError"
    ) || reason.starts_with("OutOf")
}

/// All Pods of a job, in the order of their names.
pub(crate) fn observe<'a>(spec: &AIJobSpec, pods: &'a [Pod]) -> Vec<Seen<'a>> {
    let mut all: Vec<Seen<'a>> = pods.iter().map(|pod| seen(spec, pod)).collect();
    all.sort_by(|one, other| (one.task, one.index, one.name()).cmp(&(other.task, other.index, other.name())));
    all
}

fn seen<'a>(spec: &AIJobSpec, pod: &'a Pod) -> Seen<'a> {
    let label = |name: &str| pod.metadata.labels.as_ref()?.get(name).map(String::as_str);
    let number = |name: &str| label(name).and_then(|text| text.parse().ok());
    let index: i32 = number(names::LABEL_INDEX).unwrap_or(-1);
    let task = label(names::LABEL_TASK)
        .and_then(|name| spec.tasks.iter().position(|task| task.name == name))
        .filter(|task| (0..spec.tasks[*task].replicas).contains(&index));
    let placed = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending");
    let state = match phase {
        "Running" => State::Running,
        // A program that saves its work and ends well because it was told to end has not done its work.
        "Succeeded" if told_to_end(pod) => State::Running,
        "Succeeded" => State::Succeeded,
        "Failed" => State::Failed,
        _ if placed => State::Starting,
        _ => State::Waiting,
    };
    let going = pod.metadata.deletion_timestamp.is_some();
    Seen { pod, task, index, attempt: number(names::LABEL_ATTEMPT).unwrap_or(0), state, going }
}

/// Whether the Pod was deleted before its containers had ended.
fn told_to_end(pod: &Pod) -> bool {
    let Some(deleted) = &pod.metadata.deletion_timestamp else { return false };
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
    let asked = deleted.0.saturating_sub(SignedDuration::from_secs(grace)).unwrap_or(deleted.0);
    let containers =
        pod.status.as_ref().and_then(|status| status.container_statuses.as_deref()).unwrap_or_default();
    let ends: Option<Vec<Timestamp>> = containers
        .iter()
        .map(|one| Some(one.state.as_ref()?.terminated.as_ref()?.finished_at.as_ref()?.0))
        .collect();
    ends.is_none_or(|ends| ends.is_empty() || ends.iter().any(|end| *end >= asked))
}

/// Pods of this attempt, of tasks that exist, that are not being replaced.
pub(crate) fn is_current(seen: &Seen<'_>, status: &AIJobStatus) -> bool {
    seen.task.is_some()
        && seen.attempt == status.attempt
        && !status.replaced.iter().any(|uid| uid == seen.uid())
}
