//! One step of a CronJob: which Job to start, which to end, which to forget.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec, CronJobStatus, Job};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

use super::schedule::{Schedule, due};
use crate::controllers::job::{COMPLETE, FAILED, is_finished};
use crate::controllers::owners::controller_reference;
use crate::controllers::view::until;

const SCHEDULED_AT: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// Something worth an Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) warning: bool,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

/// What to do.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) status: CronJobStatus,
    /// Names of running Jobs that make way, of which the status no longer speaks.
    pub(crate) replace: Vec<String>,
    /// The Job to start and the time it stands for.
    pub(crate) start: Option<(Job, Timestamp)>,
    /// Names of finished Jobs beyond what history asks for.
    pub(crate) forget: Vec<String>,
    pub(crate) notes: Vec<Note>,
    pub(crate) again: Option<Duration>,
}

/// Plans one step. `jobs` are the CronJob's own.
pub(crate) fn plan(cron: &CronJob, jobs: &[Job], now: Timestamp) -> Plan {
    let mut plan = Plan { status: cron.status.clone().unwrap_or_default(), ..Plan::default() };
    let spec = cron.spec.clone();
    plan.forget = surplus(&spec, jobs);
    observe(jobs, &mut plan);
    if cron.metadata.deletion_timestamp.is_some() || spec.suspend == Some(true) {
        return plan;
    }
    match Schedule::parse(&spec.schedule, spec.time_zone.as_deref()) {
        Ok(schedule) => decide(cron, &spec, &schedule, now, &mut plan),
        Err(error) => {
            let reason = match error {
                super::schedule::ScheduleError::Zone(..) => "UnknownTimeZone",
                super::schedule::ScheduleError::Pattern(..) => "UnparseableSchedule",
            };
            plan.notes.push(Note { warning: true, reason, message: error.to_string() });
        }
    }
    plan
}

fn name(job: &Job) -> String {
    job.metadata.name.clone().unwrap_or_default()
}

/// Takes Jobs that ended or vanished off the list of active ones.
fn observe(jobs: &[Job], plan: &mut Plan) {
    let mut active = plan.status.active.take().unwrap_or_default();
    for job in jobs {
        let position = active.iter().position(|one| one.uid == job.metadata.uid);
        match (position, is_finished(job)) {
            (None, false) => {
                let message =
                    format!("Saw a job that the controller did not create or forgot: {}", name(job));
                plan.notes.push(Note { warning: true, reason: "UnexpectedJob", message });
            }
            (Some(position), true) => {
                active.remove(position);
                let how = if has(job, COMPLETE) { COMPLETE } else { FAILED };
                let message = format!("Saw completed job: {}, condition: {how}", name(job));
                plan.notes.push(Note { warning: false, reason: "SawCompletedJob", message });
            }
            _ => {}
        }
        if has(job, COMPLETE) {
            let completed = job.status.as_ref().and_then(|status| status.completion_time.clone());
            plan.status.last_successful_time = plan.status.last_successful_time.take().max(completed);
        }
    }
    active.retain(|one| {
        let found = jobs.iter().any(|job| job.metadata.uid == one.uid);
        if !found {
            let message = format!("Active job went missing: {}", one.name.as_deref().unwrap_or_default());
            plan.notes.push(Note { warning: false, reason: "MissingJob", message });
        }
        found
    });
    plan.status.active = Some(active).filter(|active| !active.is_empty());
}

fn has(job: &Job, kind: &str) -> bool {
    let conditions = job.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|one| one.type_ == kind && one.status == "True")
}

fn decide(cron: &CronJob, spec: &CronJobSpec, schedule: &Schedule, now: Timestamp, plan: &mut Plan) {
    plan.again = schedule.next(now).map(|next| until(next, now));
    let created = cron.metadata.creation_timestamp.as_ref().map_or(now, |time| time.0);
    let mut since = plan.status.last_schedule_time.as_ref().map_or(created, |time| time.0);
    let deadline = spec.starting_deadline_seconds.map(SignedDuration::from_secs);
    if let Some(deadline) = deadline {
        since = since.max(now.saturating_sub(deadline).unwrap_or(since));
    }
    let Some(due) = due(schedule, since, now) else { return };
    if due.many_missed {
        let message =
            "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
                .into();
        plan.notes.push(Note { warning: true, reason: "TooManyMissedTimes", message });
    }
    let late = deadline.is_some_and(|deadline| due.time.saturating_add(deadline).is_ok_and(|end| end < now));
    if late {
        let message = format!(
            "Missed scheduled time to start a job: {}",
            due.time.strftime("%a, %d %b %Y %H:%M:%S +0000")
        );
        plan.notes.push(Note { warning: true, reason: "MissSchedule", message });
        return;
    }
    let job = make(cron, spec, schedule, due.time);
    let active = plan.status.active.clone().unwrap_or_default();
    if active.iter().any(|one| one.name == job.metadata.name) {
        return;
    }
    match spec.concurrency_policy.as_deref() {
        Some("Forbid") if !active.is_empty() => {
            let message =
                "Not starting job because prior execution is running and concurrency policy is Forbid".into();
            plan.notes.push(Note { warning: false, reason: "JobAlreadyActive", message });
            return;
        }
        Some("Replace") => {
            plan.replace = active.iter().filter_map(|one| one.name.clone()).collect();
            plan.status.active = None;
        }
        _ => {}
    }
    plan.start = Some((job, due.time));
}

fn make(cron: &CronJob, spec: &CronJobSpec, schedule: &Schedule, time: Timestamp) -> Job {
    let described = spec.job_template.metadata.clone().unwrap_or_default();
    let mut annotations = described.annotations.unwrap_or_default();
    annotations.insert(SCHEDULED_AT.into(), schedule.local_text(time));
    let owner = controller_reference(cron);
    Job {
        metadata: ObjectMeta {
            // The minute in the name makes a second attempt at the same time fail instead of running twice.
            name: Some(format!("{}-{}", owner.name, time.as_second().div_euclid(60))),
            namespace: cron.metadata.namespace.clone(),
            labels: described.labels,
            annotations: Some(annotations),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        spec: spec.job_template.spec.clone(),
        status: None,
    }
}

/// The status with a Job that was started.
pub(crate) fn started(status: &mut CronJobStatus, job: &Job, time: Timestamp) {
    let reference = ObjectReference {
        api_version: Some("batch/v1".into()),
        kind: Some("Job".into()),
        namespace: job.metadata.namespace.clone(),
        name: job.metadata.name.clone(),
        uid: job.metadata.uid.clone(),
        resource_version: job.metadata.resource_version.clone(),
        ..ObjectReference::default()
    };
    status.active.get_or_insert_default().push(reference);
    status.last_schedule_time = Some(Time(time));
}

/// Finished Jobs beyond the limits, oldest first.
fn surplus(spec: &CronJobSpec, jobs: &[Job]) -> Vec<String> {
    let limits = [(COMPLETE, spec.successful_jobs_history_limit), (FAILED, spec.failed_jobs_history_limit)];
    let mut names = Vec::new();
    for (kind, limit) in limits {
        let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else { continue };
        let mut finished: Vec<&Job> = jobs.iter().filter(|job| has(job, kind)).collect();
        finished.sort_by_key(|job| {
            let start = job.status.as_ref().and_then(|status| status.start_time.clone());
            (start.is_none(), start, name(job))
        });
        let count = finished.len().saturating_sub(limit);
        names.extend(finished.into_iter().take(count).map(name));
    }
    names
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "tables of JSON literals read better by value")]

    use serde_json::{Value, from_value, json};

    use super::*;
    use crate::controllers::view::tests::noon;

    fn cron(change: Value) -> CronJob {
        let mut value = json!({
            "metadata": {"name": "tick", "namespace": "default", "uid": "c", "creationTimestamp": "2026-01-01T11:00:00Z"},
            "spec": {"schedule": "0 * * * *", "concurrencyPolicy": "Allow", "successfulJobsHistoryLimit": 1,
                "failedJobsHistoryLimit": 1, "jobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {"template": {}}}},
        });
        for (part, members) in change.as_object().unwrap() {
            for (key, member) in members.as_object().unwrap() {
                value[part][key] = member.clone();
            }
        }
        from_value(value).unwrap()
    }

    fn job(name: &str, end: Option<&str>, start: &str) -> Job {
        let conditions: Vec<Value> =
            end.map(|end| json!({"type": end, "status": "True"})).into_iter().collect();
        from_value(json!({"metadata": {"name": name, "uid": name}, "spec": {"template": {}},
            "status": {"startTime": start, "completionTime": start, "conditions": conditions}}))
        .unwrap()
    }

    fn active(name: &str) -> Value {
        json!({"status": {"active": [{"name": name, "uid": name}], "lastScheduleTime": "2026-01-01T11:00:00Z"}})
    }

    #[test]
    fn a_job_starts_on_time_once() {
        let plan = plan(&cron(json!({})), &[], noon());
        let (job, time) = plan.start.unwrap();
        assert_eq!(job.metadata.name.as_deref(), Some("tick-29454480"));
        assert_eq!(job.metadata.annotations.unwrap()[SCHEDULED_AT], "2026-01-01T12:00:00Z");
        assert_eq!((time, plan.again), (noon(), Some(Duration::from_hours(1))));
        let later = cron(json!({"status": {"lastScheduleTime": "2026-01-01T12:00:00Z"}}));
        assert!(super::plan(&later, &[], noon()).start.is_none());
        let early = super::plan(&cron(json!({})), &[], noon() - SignedDuration::from_secs(1));
        assert_eq!((early.start.is_none(), early.again), (true, Some(Duration::from_secs(1))));
    }

    #[test]
    fn a_running_job_may_hinder_or_make_way() {
        let running = [job("old", None, "2026-01-01T11:00:00Z")];
        let with = |policy: &str| {
            let mut change = active("old");
            change["spec"] = json!({"concurrencyPolicy": policy});
            plan(&cron(change), &running, noon())
        };
        assert!(with("Allow").start.is_some());
        let forbid = with("Forbid");
        assert!(forbid.start.is_none());
        assert_eq!(forbid.notes[0].reason, "JobAlreadyActive");
        let replace = with("Replace");
        assert!(replace.start.is_some());
        assert_eq!((replace.replace, replace.status.active), (vec!["old".to_owned()], None));
    }

    #[test]
    fn suspended_late_and_unreadable_ones_do_not_start() {
        let suspended = plan(&cron(json!({"spec": {"suspend": true}})), &[], noon());
        assert_eq!((suspended.start.is_none(), suspended.again), (true, None));
        let deadline = cron(json!({"spec": {"startingDeadlineSeconds": 60}}));
        let late = noon() + SignedDuration::from_secs(61);
        assert!(plan(&deadline, &[], late).start.is_none());
        assert!(plan(&deadline, &[], late - SignedDuration::from_secs(2)).start.is_some());
        let broken = plan(&cron(json!({"spec": {"schedule": "x"}})), &[], noon());
        assert_eq!(broken.notes[0].reason, "UnparseableSchedule");
    }

    #[test]
    fn finished_jobs_leave_the_list_and_old_ones_are_forgotten() {
        let jobs = [
            job("a", Some("Complete"), "2026-01-01T08:00:00Z"),
            job("b", Some("Complete"), "2026-01-01T09:00:00Z"),
            job("c", Some("Failed"), "2026-01-01T07:00:00Z"),
        ];
        let plan = plan(&cron(active("b")), &jobs, noon());
        assert_eq!(plan.forget, ["a"]);
        assert_eq!(plan.status.active, None);
        assert_eq!(plan.status.last_successful_time.unwrap().0.to_string(), "2026-01-01T09:00:00Z");
        let missing = super::plan(&cron(active("gone")), &[], noon());
        assert_eq!((missing.notes[0].reason, missing.status.active), ("MissingJob", None));
    }
}
