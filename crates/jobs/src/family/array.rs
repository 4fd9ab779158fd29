//! One job per index.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use maar_api::{
    names,
    v1alpha1::{AIJob, AIJobStatus, ArrayStatus, JobPhase, reasons},
};

use super::{FamilyPlan, FamilyView, child, expire, is_over};
use crate::status::whole;

/// An array has at most this many indices.
const MOST: usize = 10_000;

/// The numbers of `0-9,12,20-40:5`, ascending, each once.
pub(crate) fn indices(text: &str) -> Result<Vec<u32>, String> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last, step) =
            range(part).ok_or_else(|| format!("{part:?} is not an index or a range"))?;
        if first > last || step == 0 {
            return Err(format!("the range {part} is empty"));
        }
        if usize::try_from((last - first) / step).unwrap_or(usize::MAX) >= MOST {
            return Err(format!("the range {part} has more than {MOST} indices"));
        }
        all.extend((first..=last).step_by(usize::try_from(step).unwrap_or(usize::MAX)));
    }
    all.sort_unstable();
    all.dedup();
    if all.len() > MOST { Err(format!("more than {MOST} indices")) } else { Ok(all) }
}

fn range(part: &str) -> Option<(u32, u32, u32)> {
    let (ends, step) = part.split_once(':').map_or((part, Some(1)), |(ends, step)| (ends, step.parse().ok()));
    let (first, last) = ends.split_once('-').unwrap_or((ends, ends));
    Some((first.parse().ok()?, last.parse().ok()?, step?))
}

/// Ascending numbers as [`indices`] reads them: `0-9,12`.
pub(crate) fn in_words(indices: impl IntoIterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for index in indices {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(index) => *last = index,
            _ => runs.push((index, index)),
        }
    }
    let words = runs
        .into_iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") });
    words.collect::<Vec<_>>().join(",")
}

/// What is known of the indices that are wanted, from children and from what was written down of those that are gone. A
/// child is written down when it is seen, not when it is made: nobody knows what became of a write that failed.
#[derive(Debug, Default)]
struct Books {
    started: BTreeSet<u32>,
    completed: BTreeSet<u32>,
    failed: BTreeSet<u32>,
}

impl Books {
    fn read(status: &AIJobStatus, wanted: &BTreeSet<u32>) -> Self {
        let array = status.array.clone().unwrap_or_default();
        let of = |text: &str| {
            let all = if text.is_empty() { Vec::new() } else { indices(text).unwrap_or_default() };
            all.into_iter().filter(|index| wanted.contains(index)).collect()
        };
        Self {
            started: of(&array.started_indices),
            completed: of(&array.succeeded_indices),
            failed: of(&array.failed_indices),
        }
    }

    /// What a child says counts more than what was written down.
    fn enter(&mut self, index: u32, phase: JobPhase) {
        self.started.insert(index);
        self.completed.remove(&index);
        self.failed.remove(&index);
        match phase {
            JobPhase::Completed => self.completed.insert(index),
            phase if phase.is_final() => self.failed.insert(index),
            _ => false,
        };
    }

    /// Started, not over, and not among the children.
    fn gone(&self, there: &BTreeSet<u32>) -> Vec<u32> {
        let over = |index: &u32| self.completed.contains(index) || self.failed.contains(index);
        self.started.difference(there).copied().filter(|index| !over(index)).collect()
    }

    fn status(&self, total: usize) -> ArrayStatus {
        let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        let over = self.completed.len() + self.failed.len();
        ArrayStatus {
            total: number(total),
            active: number(self.started.len().saturating_sub(over)),
            succeeded: number(self.completed.len()),
            failed: number(self.failed.len()),
            started_indices: in_words(self.started.iter().copied()),
            succeeded_indices: in_words(self.completed.iter().copied()),
            failed_indices: in_words(self.failed.iter().copied()),
        }
    }
}

pub(super) fn plan(view: &FamilyView<'_>) -> FamilyPlan {
    let spec = &view.job.spec;
    let mut plan =
        FamilyPlan { status: view.job.status.clone().unwrap_or_default(), ..FamilyPlan::default() };
    if plan.status.phase.is_final() {
        expire(view, &mut plan);
        return plan;
    }
    let Some(array) = &spec.array else { return plan };
    let wanted: BTreeSet<u32> = indices(&array.indices).unwrap_or_default().into_iter().collect();
    let (kept, dropped): (Vec<&AIJob>, Vec<&AIJob>) =
        view.children.iter().partition(|one| index(*one).is_some_and(|index| wanted.contains(&index)));
    let books = keep_books(view, &kept, &wanted, &mut plan);
    let count = books.status(wanted.len());
    let broken = array.failures_allowed.is_some_and(|most| count.failed > most);
    let stopping = spec.cancel || broken;
    let left = view.children.iter().filter(|one| !is_over(one)).count();
    let unwanted = if stopping { view.children.iter().collect() } else { dropped };
    let unwanted = unwanted.into_iter().filter(|one| !is_over(one) && !one.spec.cancel);
    plan.cancel = unwanted.cloned().collect();
    let missing: Vec<u32> = wanted.difference(&books.started).copied().collect();
    let over = left == 0 && count.active == 0 && (missing.is_empty() || stopping);
    if !stopping {
        let differing = kept.iter().filter(|one| !is_over(one) && one.spec.suspend != spec.suspend);
        plan.suspend = differing.map(|one| ((*one).clone(), spec.suspend)).collect();
        if !spec.suspend {
            plan.create = next(view, &missing, left);
        }
    }
    plan.status.observed_generation = view.job.metadata.generation;
    plan.status.ready = Some(format!("{}/{}", count.succeeded, count.total));
    plan.status.array = Some(count);
    conclude(view, &mut plan.status, over, broken);
    plan
}

/// Brings what was written down up to date. A child that somebody deleted is not made again: what has ended is over, as an
/// index of a Kubernetes Job is whose Pod is deleted; and who deletes a job that runs wants it to end, as `scancel` does.
fn keep_books(
    view: &FamilyView<'_>,
    kept: &[&AIJob],
    wanted: &BTreeSet<u32>,
    plan: &mut FamilyPlan,
) -> Books {
    let mut books = Books::read(&plan.status, wanted);
    let mut there: BTreeSet<u32> = view.on_server.cloned().unwrap_or_default();
    for child in kept {
        let Some(index) = index(*child) else { continue };
        there.insert(index);
        books.enter(index, child.status.as_ref().map(|status| status.phase).unwrap_or_default());
    }
    let gone = books.gone(&there);
    plan.doubtful = !gone.is_empty() && view.on_server.is_none();
    if !plan.doubtful {
        books.failed.extend(gone);
    }
    books
}

/// The index that a child was made for.
pub(crate) fn index<K: ResourceExt>(child: &K) -> Option<u32> {
    child.labels().get(names::LABEL_ARRAY_INDEX)?.parse().ok()
}

/// The next children, as many as may be under way beside those that are.
fn next(view: &FamilyView<'_>, missing: &[u32], active: usize) -> Vec<AIJob> {
    let spec = &view.job.spec;
    let most = spec.array.as_ref().and_then(|array| array.parallelism);
    let most = most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(0));
    let mut spec = spec.clone();
    spec.array = None;
    // Children stay until the array goes, so that their ends are counted.
    spec.ttl_seconds_after_finished = None;
    let fresh = missing.iter().take(most.saturating_sub(active));
    fresh
        .map(|index| {
            let mut one = child(view.job, &index.to_string(), spec.clone());
            one.metadata
                .labels
                .get_or_insert_default()
                .insert(names::LABEL_ARRAY_INDEX.to_owned(), index.to_string());
            one
        })
        .collect()
}

fn conclude(view: &FamilyView<'_>, status: &mut AIJobStatus, over: bool, broken: bool) {
    let array = status.array.clone().unwrap_or_default();
    let spec = &view.job.spec;
    let before = status.phase;
    (status.phase, status.reason) = match (over, spec.cancel) {
        (true, true) => (JobPhase::Aborted, Some(reasons::CANCELLED.to_owned())),
        (true, false) if array.failed > 0 => (JobPhase::Failed, Some(reasons::ARRAY_FAILED.to_owned())),
        (true, false) => (JobPhase::Completed, Some(reasons::SUCCEEDED.to_owned())),
        (false, true) => (JobPhase::Aborting, Some(reasons::CANCELLED.to_owned())),
        (false, false) if broken => (JobPhase::Terminating, Some(reasons::ARRAY_FAILED.to_owned())),
        (false, false) if spec.suspend => (JobPhase::Suspended, Some(reasons::SUSPENDED.to_owned())),
        (false, false) => (JobPhase::Running, Some(reasons::ARRAY_ACTIVE.to_owned())),
    };
    let now = Time(whole(view.now));
    let ArrayStatus { total, active, succeeded, failed, .. } = array;
    status.message =
        Some(format!("of {total} jobs {active} are under way, {succeeded} ended well, {failed} did not"));
    if before != status.phase {
        status.last_transition_time = Some(now.clone());
    }
    status.start_time.get_or_insert_with(|| now.clone());
    if over {
        status.completion_time = Some(now);
    }
}
