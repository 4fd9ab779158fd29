//! Clean-up: warned, taken back, ended; kept and locked work is left alone.

use std::time::Duration;

use k8s_openapi::api::events::v1::Event;
use kube::{
    Api, ResourceExt as _,
    api::{ListParams, Patch, PatchParams, PostParams},
};
use maar_api::v1alpha1::{AIJob, Account, CleanupRule, JobPhase, Workspace, WorkspacePhase};
use maar_embedded::{Fault, Moment, Rule};
use maar_testkit::{build::object, sample::sample, scenario, scenario::Arena};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::setup::{pod_names, reaches, start_fast, status, submit, task};
use super::world::{NAMESPACE, World, task as world_task};

/// An account of the scenario with a policy; its name.
async fn account(arena: &Arena, cleanup: Value) -> String {
    let name = format!("{}-lab", arena.namespace());
    arena.create_cluster(object::<Account>(&name, json!({ "cleanup": cleanup }))).await;
    name
}

fn annotate(name: &str, value: Option<&str>) -> Value {
    json!({ "metadata": { "annotations": { name: value } } })
}

async fn reasons_of_events(arena: &Arena, name: &str) -> Vec<String> {
    let events = arena.api::<Event>().list(&ListParams::default()).await.unwrap();
    let about =
        |event: &Event| event.regarding.as_ref().and_then(|one| one.name.clone()).as_deref() == Some(name);
    events.items.iter().filter(|event| about(event)).filter_map(|event| event.reason.clone()).collect()
}

scenario! {
    async fn what_waits_for_long_is_warned_spared_and_ended(context) {
        let arena = context.arena();
        let role = start_fast(context).await;
        let account = account(arena, json!({ "waiting": { "minutes": 3, "warnMinutes": 6 } })).await;
        let mut nowhere = task(arena, "main", 1, &[]);
        nowhere["template"]["spec"]["nodeSelector"]["nobody"] = json!("here");
        submit(arena, "stuck", json!({ "account": account, "tasks": [nowhere.clone()] })).await;
        submit(arena, "free", json!({ "account": "somebody-else", "tasks": [nowhere] })).await;
        let warned = |job: &AIJob| status(job).cleanup.is_some_and(|told| !told.ending);
        let job = arena.wait("a warning", "stuck", warned).await;
        let told = status(&job).cleanup.unwrap();
        assert_eq!((told.rule, told.account.as_str()), (CleanupRule::Waiting, account.as_str()));
        let due = status(&job).conditions.into_iter().find(|one| one.type_ == "CleanupDue").unwrap();
        assert_eq!((due.status.as_str(), due.reason.as_str()), ("True", "Waiting"));
        assert!(due.message.contains(&told.end_time.0.to_string()), "{}", due.message);
        let annotated = |job: &AIJob| job.annotations().get("maar.io/clean-at").is_some();
        arena.wait("the annotation", "stuck", annotated).await;
        // Somebody needs it after all.
        arena.patch::<AIJob>("stuck", annotate("maar.io/keep", Some("true"))).await;
        let spared = |job: &AIJob| {
            let due = status(job).conditions.iter().any(|one| one.type_ == "CleanupDue");
            status(job).cleanup.is_none() && !due && !annotated(job)
        };
        arena.wait("the warning to be taken back", "stuck", spared).await;
        arena.patch::<AIJob>("stuck", annotate("maar.io/keep", None)).await;
        let ended = reaches(arena, "stuck", JobPhase::Aborted).await;
        assert_eq!(ended.reason.as_deref(), Some("CleanedUpWaiting"));
        assert_eq!(ended.message.as_deref(), Some("it waited for longer than its account allows"));
        assert_eq!(pod_names(arena).await, ["free-main-0"], "another account has no policy");
        for reason in ["CleanupWarning", "CleanupTakenBack", "CleanupEnding"] {
            arena.until(reason, async || {
                let all = reasons_of_events(arena, "stuck").await;
                if all.iter().any(|one| one == reason) { Ok(()) } else { Err(format!("{all:?}")) }
            }).await;
        }
        role.stop().await;
    }
}

scenario! {
    async fn a_policy_without_a_threshold_is_refused_with_the_name_of_the_field(context) {
        let arena = context.arena();
        let role = start_fast(context).await;
        let resource = kube::api::ApiResource::erase::<Account>(&());
        let api: Api<kube::api::DynamicObject> = Api::all_with(arena.client(), &resource);
        for (rule, field) in [
            (json!({ "longRunning": { "batchHours": 96, "warnHours": 24 } }), "interactiveHours"),
            (json!({ "idle": { "percent": 0, "warnMinutes": 5 } }), "windowMinutes"),
            (json!({ "waiting": { "warnMinutes": 5 } }), "minutes"),
            (json!({ "idle": { "windowMinutes": 0, "percent": 0, "warnMinutes": 5 } }), "windowMinutes"),
        ] {
            let object = json!({ "apiVersion": "maar.io/v1alpha1", "kind": "Account",
                "metadata": { "name": format!("{}-wrong", arena.namespace()) }, "spec": { "cleanup": rule } });
            let refused = api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await;
            let text = refused.unwrap_err().to_string();
            assert!(text.contains(&format!("spec.cleanup.{}", rule.as_object().unwrap().keys().next().unwrap()))
                && text.contains(field), "{text}");
        }
        role.stop().await;
    }
}

async fn lab(world: &World, cleanup: Value) {
    let api: Api<Account> = Api::all(world.client.clone());
    let account = json!({ "metadata": { "name": "lab" }, "spec": { "cleanup": cleanup } });
    api.create(&PostParams::default(), &serde_json::from_value(account).unwrap()).await.unwrap();
}

/// A job with a card that is used so much.
fn with_card(utilization: &str) -> Value {
    let mut task = world_task("main", 1, &[("gpu-utilization", utilization)]);
    task["cards"] = json!({ "count": 2 });
    json!({ "account": "lab", "tasks": [task] })
}

#[tokio::test(start_paused = true)]
async fn idle_cards_are_found_by_asking_the_nodes() {
    let world = World::new(21).await;
    lab(&world, json!({ "idle": { "windowMinutes": 30, "percent": 5, "warnMinutes": 20 } })).await;
    world.submit("lazy", with_card("0-3")).await;
    world.submit("busy", with_card("40")).await;
    let mut locked = with_card("0");
    locked["stop"] = json!({ "noticeSeconds": 60 });
    world.submit("locked", locked).await;
    let until =
        world.cluster.world().clock.now().saturating_add(jiff::SignedDuration::from_hours(3)).unwrap();
    let lock = Patch::Merge(annotate("maar.io/locked-until", Some(&until.to_string())));
    world.jobs().patch("locked", &PatchParams::default(), &lock).await.unwrap();
    sleep(Duration::from_mins(35)).await;
    let told = world.status("lazy").await.cleanup.unwrap();
    assert_eq!((told.rule, told.ending), (CleanupRule::Idle, false));
    assert_eq!(world.status("lazy").await.phase, JobPhase::Running, "it is warned first");
    sleep(Duration::from_mins(25)).await;
    let ended = world.reaches("lazy", JobPhase::Aborted).await;
    assert_eq!(ended.reason.as_deref(), Some("CleanedUpIdle"));
    assert_eq!(world.pod_names().await, ["busy-main-0", "locked-main-0"]);
    assert!(world.status("busy").await.cleanup.is_none());
    assert!(world.status("locked").await.cleanup.is_none());
    // The lock ends; the job is warned as any other, and its Pod has notice before the signal.
    sleep(Duration::from_hours(2)).await;
    assert!(world.status("locked").await.cleanup.is_some());
    sleep(Duration::from_mins(15)).await;
    let stopping = world.reaches("locked", JobPhase::Aborting).await;
    assert_eq!(stopping.stop.unwrap().reason, "CleanedUpIdle");
    sleep(Duration::from_secs(5)).await;
    let pod = world.pods().get("locked-main-0").await.unwrap();
    assert_eq!(pod.annotations().get("maar.io/stop-reason").map(String::as_str), Some("CleanedUpIdle"));
    world.reaches("locked", JobPhase::Aborted).await;
    assert_eq!(world.status("busy").await.phase, JobPhase::Running);
}

#[tokio::test(start_paused = true)]
async fn cards_that_are_used_again_take_the_warning_back() {
    let world = World::new(22).await;
    lab(&world, json!({ "idle": { "windowMinutes": 30, "percent": 5, "warnMinutes": 60 } })).await;
    world.submit("lazy", with_card("0")).await;
    sleep(Duration::from_mins(40)).await;
    assert!(world.status("lazy").await.cleanup.is_some());
    // Nobody can be asked any more: what is not known is not idle.
    let rule = Rule::new(Fault::InternalError).component("jobs").subresource("proxy").verb("get").times(1000);
    world.cluster.faults().script(rule);
    sleep(Duration::from_mins(10)).await;
    assert!(world.status("lazy").await.cleanup.is_none());
    world.cluster.faults().calm();
    sleep(Duration::from_mins(45)).await;
    assert!(world.status("lazy").await.cleanup.is_some(), "known again, and idle");
}

#[tokio::test(start_paused = true)]
async fn a_workspace_that_ran_for_long_is_suspended_and_can_go_on() {
    let world = World::new(23).await;
    let rule = json!({ "longRunning": { "batchHours": 9, "interactiveHours": 2, "warnHours": 1 } });
    lab(&world, rule).await;
    let api: Api<Workspace> = Api::namespaced(world.client.clone(), NAMESPACE);
    let desk =
        json!({ "metadata": { "name": "desk" }, "spec": { "account": "lab", "image": "example.com/i:1" } });
    api.create(&PostParams::default(), &serde_json::from_value(desk).unwrap()).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    world.bind("desk", "gpu-0").await;
    sleep(Duration::from_mins(70)).await;
    let status = async || api.get("desk").await.unwrap().status.unwrap();
    assert_eq!(status().await.cleanup.unwrap().rule, CleanupRule::LongRunning);
    // Protected for an hour and a half more.
    let until =
        world.cluster.world().clock.now().saturating_add(jiff::SignedDuration::from_mins(90)).unwrap();
    let protect = Patch::Merge(json!({ "spec": { "protectedUntil": until.to_string() } }));
    api.patch("desk", &PatchParams::default(), &protect).await.unwrap();
    sleep(Duration::from_mins(5)).await;
    assert!(status().await.cleanup.is_none());
    sleep(Duration::from_mins(100)).await;
    assert!(status().await.cleanup.is_some_and(|told| !told.ending), "a full warning again");
    assert_eq!(status().await.phase, WorkspacePhase::Running);
    sleep(Duration::from_mins(65)).await;
    let ended = status().await;
    assert_eq!(
        (ended.phase, ended.reason.as_deref()),
        (WorkspacePhase::Suspended, Some("CleanedUpLongRunning"))
    );
    assert!(ended.message.unwrap().contains("set state to Running to go on"));
    assert!(ended.cleanup.is_none());
    assert!(world.pods().get_opt("desk").await.unwrap().is_none());
    let resume = Patch::Merge(json!({ "spec": { "state": "Running" } }));
    api.patch("desk", &PatchParams::default(), &resume).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    world.bind("desk", "gpu-0").await;
    sleep(Duration::from_mins(30)).await;
    assert_eq!(status().await.phase, WorkspacePhase::Running, "it is not ended again at once");
    assert!(status().await.cleanup.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_does_nothing() {
    let world = World::new(24).await;
    lab(&world, json!({ "dryRun": true, "waiting": { "minutes": 1, "warnMinutes": 0 } })).await;
    let mut nowhere = world_task("main", 1, &[]);
    nowhere["template"]["spec"]["nodeSelector"] = json!({ "nobody": "here" });
    world.submit("stuck", json!({ "account": "lab", "tasks": [nowhere] })).await;
    sleep(Duration::from_mins(30)).await;
    let status = world.status("stuck").await;
    assert_eq!((status.phase, status.cleanup), (JobPhase::Pending, None));
}

/// A job that waits for long; the role meets `rule`.
async fn story(rule: Option<Rule>) -> ((JobPhase, Option<String>, Vec<String>), u64) {
    let world = World::new(25).await;
    if let Some(rule) = rule {
        world.cluster.faults().script(rule);
    }
    lab(&world, json!({ "waiting": { "minutes": 5, "warnMinutes": 5 } })).await;
    let mut nowhere = world_task("main", 2, &[]);
    nowhere["template"]["spec"]["nodeSelector"] = json!({ "nobody": "here" });
    world.submit("stuck", json!({ "account": "lab", "tasks": [nowhere] })).await;
    sleep(Duration::from_mins(30)).await;
    let status = world.status("stuck").await;
    ((status.phase, status.reason, world.pod_names().await), world.writes())
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_write_of_clean_up_changes_nothing_in_the_end() {
    at_every_write(&[Fault::Crash(Moment::Before), Fault::Crash(Moment::After)]).await;
}

#[tokio::test(start_paused = true)]
async fn a_write_of_clean_up_that_nobody_answers_or_that_conflicts_changes_nothing_in_the_end() {
    at_every_write(&[Fault::LostAnswer, Fault::Conflict]).await;
}

async fn at_every_write(faults: &[Fault]) {
    let (want, count) = story(None).await;
    assert_eq!((want.0, want.1.as_deref()), (JobPhase::Aborted, Some("CleanedUpWaiting")));
    for fault in faults {
        for nth in sample(1..=count) {
            let rule = Rule::new(fault.clone()).component("jobs").writes().nth(nth);
            assert_eq!(story(Some(rule)).await.0, want, "{fault:?} at write {nth}");
        }
    }
}
