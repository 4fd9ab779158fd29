//! What to do next with a workspace.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::Time};
use maar_api::{
    names,
    v1alpha1::{
        StopStatus, Workspace, WorkspacePhase, WorkspaceState, WorkspaceStatus, condition_types, reasons,
    },
};

use super::render;
use crate::cleanup::{ANNOTATION_SUSPENDED_BY, is_fresh, suspended_by};
use crate::status::{Say, set_condition, whole};

/// Seconds before a Pod is made again that has ended at once: a node that refuses it would refuse it for ever.
const PAUSE: i64 = 10;
/// Seconds after which a run was one.
const A_WHILE: i64 = 600;

/// What is known of a workspace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) pod: Option<&'a Pod>,
    pub(crate) now: Timestamp,
}

/// What the Pod is to be told.
#[derive(Debug, Clone, Default)]
pub(crate) enum Notice {
    /// Nothing.
    #[default]
    None,
    /// It will be stopped.
    Give(StopStatus),
    /// It will not be stopped after all.
    TakeBack,
}

/// What to write: first the status, then the rest.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    pub(crate) status: WorkspaceStatus,
    /// Volumes, Service and secret must be there.
    pub(crate) objects: bool,
    pub(crate) create: Option<Pod>,
    pub(crate) delete: bool,
    pub(crate) notice: Notice,
    /// It has run long enough: `state` becomes `Suspended`, for this reason.
    pub(crate) suspend: Option<&'static str>,
    /// It goes on, so nothing has suspended it any more.
    pub(crate) forget_cause: bool,
    pub(crate) again: Option<Duration>,
}

impl Plan {
    fn look_again(&mut self, wait: SignedDuration) {
        let wait = Duration::from_secs(u64::try_from(wait.as_secs()).unwrap_or(0) + 1);
        self.again = Some(self.again.map_or(wait, |again| again.min(wait)));
    }

    fn say(&mut self, phase: WorkspacePhase, reason: &str, message: &str) {
        self.status.phase = phase;
        self.status.reason = Some(reason.to_owned());
        self.status.message = Some(message.to_owned());
    }
}

pub(crate) fn plan(view: &View<'_>) -> Plan {
    let before = view.workspace.status.clone().unwrap_or_default();
    let mut plan = Plan { status: before.clone(), ..Plan::default() };
    plan.status.observed_generation = view.workspace.metadata.generation;
    match view.workspace.spec.state {
        WorkspaceState::Suspended => suspended(view, &mut plan),
        WorkspaceState::Running => running(view, &mut plan),
    }
    if view.workspace.spec.state == WorkspaceState::Running
        && let Some(told) = plan.status.cleanup.as_ref()
        && is_fresh(Some(told), view.workspace.metadata.generation)
    {
        plan.suspend = Some(told.rule.reason());
        plan.create = None;
        plan.objects = false;
    }
    plan.forget_cause = view.workspace.spec.state == WorkspaceState::Running
        && plan.suspend.is_none()
        && cause(view).is_some();
    let placed = view.pod.filter(|_| plan.status.phase != WorkspacePhase::Suspended);
    plan.status.pod = placed.and_then(|pod| pod.metadata.name.clone());
    plan.status.node = placed.and_then(|pod| pod.spec.as_ref()?.node_name.clone());
    plan.status.cards = placed.and_then(|pod| annotation(pod, names::ANNOTATION_CARDS)).map(str::to_owned);
    plan.status.service = render::service(view.workspace).and_then(|service| service.metadata.name);
    if plan.status.phase != before.phase || plan.status.last_transition_time.is_none() {
        plan.status.last_transition_time = Some(Time(whole(view.now)));
    }
    let reason = plan.status.reason.clone().unwrap_or_default();
    let message = plan.status.message.clone().unwrap_or_default();
    let holds = plan.status.phase == WorkspacePhase::Running;
    let say = Say { kind: condition_types::READY, holds, reason: &reason, message: &message };
    set_condition(&mut plan.status.conditions, view.workspace.metadata.generation, view.now, &say);
    plan
}

fn annotation<'a>(pod: &'a Pod, name: &str) -> Option<&'a str> {
    pod.metadata.annotations.as_ref()?.get(name).map(String::as_str)
}

fn is_going(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// What suspended it, if not its owner: a reason, and the same in words. It stands beside the wish for as long as it is
/// suspended.
fn cause(view: &View<'_>) -> Option<(String, String)> {
    let told = view.workspace.metadata.annotations.as_ref()?.get(ANNOTATION_SUSPENDED_BY)?;
    Some((told.clone(), suspended_by(told)?))
}

fn suspended(view: &View<'_>, plan: &mut Plan) {
    let cause = cause(view);
    let reason = cause.as_ref().map_or(reasons::SUSPENDED, |(reason, _)| reason);
    plan.status.retry_time = None;
    let Some(pod) = view.pod else {
        plan.status.stop = None;
        plan.status.start_time = None;
        let why = cause.as_ref().map(|(_, why)| format!("{why}; ")).unwrap_or_default();
        let message = format!("{why}its volumes stay; set state to Running to go on");
        plan.say(WorkspacePhase::Suspended, reason, &message);
        return;
    };
    let notice = view.workspace.spec.stop.clone().unwrap_or_default().notice();
    let at = view.now.saturating_add(SignedDuration::from_secs(notice)).unwrap_or(view.now);
    let usual = StopStatus { reason: reason.to_owned(), at: Time(whole(at)) };
    let stop = plan.status.stop.clone().unwrap_or(usual);
    let wait = stop.at.0.duration_since(view.now);
    if is_going(pod) {
        // Nothing to do but wait.
    } else if wait.is_positive() {
        if annotation(pod, names::ANNOTATION_STOP_AT) != Some(stop.at.0.to_string().as_str()) {
            plan.notice = Notice::Give(stop.clone());
        }
        plan.look_again(wait);
    } else {
        plan.delete = true;
    }
    plan.status.stop = Some(stop);
    plan.say(WorkspacePhase::Stopping, reason, "its Pod is being stopped");
}

fn running(view: &View<'_>, plan: &mut Plan) {
    plan.status.stop = None;
    let Some(pod) = view.pod else {
        let wait = plan.status.retry_time.as_ref().map(|time| time.0.duration_since(view.now));
        if let Some(wait) = wait.filter(SignedDuration::is_positive) {
            return plan.look_again(wait);
        }
        plan.status.retry_time = None;
        plan.objects = true;
        plan.create = Some(render::pod(view.workspace, plan.status.restarts));
        plan.status.start_time = None;
        plan.say(WorkspacePhase::Pending, reasons::CREATING, "its Pod is being made");
        return;
    };
    let attempt = pod.metadata.labels.as_ref().and_then(|labels| labels.get(names::LABEL_ATTEMPT));
    let stale = attempt.and_then(|text| text.parse::<i32>().ok()).is_none_or(|of| of < plan.status.restarts);
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending");
    let ended = matches!(phase, "Failed" | "Succeeded");
    if !stale && (ended || is_going(pod)) {
        plan.status.restarts += 1;
        let ran = plan.status.start_time.as_ref().map(|since| view.now.duration_since(since.0).as_secs());
        // Who takes one away again and again is not to be slowed down from here.
        let at_once = ended && !is_going(pod) && ran.is_none_or(|seconds| seconds < A_WHILE);
        let next = view.now.saturating_add(SignedDuration::from_secs(PAUSE)).unwrap_or(view.now);
        plan.status.retry_time = at_once.then(|| Time(whole(next)));
    }
    if stale || ended || is_going(pod) {
        plan.delete = !is_going(pod);
        plan.status.start_time = None;
        let message = "its Pod was taken away or ended; another is made";
        return plan.say(WorkspacePhase::Pending, reasons::POD_LOST, message);
    }
    // Notices of others, such as the scheduler, are not ours to take back.
    let told = annotation(pod, names::ANNOTATION_STOP_REASON);
    if told.is_some_and(|told| told == reasons::SUSPENDED || suspended_by(told).is_some()) {
        plan.notice = Notice::TakeBack;
    }
    let placed = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    match (phase, placed) {
        ("Running", _) => is_running(view, plan),
        (_, true) => plan.say(WorkspacePhase::Starting, reasons::STARTING, "its Pod is starting"),
        (_, false) => {
            plan.say(WorkspacePhase::Pending, reasons::WAITING_FOR_NODES, "its Pod waits for a node");
        }
    }
}

fn is_running(view: &View<'_>, plan: &mut Plan) {
    plan.say(WorkspacePhase::Running, reasons::AS_ASKED, "it can be used");
    let since = plan.status.start_time.get_or_insert(Time(whole(view.now))).0;
    let Some(longest) = view.workspace.spec.max_run_seconds else { return };
    let protected = view.workspace.spec.protected_until.as_ref().map_or(since, |time| time.0);
    let end = since.saturating_add(SignedDuration::from_secs(longest)).unwrap_or(since).max(protected);
    let left = end.duration_since(view.now);
    if left.is_positive() {
        plan.look_again(left);
    } else {
        plan.suspend = Some(reasons::MAX_RUN_TIME);
    }
}
