//! How many Pods a Job wants, and which go or come.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;

use super::super::failure::{self, finished_at, waits_for_failure};
use super::super::indexes::{Indexes, index_of};
use super::super::pods;
use super::{BURST, Creation, Step};
use crate::controllers::view::PodView;

impl Step<'_> {
    pub(super) fn wanted_active(&self) -> usize {
        let parallelism = self.spec.parallelism.unwrap_or(1);
        let wanted = match self.completions {
            None if self.succeeded > 0 => return self.active.len(),
            None => parallelism,
            Some(completions) => (completions - self.succeeded).clamp(0, parallelism),
        };
        usize::try_from(wanted).unwrap_or(0)
    }

    pub(super) fn manage(&mut self) {
        let surplus = if self.is_suspended() {
            self.active.clone()
        } else {
            let wanted = self.wanted_active();
            self.surplus(self.active.len().saturating_sub(wanted))
        };
        if !surplus.is_empty() {
            self.remove(surplus);
            return;
        }
        if self.is_suspended() {
            return;
        }
        let replacing = if waits_for_failure(self.observed.job) { self.terminating } else { 0 };
        let missing = self.wanted_active().saturating_sub(replacing + self.active.len());
        if missing > 0 {
            self.add(missing.min(BURST));
        }
    }

    pub(super) fn remove(&mut self, mut surplus: Vec<Arc<PodView>>) {
        surplus.truncate(BURST);
        self.active_after -= surplus.len();
        self.terminating += surplus.len();
        self.ready -= surplus.iter().filter(|pod| pod.is_ready()).count();
        self.plan.delete = surplus;
        self.plan.uncounted_deletes = true;
    }

    /// Pods to remove: those with an index that is taken or too high, and as many as asked for.
    pub(super) fn surplus(&self, at_least: usize) -> Vec<Arc<PodView>> {
        let mut active = self.active.clone();
        active.sort_by_key(|pod| (!pod.spec.node_name.is_empty(), pod.is_ready(), pod.metadata.name.clone()));
        let mut surplus = Vec::new();
        if self.is_indexed() {
            let mut taken = Indexes::new();
            // The Pod that got furthest keeps its index.
            for pod in active.iter().rev() {
                if !self.has_valid_index(pod) || index_of(pod).is_none_or(|index| !taken.insert(index)) {
                    surplus.push(Arc::clone(pod));
                }
            }
            active.retain(|pod| !surplus.iter().any(|gone| gone.metadata.uid == pod.metadata.uid));
        }
        let more = at_least.saturating_sub(surplus.len());
        surplus.extend(active.into_iter().take(more));
        surplus
    }

    pub(super) fn add(&mut self, missing: usize) {
        let now = self.observed.now;
        if self.spec.backoff_limit_per_index.is_none() {
            let wait = self.plan.backoff.remaining(now);
            if wait > SignedDuration::ZERO {
                self.look_again(wait);
                return;
            }
        }
        let creations: Vec<Creation> =
            if self.is_indexed() { self.add_indexes(missing) } else { vec![Creation::default(); missing] };
        self.active_after += creations.len();
        self.plan.create = creations;
    }

    pub(super) fn add_indexes(&mut self, missing: usize) -> Vec<Creation> {
        let mut busy: Indexes = self.active.iter().filter_map(|pod| index_of(pod)).collect();
        busy.extend(self.succeeded_indexes.iter().flatten());
        busy.extend(self.failed_indexes.iter().flatten());
        if waits_for_failure(self.observed.job) {
            let terminating = self.observed.pods.iter().filter(|pod| pod.is_terminating());
            busy.extend(terminating.filter_map(|pod| index_of(pod)));
        }
        let free = (0..self.completions.unwrap_or(0)).filter(|index| !busy.contains(index)).take(missing);
        let (mut creations, mut shortest) = (Vec::new(), None);
        for index in free {
            let replaces = self.delayed.get(&index).cloned();
            let wait = replaces.as_ref().map_or(SignedDuration::ZERO, |pod| {
                let failures = u32::try_from(pods::all_failures_before(pod)).unwrap_or(0).saturating_add(1);
                failure::remaining(failures, finished_at(pod), self.observed.now)
            });
            if wait > SignedDuration::ZERO {
                shortest = Some(shortest.map_or(wait, |known: SignedDuration| known.min(wait)));
            } else {
                creations.push(Creation { index: Some(index), replaces });
            }
        }
        if let Some(wait) = shortest {
            self.look_again(wait);
        }
        creations
    }

    pub(super) fn look_again(&mut self, wait: SignedDuration) {
        let wait = Duration::try_from(wait).unwrap_or_default();
        self.plan.again = Some(self.plan.again.map_or(wait, |known| known.min(wait)));
    }
}
