//! Jobs: how they count, give up, wait and end early.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use maar_testkit::build::job;
use maar_testkit::read::job_condition;
use maar_testkit::scenario;
use serde_json::json;

scenario! {
    async fn an_indexed_job_does_each_number_once(context) {
        let arena = context.arena();
        let work = job("work").set("/spec/completions", 4).set("/spec/parallelism", 2);
        arena.create(work.set("/spec/completionMode", "Indexed")).await;
        let done = arena.wait("the end", "work", |job: &Job| job_condition(job, "Complete").is_some()).await;
        assert_eq!(job_condition(&done, "Complete"), Some("CompletionsReached"));
        assert_eq!(job_condition(&done, "SuccessCriteriaMet"), Some("CompletionsReached"));
        let status = done.status.expect("a status");
        assert_eq!((status.succeeded, status.completed_indexes.as_deref()), (Some(4), Some("0-3")));
        assert!(status.completion_time >= status.start_time);
        let mut numbers: Vec<String> = arena.list::<Pod>("work").await.iter()
            .map(|pod| pod.annotations()["batch.kubernetes.io/job-completion-index"].clone()).collect();
        numbers.sort();
        assert_eq!(numbers, ["0", "1", "2", "3"]);
    }
}

scenario! {
    async fn a_job_that_fails_too_often_gives_up(context) {
        let arena = context.arena();
        arena.create(job("bad").behave("exit-code", "3").set("/spec/backoffLimit", 0)).await;
        let failed = arena.wait("the end", "bad", |job: &Job| job_condition(job, "Failed").is_some()).await;
        assert_eq!(job_condition(&failed, "Failed"), Some("BackoffLimitExceeded"));
        assert_eq!(failed.status.and_then(|status| status.failed), Some(1));
    }
}

scenario! {
    async fn a_pod_failure_policy_ends_a_job_at_once(context) {
        let arena = context.arena();
        let policy = json!({"rules": [{"action": "FailJob",
            "onExitCodes": {"containerName": "main", "operator": "In", "values": [42]}}]});
        let bad = job("bad").behave("exit-code", "42").set("/spec/backoffLimit", 6);
        arena.create(bad.set("/spec/podFailurePolicy", policy)).await;
        let failed = arena.wait("the end", "bad", |job: &Job| job_condition(job, "Failed").is_some()).await;
        assert_eq!(job_condition(&failed, "Failed"), Some("PodFailurePolicy"));
        assert_eq!(job_condition(&failed, "FailureTarget"), Some("PodFailurePolicy"));
        assert_eq!(failed.status.and_then(|status| status.failed), Some(1));
    }
}

scenario! {
    async fn a_job_past_its_deadline_is_stopped(context) {
        let arena = context.arena();
        let slow = job("slow").behave("run-time", "9h").set("/spec/parallelism", 2);
        arena.create(slow.set("/spec/activeDeadlineSeconds", 2)).await;
        let failed = arena.wait("the end", "slow", |job: &Job| job_condition(job, "Failed").is_some()).await;
        assert_eq!(job_condition(&failed, "Failed"), Some("DeadlineExceeded"));
        let status = failed.status.expect("a status");
        assert_eq!((status.active.unwrap_or(0), status.succeeded.unwrap_or(0)), (0, 0));
        arena.wait_all("its Pods to go", "slow", <[Pod]>::is_empty).await;
    }
}

scenario! {
    async fn a_success_policy_ends_a_job_early(context) {
        let arena = context.arena();
        let lead = job("lead").set("/spec/completions", 3).set("/spec/parallelism", 1);
        let policy = json!({"rules": [{"succeededIndexes": "0"}]});
        arena.create(lead.set("/spec/completionMode", "Indexed").set("/spec/successPolicy", policy)).await;
        let done = arena.wait("the end", "lead", |job: &Job| job_condition(job, "Complete").is_some()).await;
        assert_eq!(job_condition(&done, "Complete"), Some("SuccessPolicy"));
        assert_eq!(job_condition(&done, "SuccessCriteriaMet"), Some("SuccessPolicy"));
        assert_eq!(done.status.and_then(|status| status.completed_indexes).as_deref(), Some("0"));
    }
}

scenario! {
    async fn a_suspended_job_starts_when_it_is_resumed(context) {
        let arena = context.arena();
        arena.create(job("later").set("/spec/suspend", true)).await;
        let held = arena.wait("the suspension", "later", |job: &Job| job_condition(job, "Suspended").is_some()).await;
        assert_eq!(job_condition(&held, "Suspended"), Some("JobSuspended"));
        assert_eq!(held.status.and_then(|status| status.start_time), None);
        arena
            .never("a Pod", 1, async || {
                let pods = arena.list::<Pod>("later").await;
                (!pods.is_empty()).then(|| format!("{pods:#?}"))
            })
            .await;
        arena.patch::<Job>("later", json!({"spec": {"suspend": false}})).await;
        let done = arena.wait("the end", "later", |job: &Job| job_condition(job, "Complete").is_some()).await;
        assert!(done.status.is_some_and(|status| status.start_time.is_some()));
    }
}
