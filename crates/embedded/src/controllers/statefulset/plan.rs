//! One step of a StatefulSet: Pods in the order of their numbers, one at a time or all at once.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetStatus};

use super::identity::{self, REVISION_LABEL};
use crate::controllers::base::count;
use crate::controllers::view::PodView;

/// The most Pods made in one go.
const BURST: usize = 500;

/// What there is.
#[derive(Debug)]
pub(crate) struct Observed<'a> {
    pub(crate) set: &'a StatefulSet,
    pub(crate) pods: &'a [Arc<PodView>],
    /// Name of the revision Pods are moving away from.
    pub(crate) current: &'a str,
    /// Name of the revision of the present template.
    pub(crate) update: &'a str,
    pub(crate) now: Timestamp,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Make the Pod of this number, of the old or the new template.
    Create {
        ordinal: i64,
        updated: bool,
    },
    /// Make the claims of a Pod that waits for them.
    MakeClaims {
        ordinal: i64,
    },
    /// Bring labels and the ownership of claims in order.
    Fix(Arc<PodView>),
    Delete(Arc<PodView>),
}

/// What to do now, in order.
pub(crate) fn plan(observed: &Observed<'_>) -> Vec<Action> {
    if observed.set.metadata.deletion_timestamp.is_some() {
        return Vec::new();
    }
    let mut step = Step::new(observed);
    if step.keep_replicas() && step.remove_condemned() {
        step.update_one();
    }
    step.actions
}

struct Step<'a> {
    observed: &'a Observed<'a>,
    range: Range<i64>,
    /// The Pods that are there of those in the range.
    replicas: BTreeMap<i64, Arc<PodView>>,
    /// Pods beyond the range, highest number first.
    condemned: Vec<Arc<PodView>>,
    one_by_one: bool,
    min_ready: i32,
    actions: Vec<Action>,
}

impl<'a> Step<'a> {
    fn new(observed: &'a Observed<'a>) -> Self {
        let spec = observed.set.spec.clone().unwrap_or_default();
        let range = identity::range(observed.set);
        let numbered =
            observed.pods.iter().filter_map(|pod| Some((identity::ordinal(pod)?, Arc::clone(pod))));
        let numbered: BTreeMap<i64, Arc<PodView>> = numbered.collect();
        let (replicas, outside): (BTreeMap<_, _>, BTreeMap<_, _>) =
            numbered.into_iter().partition(|(number, _)| range.contains(number));
        Self {
            observed,
            range,
            replicas,
            condemned: outside.into_values().rev().collect(),
            one_by_one: spec.pod_management_policy.as_deref() != Some("Parallel"),
            min_ready: spec.min_ready_seconds.unwrap_or(0),
            actions: Vec::new(),
        }
    }

    fn is_unavailable(&self, pod: &PodView) -> bool {
        !pod.is_available(self.min_ready, self.observed.now) || pod.is_deleting()
    }

    /// Makes what is missing and replaces what has ended. Whether one may go on to remove and update.
    fn keep_replicas(&mut self) -> bool {
        let mut made = 0;
        for number in self.range.clone() {
            let waits = match self.replicas.get(&number).cloned() {
                // Those follow when the ones made now are seen.
                None if made == BURST => break,
                None => {
                    let updated = self.starts_updated(number);
                    self.actions.push(Action::Create { ordinal: number, updated });
                    made += 1;
                    true
                }
                Some(pod) => self.keep_replica(number, &pod),
            };
            if waits && self.one_by_one {
                return false;
            }
        }
        true
    }

    /// Whether the following Pods have to wait for this one.
    fn keep_replica(&mut self, number: i64, pod: &Arc<PodView>) -> bool {
        if pod.is_terminal() {
            if !pod.is_deleting() {
                self.actions.push(Action::Delete(Arc::clone(pod)));
            }
            return true;
        }
        if pod.status.phase == "Pending" {
            self.actions.push(Action::MakeClaims { ordinal: number });
        }
        let running = pod.status.phase == "Running";
        if self.one_by_one && (!running || self.is_unavailable(pod)) {
            return true;
        }
        self.actions.push(Action::Fix(Arc::clone(pod)));
        false
    }

    /// Whether a Pod that is made now gets the present template.
    fn starts_updated(&self, number: i64) -> bool {
        let spec = self.observed.set.spec.as_ref();
        let strategy = spec.and_then(|spec| spec.update_strategy.clone()).unwrap_or_default();
        let from = |offset: Option<i32>| self.range.start + i64::from(offset.unwrap_or(0));
        match strategy.rolling_update {
            Some(rolling) => number >= from(rolling.partition),
            None if strategy.type_.as_deref() == Some("OnDelete") => true,
            None => {
                let status = self.observed.set.status.as_ref();
                number >= from(status.and_then(|status| status.current_replicas))
            }
        }
    }

    fn remove_condemned(&mut self) -> bool {
        for pod in &self.condemned {
            self.actions.push(Action::Fix(Arc::clone(pod)));
        }
        let first_unhealthy = self.first_unhealthy();
        for pod in self.condemned.clone() {
            if pod.is_deleting() {
                if self.one_by_one {
                    return false;
                }
                continue;
            }
            let healthy =
                pod.status.phase == "Running" && pod.is_available(self.min_ready, self.observed.now);
            let is_first = first_unhealthy.as_deref() == Some(pod.name());
            if self.one_by_one && !healthy && !is_first {
                return false;
            }
            self.actions.push(Action::Delete(pod));
            if self.one_by_one {
                return false;
            }
        }
        true
    }

    /// The unhealthy Pod of the lowest number: removing that one cannot make things worse.
    fn first_unhealthy(&self) -> Option<String> {
        let all = self.replicas.values().chain(self.condemned.iter().rev());
        all.into_iter().find(|pod| self.is_unavailable(pod)).map(|pod| pod.name().to_owned())
    }

    /// Replaces the Pod of the highest number that is out of date, if all above it are fine.
    fn update_one(&mut self) {
        let spec = self.observed.set.spec.as_ref();
        let strategy = spec.and_then(|spec| spec.update_strategy.clone()).unwrap_or_default();
        if strategy.type_.as_deref() == Some("OnDelete") {
            return;
        }
        let partition = strategy.rolling_update.and_then(|rolling| rolling.partition).unwrap_or(0);
        for number in (self.range.start + i64::from(partition)..self.range.end).rev() {
            let Some(pod) = self.replicas.get(&number) else { return };
            if pod.label(REVISION_LABEL) != self.observed.update && !pod.is_deleting() {
                self.actions.push(Action::Delete(Arc::clone(pod)));
                return;
            }
            if self.is_unavailable(pod) {
                return;
            }
        }
    }
}

/// What a StatefulSet reports about its Pods.
pub(crate) fn status(observed: &Observed<'_>, collisions: i32) -> StatefulSetStatus {
    let spec = observed.set.spec.clone().unwrap_or_default();
    let min_ready = spec.min_ready_seconds.unwrap_or(0);
    let counted = |test: &dyn Fn(&PodView) -> bool| {
        let pods = observed.pods.iter().filter(|pod| identity::ordinal(pod).is_some());
        pods.filter(|pod| !pod.status.phase.is_empty() && test(pod)).count()
    };
    let of =
        |revision: &str| count(counted(&|pod| !pod.is_deleting() && pod.label(REVISION_LABEL) == revision));
    let running_and_ready = |pod: &PodView| pod.status.phase == "Running" && pod.is_ready();
    let available = counted(&|pod| running_and_ready(pod) && pod.is_available(min_ready, observed.now));
    let mut status = StatefulSetStatus {
        replicas: count(counted(&|_| true)).unwrap_or(0),
        ready_replicas: count(counted(&running_and_ready)),
        available_replicas: Some(count(available).unwrap_or(0)),
        current_replicas: of(observed.current),
        updated_replicas: of(observed.update),
        current_revision: Some(observed.current.to_owned()),
        update_revision: Some(observed.update.to_owned()),
        observed_generation: observed.set.metadata.generation,
        collision_count: Some(collisions),
        conditions: observed.set.status.clone().and_then(|status| status.conditions),
    };
    let rolling = spec.update_strategy.and_then(|strategy| strategy.type_).as_deref() != Some("OnDelete");
    let desired = spec.replicas.unwrap_or(1);
    let all = |count: Option<i32>| count.unwrap_or(0) == desired;
    if rolling && all(status.updated_replicas) && all(status.ready_replicas) && status.replicas == desired {
        status.current_replicas = status.updated_replicas;
        status.current_revision.clone_from(&status.update_revision);
    }
    status
}
