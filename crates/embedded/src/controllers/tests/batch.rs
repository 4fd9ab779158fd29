//! Jobs and CronJobs.
#![expect(clippy::needless_pass_by_value, reason = "tables of JSON literals read better by value")]

use std::time::Duration;

use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::harness::{World, template};

fn job(name: &str, spec: Value) -> Value {
    let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec});
    job["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
    job
}

async fn finished(world: &World, name: &str) -> Option<String> {
    let conditions = world.get::<Job>(name).await.status?.conditions?;
    let end = conditions.into_iter().find(|one| one.type_ == "Complete" || one.type_ == "Failed")?;
    Some(format!("{} {}", end.type_, end.reason.unwrap_or_default()))
}

#[tokio::test(start_paused = true)]
async fn a_job_counts_its_pods_and_goes_after_its_time() {
    let mut world = World::new(1).await;
    let spec = json!({"completions": 5, "parallelism": 2, "completionMode": "Indexed", "ttlSecondsAfterFinished": 60,
        "template": template("work", "i", json!({"exit": "0"}))});
    world.create::<Job>(job("work", spec)).await;
    world.wait("the end", async |world| finished(world, "work").await.is_some()).await;
    let status = world.get::<Job>("work").await.status.unwrap();
    assert_eq!(finished(&world, "work").await.as_deref(), Some("Complete CompletionsReached"));
    assert_eq!((status.succeeded, status.active, status.failed), (Some(5), None, None));
    assert_eq!(status.completed_indexes.as_deref(), Some("0-4"));
    let pods = world.list::<Pod>().await;
    assert_eq!(pods.len(), 5);
    assert!(
        pods.iter().all(|pod| pod.metadata.finalizers.as_ref().is_none_or(Vec::is_empty)),
        "all are let go"
    );
    world.wait("the Job to go", async |world| world.names::<Job>().await.is_empty()).await;
    world.wait("its Pods to go", async |world| world.names::<Pod>().await.is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_keeps_failing_gives_up() {
    let mut world = World::new(1).await;
    let spec = json!({"backoffLimit": 2, "template": template("bad", "i", json!({"exit": "3"}))});
    world.create::<Job>(job("bad", spec)).await;
    let start = tokio::time::Instant::now();
    world.wait("the end", async |world| finished(world, "bad").await.is_some()).await;
    assert_eq!(finished(&world, "bad").await.as_deref(), Some("Failed BackoffLimitExceeded"));
    assert_eq!(world.get::<Job>("bad").await.status.unwrap().failed, Some(3));
    let waited = start.elapsed().as_secs();
    assert!((30..60).contains(&waited), "ten seconds, then twenty, not {waited}");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_job_takes_its_running_pods_along() {
    let mut world = World::new(1).await;
    let spec = json!({"parallelism": 2, "template": template("run", "i", json!({}))});
    world.create::<Job>(job("run", spec)).await;
    world.wait("two Pods", async |world| world.list::<Pod>().await.len() == 2).await;
    world.api::<Job>().delete("run", &DeleteParams::background()).await.unwrap();
    world
        .wait("all to go", async |world| {
            world.names::<Job>().await.is_empty() && world.names::<Pod>().await.is_empty()
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cron_job_runs_for_ten_hours() {
    let mut world = World::new(1).await;
    let cron = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"},
        "spec": {"schedule": "30 * * * *", "timeZone": "Asia/Kolkata", "concurrencyPolicy": "Forbid",
            "jobTemplate": {"spec": {"template": {"metadata": {"annotations": {"exit": "0"}},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}}});
    world.create::<CronJob>(cron).await;
    let mut seen = std::collections::BTreeSet::new();
    let end = tokio::time::Instant::now() + Duration::from_hours(10);
    while tokio::time::Instant::now() < end {
        // Kubelets need not be looked at all the time.
        tokio::time::sleep(Duration::from_mins(9)).await;
        world.pass(Duration::from_secs(3)).await;
        seen.extend(world.names::<Job>().await);
    }
    let cron: CronJob = world.get("tick").await;
    let status = cron.status.unwrap();
    assert_eq!(seen.len(), 10, "one an hour: {seen:?}");
    assert_eq!(world.list::<Job>().await.len(), 3, "three are kept");
    assert_eq!(status.active, None);
    // Half past the hour in India is on the hour in UTC.
    assert_eq!(status.last_schedule_time.unwrap().0.to_string(), "2026-01-01T10:00:00Z");
    assert!(status.last_successful_time.is_some());
}
