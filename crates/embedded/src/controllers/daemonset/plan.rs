//! One step of a DaemonSet: which nodes get a Pod, which Pods go, and how a new template spreads.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetStatus};
use k8s_openapi::api::core::v1::PodSpec;

use super::pods::{self, Fit};
use crate::controllers::base::count;
use crate::controllers::portion::{Round, portion};
use crate::controllers::view::{NodeView, PodView};

/// What there is.
#[derive(Debug)]
pub(crate) struct Observed<'a> {
    pub(crate) daemon: &'a DaemonSet,
    pub(crate) nodes: &'a [Arc<NodeView>],
    pub(crate) pods: &'a [Arc<PodView>],
    /// The hash of the present template.
    pub(crate) hash: &'a str,
    /// Nodes whose failed Pod may not be replaced yet.
    pub(crate) resting: &'a BTreeSet<String>,
    pub(crate) now: Timestamp,
}

/// What to do.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Plan {
    /// Nodes that get a Pod.
    pub(crate) create: Vec<String>,
    pub(crate) delete: Vec<Arc<PodView>>,
    /// Those among the deleted that had ended.
    pub(crate) ended: Vec<Arc<PodView>>,
}

type ByNode = BTreeMap<String, Vec<Arc<PodView>>>;

/// Plans one step.
pub(crate) fn plan(observed: &Observed<'_>) -> Plan {
    let step = Step::new(observed);
    let mut plan = Plan::default();
    for node in observed.nodes {
        step.keep_on_node(node, &mut plan);
    }
    plan.delete.extend(step.strays());
    let strategy = observed.daemon.spec.as_ref().and_then(|spec| spec.update_strategy.as_ref());
    let rolling = strategy.and_then(|strategy| strategy.type_.as_deref()) != Some("OnDelete");
    if rolling && plan.create.is_empty() && plan.delete.is_empty() {
        step.roll(&mut plan);
    }
    plan
}

struct Step<'a> {
    observed: &'a Observed<'a>,
    spec: PodSpec,
    by_node: ByNode,
    min_ready: i32,
    allows_surge: bool,
}

impl<'a> Step<'a> {
    fn new(observed: &'a Observed<'a>) -> Self {
        let min_ready = observed.daemon.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0);
        Self {
            observed,
            spec: pods::spec_of(observed.daemon),
            by_node: by_node(observed.pods),
            min_ready,
            allows_surge: surge(observed.daemon, 1) > 0,
        }
    }

    fn available(&self, pod: &PodView) -> bool {
        pod.is_available(self.min_ready, self.observed.now)
    }

    fn updated(&self, pod: &PodView) -> bool {
        pods::is_updated(self.observed.daemon, pod, self.observed.hash)
    }

    fn keep_on_node(&self, node: &NodeView, plan: &mut Plan) {
        let Fit { run, stay } = pods::fit(&self.spec, node);
        let Some(here) = self.by_node.get(node.name()) else {
            if run {
                plan.create.push(node.name().to_owned());
            }
            return;
        };
        if !stay {
            plan.delete.extend(here.iter().filter(|pod| !pod.is_deleting()).cloned());
            return;
        }
        let mut running: Vec<Arc<PodView>> = Vec::new();
        for pod in here.iter().filter(|pod| !pod.is_deleting()) {
            if !pod.is_terminal() {
                running.push(Arc::clone(pod));
            } else if pod.is_succeeded() || !self.observed.resting.contains(node.name()) {
                plan.delete.push(Arc::clone(pod));
                plan.ended.push(Arc::clone(pod));
            }
        }
        running.sort_by(oldest_first);
        if self.allows_surge {
            self.keep_two(&running, run, node.name(), plan);
        } else {
            plan.delete.extend(running.into_iter().skip(1));
        }
    }

    /// While surging a node may have an old and a new Pod, until the new one has taken over.
    fn keep_two(&self, running: &[Arc<PodView>], run: bool, node: &str, plan: &mut Plan) {
        if running.is_empty() && run {
            plan.create.push(node.to_owned());
        }
        if running.len() < 2 {
            return;
        }
        let (mut new, mut old): (Option<&Arc<PodView>>, Option<&Arc<PodView>>) = (None, None);
        for pod in running {
            let slot = if pod.label(pods::HASH_LABEL) == self.observed.hash { &mut new } else { &mut old };
            if slot.is_none() {
                *slot = Some(pod);
            } else {
                plan.delete.push(Arc::clone(pod));
            }
        }
        if let (Some(new), Some(old)) = (new, old)
            && (!old.is_ready() || self.available(new))
        {
            plan.delete.push(Arc::clone(old));
        }
    }

    /// Pods for nodes that are gone and that were never started there.
    fn strays(&self) -> Vec<Arc<PodView>> {
        let known: BTreeSet<&str> = self.observed.nodes.iter().map(|node| node.name()).collect();
        let gone = self.by_node.iter().filter(|(node, _)| !known.contains(node.as_str()));
        let waiting = |pod: &&Arc<PodView>| pod.spec.node_name.is_empty() && !pod.is_deleting();
        gone.flat_map(|(_, pods)| pods.iter().filter(waiting).cloned()).collect()
    }

    fn roll(&self, plan: &mut Plan) {
        let fits = |node: &NodeView| pods::fit(&self.spec, node).run;
        let mut by_node = self.by_node.clone();
        let mut desired = 0;
        for node in self.observed.nodes.iter().filter(|node| fits(node)) {
            desired += 1;
            by_node.entry(node.name().to_owned()).or_default();
        }
        let most_surge = surge(self.observed.daemon, desired);
        let mut most_unavailable = unavailable(self.observed.daemon, desired);
        if desired > 0 && most_surge == 0 && most_unavailable == 0 {
            most_unavailable = 1;
        }
        if most_surge == 0 {
            plan.delete = self.replace(&by_node, most_unavailable);
        } else {
            self.surge_on(&by_node, most_surge, plan);
        }
    }

    /// Deletes old Pods: those that are not available at once, others as far as may be missing.
    fn replace(&self, by_node: &ByNode, most_unavailable: i32) -> Vec<Arc<PodView>> {
        let (mut missing, mut free, mut candidates) = (0, Vec::new(), Vec::new());
        for pods in by_node.values() {
            match self.old_and_new(pods) {
                Some((Some(old), None)) if !self.available(old) => {
                    free.push(Arc::clone(old));
                    missing += 1;
                }
                Some((Some(old), None)) => candidates.push(Arc::clone(old)),
                Some((None, Some(new))) if self.available(new) => {}
                _ => missing += 1,
            }
        }
        let room = usize::try_from(most_unavailable - missing).unwrap_or(0);
        free.extend(candidates.into_iter().take(room));
        free
    }

    /// Makes new Pods beside old ones; where the old one is not available at once, elsewhere as far as may surge.
    fn surge_on(&self, by_node: &ByNode, most_surge: i32, plan: &mut Plan) {
        let (mut surging, mut free, mut candidates) = (0, Vec::new(), Vec::new());
        for (node, pods) in by_node {
            match self.old_and_new(pods) {
                Some((Some(old), None)) if !self.available(old) => free.push(node.clone()),
                Some((Some(_), None)) => candidates.push(node.clone()),
                Some((Some(old), Some(new))) if self.available(new) => plan.delete.push(Arc::clone(old)),
                Some((Some(_), Some(_))) | None => surging += 1,
                Some((None, _)) => {}
            }
        }
        let room = usize::try_from(most_surge - surging).unwrap_or(0);
        free.extend(candidates.into_iter().take(room));
        plan.create = free;
    }

    /// The old and the new Pod of a node; `None` if there are more.
    #[expect(clippy::type_complexity, reason = "two Pods that may each be absent, in one place")]
    fn old_and_new<'p>(
        &self,
        pods: &'p [Arc<PodView>],
    ) -> Option<(Option<&'p Arc<PodView>>, Option<&'p Arc<PodView>>)> {
        let (mut old, mut new) = (None, None);
        for pod in pods.iter().filter(|pod| !pod.is_deleting()) {
            let slot = if self.updated(pod) { &mut new } else { &mut old };
            if slot.replace(pod).is_some() {
                return None;
            }
        }
        Some((old, new))
    }
}

/// Pods by the node they are on or for. Those that have ended and are being deleted no longer count.
fn by_node(pods: &[Arc<PodView>]) -> ByNode {
    let mut by_node = ByNode::new();
    for pod in pods.iter().filter(|pod| !(pod.is_terminal() && pod.is_deleting())) {
        if let Some(node) = pod.target_node() {
            by_node.entry(node.to_owned()).or_default().push(Arc::clone(pod));
        }
    }
    by_node
}

fn oldest_first(one: &Arc<PodView>, other: &Arc<PodView>) -> std::cmp::Ordering {
    let key = |pod: &PodView| {
        (Reverse(!pod.spec.node_name.is_empty()), pod.metadata.creation_timestamp, pod.metadata.name.clone())
    };
    key(one).cmp(&key(other))
}

fn rolling(daemon: &DaemonSet) -> Option<&k8s_openapi::api::apps::v1::RollingUpdateDaemonSet> {
    daemon.spec.as_ref()?.update_strategy.as_ref()?.rolling_update.as_ref()
}

fn surge(daemon: &DaemonSet, desired: i32) -> i32 {
    let value = rolling(daemon).and_then(|rolling| rolling.max_surge.as_ref());
    value.and_then(|value| portion(value, desired, Round::Up)).unwrap_or(0)
}

fn unavailable(daemon: &DaemonSet, desired: i32) -> i32 {
    let value = rolling(daemon).and_then(|rolling| rolling.max_unavailable.as_ref());
    value.and_then(|value| portion(value, desired, Round::Up)).unwrap_or(1)
}

/// What a DaemonSet reports.
pub(crate) fn status(observed: &Observed<'_>) -> DaemonSetStatus {
    let step = Step::new(observed);
    let before = observed.daemon.status.clone().unwrap_or_default();
    let mut counted = DaemonSetStatus {
        observed_generation: observed.daemon.metadata.generation,
        collision_count: before.collision_count,
        conditions: before.conditions,
        ..DaemonSetStatus::default()
    };
    let (mut available, mut updated) = (0usize, 0usize);
    for node in observed.nodes {
        let run = pods::fit(&step.spec, node).run;
        let first =
            step.by_node.get(node.name()).and_then(|pods| pods.iter().min_by(|a, b| oldest_first(a, b)));
        counted.desired_number_scheduled += i32::from(run);
        let Some(pod) = first else { continue };
        if !run {
            counted.number_misscheduled += 1;
            continue;
        }
        counted.current_number_scheduled += 1;
        counted.number_ready += i32::from(pod.is_ready());
        available += usize::from(step.available(pod));
        updated += usize::from(step.updated(pod));
    }
    counted.number_available = count(available);
    counted.updated_number_scheduled = count(updated);
    let missing = counted.desired_number_scheduled - counted.number_available.unwrap_or(0);
    counted.number_unavailable = Some(missing).filter(|missing| *missing != 0);
    counted
}
