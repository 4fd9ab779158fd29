//! One step of a Deployment: which ReplicaSets to make, resize or remove.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};

use super::sets::{self, Bounds, annotation, available, wanted};

/// What there is.
#[derive(Debug)]
pub(crate) struct Observed<'a> {
    pub(crate) deployment: &'a Deployment,
    pub(crate) sets: Vec<ReplicaSet>,
    /// Whether Pods of earlier templates still run; asked only for the Recreate strategy.
    pub(crate) old_pods_run: bool,
}

/// What to do, and the ReplicaSets as they will be then.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// All ReplicaSets, changed as planned; the one to be made last.
    pub(crate) sets: Vec<ReplicaSet>,
    /// Which of them is for the present template.
    pub(crate) new: Option<usize>,
    /// Whether that one is yet to be made.
    pub(crate) create: bool,
    /// Names of those to remove.
    pub(crate) remove: Vec<String>,
    /// Whether this step belongs to a rollout, whose progress is judged, or only adjusts sizes.
    pub(crate) rollout: bool,
}

impl Plan {
    pub(crate) fn new_set(&self) -> Option<&ReplicaSet> {
        self.new.map(|index| &self.sets[index])
    }
}

/// Plans one step.
pub(crate) fn plan(observed: Observed<'_>) -> Plan {
    let Observed { deployment, mut sets, old_pods_run } = observed;
    sets.sort_by(sets::by_age);
    let mut step =
        Step { deployment, bounds: Bounds::of(deployment), plan: Plan { sets, ..Plan::default() } };
    step.find_new();
    if deployment.metadata.deletion_timestamp.is_some() {
        return step.plan;
    }
    let paused = deployment.spec.as_ref().and_then(|spec| spec.paused).unwrap_or(false);
    if paused || step.is_scaling() {
        step.scale();
        if paused {
            step.clean_up();
        }
        return step.plan;
    }
    step.plan.rollout = true;
    if step.bounds.rolling {
        step.roll();
    } else {
        step.recreate(old_pods_run);
    }
    step.plan
}

struct Step<'a> {
    deployment: &'a Deployment,
    bounds: Bounds,
    plan: Plan,
}

impl Step<'_> {
    fn next_revision(&self) -> i64 {
        let old = (0..self.plan.sets.len()).filter(|index| Some(*index) != self.plan.new);
        old.map(|index| sets::revision(&self.plan.sets[index])).max().unwrap_or(0).saturating_add(1)
    }

    /// Finds the ReplicaSet of the present template and brings its annotations up to date.
    fn find_new(&mut self) {
        let Some(spec) = &self.deployment.spec else { return };
        let is_new = |set: &ReplicaSet| {
            let template = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
            template.is_some_and(|template| sets::same_template(template, &spec.template))
        };
        self.plan.new = self.plan.sets.iter().position(is_new);
        let Some(index) = self.plan.new else { return };
        let revision = self.next_revision();
        let set = &mut self.plan.sets[index];
        sets::annotate_new(self.deployment, set, revision);
        if let Some(set_spec) = &mut set.spec
            && set_spec.min_ready_seconds.unwrap_or(0) != spec.min_ready_seconds.unwrap_or(0)
        {
            set_spec.min_ready_seconds = spec.min_ready_seconds;
        }
    }

    fn create_new(&mut self) -> usize {
        if let Some(index) = self.plan.new {
            return index;
        }
        let mut set = sets::make(self.deployment, self.next_revision());
        let replicas = if self.bounds.rolling { self.room_for_new(0) } else { self.bounds.desired };
        if let Some(spec) = &mut set.spec {
            spec.replicas = Some(replicas);
        }
        self.plan.sets.push(set);
        self.plan.create = true;
        let index = self.plan.sets.len() - 1;
        self.plan.new = Some(index);
        index
    }

    /// How large the new ReplicaSet may become, now being `size`.
    fn room_for_new(&self, size: i32) -> i32 {
        let room = self.bounds.most() - self.total();
        if room <= 0 { size } else { size + room.min(self.bounds.desired - size) }
    }

    fn total(&self) -> i32 {
        sets::sum(&self.plan.sets, wanted)
    }

    fn resize(&mut self, index: usize, size: i32) -> bool {
        let bounds = self.bounds;
        let set = &mut self.plan.sets[index];
        if wanted(set) == size {
            return false;
        }
        if let Some(spec) = &mut set.spec {
            spec.replicas = Some(size);
        }
        sets::annotate_size(set, bounds);
        true
    }

    /// Old ReplicaSets that should have Pods, oldest first.
    fn active_old(&self) -> Vec<usize> {
        let indexes = 0..self.plan.sets.len();
        indexes.filter(|index| Some(*index) != self.plan.new && wanted(&self.plan.sets[*index]) > 0).collect()
    }

    fn active(&self) -> Vec<usize> {
        (0..self.plan.sets.len()).filter(|index| wanted(&self.plan.sets[*index]) > 0).collect()
    }

    /// Whether the Deployment's size was changed since its ReplicaSets were last resized.
    fn is_scaling(&self) -> bool {
        self.active().into_iter().any(|index| {
            let desired = annotation(&self.plan.sets[index].metadata, sets::DESIRED_REPLICAS);
            desired
                .and_then(|text| text.parse::<i32>().ok())
                .is_some_and(|desired| desired != self.bounds.desired)
        })
    }

    fn roll(&mut self) {
        let new = self.create_new();
        let size = wanted(&self.plan.sets[new]);
        let target = if size > self.bounds.desired { self.bounds.desired } else { self.room_for_new(size) };
        if size != self.bounds.desired && self.resize(new, target) {
            return;
        }
        if !self.shrink_old(new) && self.is_complete() {
            self.clean_up();
        }
    }

    fn recreate(&mut self, old_pods_run: bool) {
        let mut shrunk = false;
        for index in self.active_old() {
            shrunk |= self.resize(index, 0);
        }
        let old = |index: &usize| Some(*index) != self.plan.new;
        let counted =
            (0..self.plan.sets.len()).filter(old).any(|index| sets::actual(&self.plan.sets[index]) > 0);
        if shrunk || counted || old_pods_run {
            return;
        }
        let new = self.create_new();
        let desired = self.bounds.desired;
        self.resize(new, desired);
        if self.is_complete() {
            self.clean_up();
        }
    }

    /// Takes from old ReplicaSets what may be unavailable; first what is unavailable anyway.
    fn shrink_old(&mut self, new: usize) -> bool {
        let old = self.active_old();
        if old.is_empty() {
            return false;
        }
        let new_unavailable = wanted(&self.plan.sets[new]) - available(&self.plan.sets[new]);
        let spare = (self.total() - self.bounds.least_available()).saturating_sub(new_unavailable);
        if spare <= 0 {
            return false;
        }
        let mut removed = 0;
        for &index in &old {
            let set = &self.plan.sets[index];
            let unhealthy = wanted(set) - available(set);
            let take = unhealthy.min(spare - removed);
            if take > 0 {
                let size = wanted(set) - take;
                self.resize(index, size);
                removed += take;
            }
        }
        let mut healthy_spare = sets::sum(&self.plan.sets, available) - self.bounds.least_available();
        for &index in &old {
            let size = wanted(&self.plan.sets[index]);
            let take = size.min(healthy_spare);
            if take > 0 {
                self.resize(index, size - take);
                healthy_spare -= take;
                removed += take;
            }
        }
        removed > 0
    }

    /// Spreads a change of size over the ReplicaSets in proportion, so that a half-finished rollout stays half
    /// finished.
    fn scale(&mut self) {
        let active = self.active();
        if let Some(only) = self.only_candidate(&active) {
            let desired = self.bounds.desired;
            self.resize(only, desired);
            return;
        }
        let Some(new) = self.plan.new else { return self.scale_in_proportion(active) };
        if self.is_saturated(new) {
            for index in self.active_old() {
                self.resize(index, 0);
            }
            return;
        }
        self.scale_in_proportion(active);
    }

    /// The one ReplicaSet there is to scale, if there is no choice.
    fn only_candidate(&self, active: &[usize]) -> Option<usize> {
        match active {
            [] => self.plan.new.or_else(|| self.plan.sets.len().checked_sub(1)),
            [only] => Some(*only),
            _ => None,
        }
    }

    fn is_saturated(&self, new: usize) -> bool {
        let (set, desired) = (&self.plan.sets[new], self.bounds.desired);
        let recorded = annotation(&set.metadata, sets::DESIRED_REPLICAS).and_then(|text| text.parse().ok());
        wanted(set) == desired && recorded == Some(desired) && available(set) == desired
    }

    fn scale_in_proportion(&mut self, mut active: Vec<usize>) {
        if !self.bounds.rolling {
            return;
        }
        let allowed = if self.bounds.desired > 0 { self.bounds.most() } else { 0 };
        let to_add = allowed - sets::sum(active.iter().map(|index| &self.plan.sets[*index]), wanted);
        // Largest first; among equals the newer grow first and the older shrink first.
        active.sort_by_key(|&index| {
            let age = i64::try_from(index).unwrap_or(0);
            (-wanted(&self.plan.sets[index]), if to_add > 0 { -age } else { age })
        });
        let mut added = 0;
        let mut sizes = Vec::with_capacity(active.len());
        for &index in &active {
            let share = self.share(index, to_add, added);
            sizes.push(wanted(&self.plan.sets[index]) + share);
            added += share;
        }
        if let Some(first) = sizes.first_mut() {
            *first = first.saturating_add(to_add - added).max(0);
        }
        for (index, size) in active.into_iter().zip(sizes) {
            self.resize(index, size);
            // Also those that keep their size belong to the new total from now on.
            sets::annotate_size(&mut self.plan.sets[index], self.bounds);
        }
    }

    /// What one ReplicaSet gets of the change, in proportion to its part of the earlier total.
    fn share(&self, index: usize, to_add: i32, added: i32) -> i32 {
        let set = &self.plan.sets[index];
        if to_add == 0 || to_add == added {
            return 0;
        }
        let fraction = self.fraction(set);
        let allowed = to_add - added;
        if to_add > 0 { fraction.min(allowed) } else { fraction.max(allowed) }
    }

    fn fraction(&self, set: &ReplicaSet) -> i32 {
        if self.bounds.desired == 0 {
            return -wanted(set);
        }
        let recorded =
            annotation(&set.metadata, sets::MAX_REPLICAS).and_then(|text| text.parse::<i64>().ok());
        let current = self.deployment.status.as_ref().and_then(|status| status.replicas).unwrap_or(0);
        let before = recorded.filter(|most| *most > 0).unwrap_or(i64::from(current));
        if before == 0 {
            return 0;
        }
        let before = i128::from(before);
        let product = i128::from(wanted(set)) * i128::from(self.bounds.most());
        let rounded = (product * 2 + before).div_euclid(before * 2);
        i32::try_from(rounded).unwrap_or(i32::MAX) - wanted(set)
    }

    /// Whether the rollout was complete when its status was last written.
    fn is_complete(&self) -> bool {
        let status = self.deployment.status.clone().unwrap_or_default();
        super::status::is_complete(self.deployment, &status)
    }

    /// Removes the oldest ReplicaSets beyond what history asks for.
    fn clean_up(&mut self) {
        let limit = self.deployment.spec.as_ref().and_then(|spec| spec.revision_history_limit);
        let Some(limit) = limit.filter(|limit| *limit != i32::MAX) else { return };
        let old = (0..self.plan.sets.len()).filter(|index| Some(*index) != self.plan.new);
        let mut old: Vec<&ReplicaSet> = old
            .map(|index| &self.plan.sets[index])
            .filter(|set| set.metadata.deletion_timestamp.is_none())
            .collect();
        old.sort_by_key(|set| sets::revision(set));
        let surplus = old.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        let idle = |set: &&&ReplicaSet| {
            let observed = set.status.as_ref().and_then(|status| status.observed_generation);
            wanted(set) == 0 && sets::actual(set) == 0 && observed >= set.metadata.generation
        };
        let removed = old.iter().take(surplus).filter(idle).map(|set| sets::name(set).to_owned()).collect();
        self.plan.remove = removed;
    }
}
