//! One job per index.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use maar_api::{
    names,
    v1alpha1::{AIJob, AIJobStatus, ArrayStatus, JobPhase, reasons},
};

use super::{FamilyPlan, FamilyView, child, is_over};
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
    let wanted = indices(&array.indices).unwrap_or_default();
    let count = count(view.children, wanted.len());
    let broken = array.failures_allowed.is_some_and(|most| count.failed > most);
    let stopping = spec.cancel || broken;
    if stopping {
        let running = view.children.iter().filter(|one| !is_over(one) && !one.spec.cancel);
        plan.cancel = running.cloned().collect();
    } else {
        let differing = view.children.iter().filter(|one| !is_over(one) && one.spec.suspend != spec.suspend);
        plan.suspend = differing.map(|one| (one.clone(), spec.suspend)).collect();
        if !spec.suspend {
            plan.create = next(view, &wanted, &count);
        }
    }
    let active = count.active;
    let waiting = count.total - count.active - count.succeeded - count.failed;
    plan.status.observed_generation = view.job.metadata.generation;
    plan.status.ready = Some(format!("{}/{}", count.succeeded, count.total));
    plan.status.array = Some(count);
    let over = active == 0 && (waiting == 0 || stopping);
    conclude(view, &mut plan.status, over, broken);
    plan
}

fn count(children: &[AIJob], total: usize) -> ArrayStatus {
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

/// The next children, as many as may be under way.
fn next(view: &FamilyView<'_>, wanted: &[u32], count: &ArrayStatus) -> Vec<AIJob> {
    let spec = &view.job.spec;
    let most = spec.array.as_ref().and_then(|array| array.parallelism).unwrap_or(i32::MAX);
    let room = usize::try_from(most.saturating_sub(count.active)).unwrap_or(0);
    let made = |index: u32| {
        let text = index.to_string();
        let label = |one: &AIJob| one.metadata.labels.as_ref()?.get(names::LABEL_ARRAY_INDEX).cloned();
        view.children.iter().any(|one| label(one).as_deref() == Some(text.as_str()))
    };
    let mut spec = spec.clone();
    spec.array = None;
    // Children stay until the array goes, so that their ends are counted.
    spec.ttl_seconds_after_finished = None;
    let fresh = wanted.iter().copied().filter(|index| !made(*index)).take(room);
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

fn expire(view: &FamilyView<'_>, plan: &mut FamilyPlan) {
    let Some(ttl) = view.job.spec.ttl_seconds_after_finished else { return };
    let ended = plan.status.completion_time.as_ref().map_or(view.now, |time| time.0);
    let wait = ttl - view.now.duration_since(ended).as_secs();
    match u64::try_from(wait).ok().filter(|wait| *wait > 0) {
        Some(wait) => plan.again = Some(std::time::Duration::from_secs(wait)),
        None => plan.expired = true,
    }
}
