//! One job per index.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
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
        view.children.iter().partition(|one| index(one).is_some_and(|index| wanted.contains(&index)));
    let count = count(&kept, wanted.len());
    let broken = array.failures_allowed.is_some_and(|most| count.failed > most);
    let stopping = spec.cancel || broken;
    let left: Vec<&AIJob> = view.children.iter().filter(|one| !is_over(one)).collect();
    let unwanted = if stopping { view.children.iter().collect() } else { dropped };
    let unwanted = unwanted.into_iter().filter(|one| !is_over(one) && !one.spec.cancel);
    plan.cancel = unwanted.cloned().collect();
    let made: BTreeSet<u32> = kept.iter().filter_map(|one| index(one)).collect();
    let missing: Vec<u32> = wanted.difference(&made).copied().collect();
    if !stopping {
        let differing = kept.iter().filter(|one| !is_over(one) && one.spec.suspend != spec.suspend);
        plan.suspend = differing.map(|one| ((*one).clone(), spec.suspend)).collect();
        if !spec.suspend {
            plan.create = next(view, &missing, left.len());
        }
    }
    let over = left.is_empty() && (missing.is_empty() || stopping);
    plan.status.observed_generation = view.job.metadata.generation;
    plan.status.ready = Some(format!("{}/{}", count.succeeded, count.total));
    plan.status.array = Some(count);
    conclude(view, &mut plan.status, over, broken);
    plan
}

/// The index that a child was made for.
fn index(child: &AIJob) -> Option<u32> {
    child.metadata.labels.as_ref()?.get(names::LABEL_ARRAY_INDEX)?.parse().ok()
}

fn count(children: &[&AIJob], total: usize) -> ArrayStatus {
    let phase = |job: &AIJob| job.status.as_ref().map(|status| status.phase).unwrap_or_default();
    let number = |wanted: &dyn Fn(JobPhase) -> bool| {
        i32::try_from(children.iter().filter(|one| wanted(phase(one))).count()).unwrap_or(i32::MAX)
    };
    ArrayStatus {
        total: i32::try_from(total).unwrap_or(i32::MAX),
        active: number(&|phase| !phase.is_final()),
        succeeded: number(&|phase| phase == JobPhase::Completed),
        failed: number(&|phase| phase.is_final() && phase != JobPhase::Completed),
    }
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
    let ArrayStatus { total, active, succeeded, failed } = array;
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
