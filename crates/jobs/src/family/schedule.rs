//! Jobs by the clock.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use maar_api::v1alpha1::{AIJob, Concurrency, JobPhase, ScheduleSpec, ScheduleStatus, reasons};

use super::{FamilyPlan, FamilyView, child, expire, is_over};
use crate::{cron::Schedule, name, status::whole};

pub(super) fn plan(view: &FamilyView<'_>) -> FamilyPlan {
    let mut plan =
        FamilyPlan { status: view.job.status.clone().unwrap_or_default(), ..FamilyPlan::default() };
    if plan.status.phase.is_final() {
        expire(view, &mut plan);
        return plan;
    }
    let spec = &view.job.spec;
    let Some(asked) = &spec.schedule else { return plan };
    let active: Vec<&AIJob> = view.children.iter().filter(|one| !is_over(one)).collect();
    let mut kept = plan.status.schedule.clone().unwrap_or_default();
    kept.next_time = None;
    kept.active = active.iter().map(|one| name::of(one).to_owned()).collect();
    kept.active.sort_unstable();
    plan.status.observed_generation = view.job.metadata.generation;
    plan.delete = forgotten(view.children, asked);
    let (phase, reason) = if spec.cancel {
        plan.cancel = active.iter().filter(|one| !one.spec.cancel).map(|one| (*one).clone()).collect();
        let phase = if active.is_empty() { JobPhase::Aborted } else { JobPhase::Aborting };
        (phase, reasons::CANCELLED)
    } else if spec.suspend {
        (JobPhase::Suspended, reasons::SUSPENDED)
    } else {
        tick(view, asked, &active, &mut kept, &mut plan);
        (JobPhase::Scheduled, reasons::WAITING_FOR_TIME)
    };
    conclude(&mut plan, view.now, (phase, reason), kept);
    plan
}

/// Starts what is due, and finds out when to look again.
fn tick(
    view: &FamilyView<'_>,
    asked: &ScheduleSpec,
    active: &[&AIJob],
    kept: &mut ScheduleStatus,
    plan: &mut FamilyPlan,
) {
    let Ok(schedule) = Schedule::parse(asked) else { return };
    let said = format!("{} {}", asked.cron, asked.time_zone);
    let changed = kept.said.as_ref().is_some_and(|before| *before != said);
    if plan.status.phase == JobPhase::Suspended || changed {
        // Times that have passed meanwhile are left out, and those before the change, when nobody asked for them.
        kept.last_time = Some(Time(whole(view.now)));
    }
    kept.said = Some(said);
    let created = view.job.metadata.creation_timestamp.as_ref().map_or(view.now, |time| time.0);
    let since = kept.last_time.as_ref().map_or(created, |time| time.0);
    if let Some(due) = schedule.latest(since, view.now) {
        start(view, asked, due, active, plan);
        kept.last_time = Some(Time(due));
    }
    if let Some(next) = schedule.next(view.now) {
        let wait = next.duration_since(view.now).as_secs();
        plan.again = Some(Duration::from_secs(u64::try_from(wait).unwrap_or(0) + 1));
        kept.next_time = Some(Time(next));
    }
}

fn conclude(plan: &mut FamilyPlan, now: Timestamp, (phase, reason): (JobPhase, &str), kept: ScheduleStatus) {
    let status = &mut plan.status;
    if status.phase != phase {
        status.last_transition_time = Some(Time(whole(now)));
    }
    status.message = Some(match &kept.next_time {
        Some(next) => format!("the next job is made at {}", next.0),
        None => "no more jobs are made".to_owned(),
    });
    status.phase = phase;
    status.reason = Some(reason.to_owned());
    status.schedule = Some(kept);
    if phase.is_final() {
        status.completion_time.get_or_insert(Time(whole(now)));
    }
}

fn start(
    view: &FamilyView<'_>,
    asked: &ScheduleSpec,
    due: Timestamp,
    active: &[&AIJob],
    plan: &mut FamilyPlan,
) {
    let suffix = (due.as_second() / 60).to_string();
    let mut spec = view.job.spec.clone();
    spec.schedule = None;
    let child = child(view.job, &suffix, spec);
    // Made before, by somebody who did not live to write it down.
    if view.children.iter().any(|one| name::of(one) == name::of(&child)) {
        return;
    }
    let late = view.now.duration_since(due).as_secs();
    if asked.starting_deadline_seconds.is_some_and(|most| late > most) {
        return;
    }
    if !active.is_empty() {
        match asked.concurrency {
            Concurrency::Forbid => return,
            Concurrency::Replace => {
                plan.cancel =
                    active.iter().filter(|one| !one.spec.cancel).map(|one| (*one).clone()).collect();
            }
            Concurrency::Allow => {}
        }
    }
    plan.create.push(child);
}

/// Finished children beyond those that are kept, oldest first.
fn forgotten(children: &[AIJob], asked: &ScheduleSpec) -> Vec<AIJob> {
    let mut over: Vec<&AIJob> = children.iter().filter(|one| is_over(one)).collect();
    over.sort_by_key(|one| (one.metadata.creation_timestamp.as_ref().map(|time| time.0), name::of(one)));
    let kept = usize::try_from(asked.history_limit).unwrap_or(0);
    over.iter().take(over.len().saturating_sub(kept)).map(|one| (*one).clone()).collect()
}
