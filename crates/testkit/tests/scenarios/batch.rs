//! Jobs by the clock, and their end.

use std::time::Duration;

use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use maar_testkit::build::{cron_job, job};
use maar_testkit::read::job_condition;
use maar_testkit::scenario;

scenario! {
    async fn a_finished_job_goes_after_its_time(context) {
        let arena = context.arena();
        let work = arena.create(job("work").set("/spec/ttlSecondsAfterFinished", 1)).await;
        let pod = arena.wait_all("its Pod", "work", |pods: &[Pod]| pods.len() == 1).await.remove(0);
        assert_eq!(pod.owner_references()[0].uid, work.uid().expect("a uid"));
        arena.wait_gone::<Job>("the Job to go", "work").await;
        arena.wait_all("its Pod to go", "work", <[Pod]>::is_empty).await;
    }
}

scenario! {
    // A schedule is in minutes at best, which is too long for real time.
    in process only async fn a_cron_job_makes_a_job_each_time(context) {
        let arena = context.arena();
        arena.create(cron_job("tick", "*/10 * * * *").set("/spec/successfulJobsHistoryLimit", 2)).await;
        tokio::time::sleep(Duration::from_hours(2)).await;
        let jobs = arena.wait_all("two Jobs that are over", "", |jobs: &[Job]| {
            jobs.len() == 2 && jobs.iter().all(|job| job_condition(job, "Complete").is_some())
        }).await;
        let gap = |one: &Job| one.metadata.creation_timestamp.as_ref().expect("a time").0;
        assert_eq!(gap(&jobs[1]).duration_since(gap(&jobs[0])).as_secs().abs(), 600);
        let status = arena.get::<CronJob>("tick").await.status.expect("a status");
        assert!(status.last_schedule_time.is_some() && status.last_successful_time.is_some());
    }
}
