//! Roles on the embedded cluster, with paused time.

use std::io;

use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
use kube::Api;
use maar_embedded::Cluster;
use parking_lot::Mutex;
use serde_json::json;
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::*;
use crate::{
    apply::Writer,
    error::{Categorized, Category, chain},
    test_cluster::{Network, Wire, cluster, wired},
};

type Diary = Arc<Mutex<Vec<String>>>;

fn config(identity: &str) -> RoleConfig {
    let election = Election { namespace: "default".into(), timing: Timing::default() };
    RoleConfig { identity: identity.into(), election: Some(election), drain: Duration::from_secs(5) }
}

/// A role whose leader writes a map every second and keeps a diary.
fn role(who: &'static str, diary: &Diary) -> Role {
    let diary = Arc::clone(diary);
    Role::new("test").leader_task("write", move |context| {
        let diary = Arc::clone(&diary);
        async move {
            diary.lock().push(format!("{who} begins"));
            let maps: Api<ConfigMap> = Api::namespaced(context.client, "default");
            let map = json!({ "metadata": { "name": "m", "namespace": "default" }, "data": { "by": who } });
            let map: ConfigMap = serde_json::from_value(map).unwrap();
            while !context.shutdown.is_cancelled() {
                if let Ok(Err(error)) =
                    timeout(Duration::from_secs(1), Writer::new("t").apply(&maps, &map)).await
                {
                    assert_eq!(error.category(), Category::NotLeader);
                }
                let _ = timeout(Duration::from_secs(1), context.shutdown.cancelled()).await;
            }
            diary.lock().push(format!("{who} ends"));
            Ok::<_, Infallible>(())
        }
    })
}

fn start(
    cluster: &Cluster,
    role: Role,
    identity: &str,
) -> (JoinHandle<Result<(), RoleError>>, CancellationToken, Wire) {
    let (client, wire) = wired(cluster);
    let stop = CancellationToken::new();
    let task = tokio::spawn(role.run(client, config(identity), Environment::for_tests(), stop.clone()));
    (task, stop, wire)
}

async fn lease(cluster: &Cluster) -> Option<serde_json::Value> {
    let leases: Api<Lease> = Api::namespaced(cluster.client(), "default");
    leases.get_opt("maar-test").await.unwrap().map(|lease| json!(lease))
}

#[tokio::test(start_paused = true)]
async fn leadership_moves_with_the_network_and_back_on_shutdown() {
    let (cluster, diary) = (cluster().await, Diary::default());
    let (first, stop_first, wire) = start(&cluster, role("a", &diary), "a");
    sleep(Duration::from_secs(3)).await;
    let (second, stop_second, _) = start(&cluster, role("b", &diary), "b");
    sleep(Duration::from_secs(10)).await;
    wire.set(Network::Hanging);
    sleep(Duration::from_mins(1)).await;
    wire.set(Network::Up);
    sleep(Duration::from_mins(1)).await;
    // The first campaigns again, and gets its turn when the second goes.
    stop_second.cancel();
    second.await.unwrap().unwrap();
    sleep(Duration::from_secs(10)).await;
    stop_first.cancel();
    first.await.unwrap().unwrap();
    assert_eq!(*diary.lock(), ["a begins", "a ends", "b begins", "b ends", "a begins", "a ends"]);
    let lease = lease(&cluster).await.unwrap();
    assert_eq!(
        (&lease["spec"]["holderIdentity"], &lease["spec"]["leaseTransitions"]),
        (&json!(""), &json!(2))
    );
}

#[tokio::test(start_paused = true)]
async fn a_task_that_fails_ends_the_role_which_says_why_and_frees_the_lease() {
    let cluster = cluster().await;
    let diary = Diary::default();
    let role = role("a", &diary).task("serve", |_| async {
        sleep(Duration::from_secs(5)).await;
        Err(io::Error::other("out of sockets"))
    });
    let (task, _stop, _) = start(&cluster, role, "a");
    let error = task.await.unwrap().unwrap_err();
    assert_eq!(chain(&error), "role test: task \"serve\" failed: out of sockets");
    assert_eq!(*diary.lock(), ["a begins", "a ends"]);
    let lease = lease(&cluster).await.unwrap();
    assert_eq!(lease["spec"]["holderIdentity"], "");
}

#[tokio::test(start_paused = true)]
async fn a_leader_task_that_will_not_stop_ends_the_role() {
    let cluster = cluster().await;
    let role = Role::new("test").leader_task("deaf", |_| std::future::pending::<Result<(), Infallible>>());
    let (task, _stop, wire) = start(&cluster, role, "a");
    sleep(Duration::from_secs(3)).await;
    wire.set(Network::Hanging);
    let error = task.await.unwrap().unwrap_err();
    let text = chain(&error);
    assert!(text.ends_with("stopped waiting after 5s for tasks that did not end: deaf"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn without_election_the_tasks_run_at_once() {
    let (cluster, diary) = (cluster().await, Diary::default());
    let stop = CancellationToken::new();
    let config = RoleConfig { election: None, ..config("a") };
    let role = role("a", &diary);
    let task = tokio::spawn(role.run(cluster.client(), config, Environment::for_tests(), stop.clone()));
    sleep(Duration::from_secs(2)).await;
    stop.cancel();
    task.await.unwrap().unwrap();
    assert_eq!(*diary.lock(), ["a begins", "a ends"]);
    assert!(lease(&cluster).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn times_that_cannot_work_are_refused_before_anything_runs() {
    let mut config = config("a");
    config.election.as_mut().unwrap().timing.renew_deadline = Duration::from_secs(20);
    let role = Role::new("test")
        .task("never", |_| async { if true { panic!("it ran") } else { Ok::<_, Infallible>(()) } });
    let run = role.run(cluster().await.client(), config, Environment::for_tests(), CancellationToken::new());
    let text = chain(&run.await.unwrap_err());
    assert!(text.starts_with("leader election of test: the renew deadline (20s)"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn who_is_aborted_writes_nothing_more_and_another_leads_when_the_lease_has_run_out() {
    let (cluster, diary) = (cluster().await, Diary::default());
    // What a leader leaves running without a supervisor outlives the abort, and must not write either.
    let role_that_leaks = role("a", &diary).leader_task("leak", |context| async move {
        let maps: Api<ConfigMap> = Api::namespaced(context.client, "default");
        tokio::spawn(async move {
            let map = json!({ "metadata": { "name": "leaked", "namespace": "default" } });
            let map: ConfigMap = serde_json::from_value(map).unwrap();
            loop {
                let _ = Writer::new("leak").apply(&maps, &map).await;
                sleep(Duration::from_secs(1)).await;
            }
        });
        context.shutdown.cancelled().await;
        Ok::<_, Infallible>(())
    });
    let (first, _stop, wire) = start(&cluster, role_that_leaks, "a");
    sleep(Duration::from_secs(5)).await;
    assert!(wire.writes().iter().any(|write| write.ends_with("/configmaps/leaked")));
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    let (written, aborted) = (wire.writes().len(), tokio::time::Instant::now());
    // Nobody was there to give it back.
    assert_eq!(lease(&cluster).await.unwrap()["spec"]["holderIdentity"], "a");
    let (second, stop_second, _) = start(&cluster, role("b", &diary), "b");
    while !diary.lock().iter().any(|line| line == "b begins") {
        sleep(Duration::from_millis(100)).await;
    }
    let (waited, duration) = (aborted.elapsed(), Timing::default().lease_duration);
    assert!(waited <= duration * 2, "the next leader came after {waited:?}");
    assert_eq!(wire.writes().len(), written, "{:?}", &wire.writes()[written..]);
    sleep(Duration::from_mins(1)).await;
    assert_eq!(wire.writes().len(), written);
    stop_second.cancel();
    second.await.unwrap().unwrap();
}
