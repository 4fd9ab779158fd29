//! Elections on the embedded cluster, with paused time.

use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use maar_embedded::Cluster;
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::sleep};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    Environment,
    apply::Writer,
    error::{Categorized, Category},
    test_cluster::{Network, Wire, cluster, wired},
};

struct Process {
    client: Client,
    wire: Wire,
    leadership: Leadership,
    stop: CancellationToken,
    task: JoinHandle<()>,
    environment: Environment,
}

fn process(cluster: &Cluster, identity: &str) -> Process {
    let (client, wire) = wired(cluster);
    let config = ElectorConfig {
        namespace: "default".into(),
        name: "maar-test".into(),
        identity: identity.into(),
        timing: Timing { jitter: 0.0, ..Timing::default() },
    };
    let environment = Environment::for_tests();
    let (elector, leadership) = Elector::new(client.clone(), config, environment.clone()).unwrap();
    let stop = CancellationToken::new();
    let task = tokio::spawn(elector.run(stop.clone()));
    Process { client, wire, leadership, stop, task, environment }
}

async fn pass(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

/// Long enough for everybody to do what can be done at once.
async fn settle() {
    sleep(Duration::from_millis(1)).await;
}

async fn lease(cluster: &Cluster) -> Value {
    let leases: Api<Lease> = Api::namespaced(cluster.client(), "default");
    json!(leases.get("maar-test").await.unwrap())
}

async fn holder(cluster: &Cluster) -> String {
    lease(cluster).await["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn the_first_leads_and_the_second_stands_by() {
    let cluster = cluster().await;
    let first = process(&cluster, "a");
    settle().await;
    let second = process(&cluster, "b");
    pass(60).await;
    assert!(first.leadership.is_leader() && !second.leadership.is_leader());
    assert_eq!(holder(&cluster).await, "a");
    let lease = lease(&cluster).await;
    assert_eq!(lease["spec"]["leaseTransitions"], 0);
    assert_eq!(lease["metadata"]["labels"]["app.kubernetes.io/managed-by"], "maar");
    assert!(lease["spec"]["renewTime"].as_str().unwrap() > lease["spec"]["acquireTime"].as_str().unwrap());
    let reasons: Vec<_> = [&first, &second]
        .iter()
        .map(|process| process.environment.health.ready().remove(0))
        .map(|line| (line.ok, line.reason.split(" (").next().unwrap().to_owned()))
        .collect();
    assert_eq!(reasons, [(true, "leading, term 0".to_owned()), (true, "standing by, a leads".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn stopping_gives_the_lease_back_and_the_next_leads_within_one_retry() {
    let cluster = cluster().await;
    let first = process(&cluster, "a");
    settle().await;
    let second = process(&cluster, "b");
    pass(5).await;
    let term = first.leadership.guard().unwrap();
    first.stop.cancel();
    settle().await;
    first.task.await.unwrap();
    assert!(term.lost().is_cancelled() && !first.leadership.is_leader());
    assert_eq!(holder(&cluster).await, "");
    pass(3).await;
    assert!(second.leadership.is_leader());
    assert_eq!(second.leadership.guard().unwrap().number(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_leader_without_network_stops_before_another_may_begin() {
    let cluster = cluster().await;
    let first = process(&cluster, "a");
    settle().await;
    let second = process(&cluster, "b");
    pass(4).await;
    let term = first.leadership.guard().unwrap();
    first.wire.set(Network::Hanging);
    let mut stopped_after = None;
    let mut taken_after = None;
    for quarter in 0..120u32 {
        sleep(Duration::from_millis(250)).await;
        assert!(!(first.leadership.is_leader() && second.leadership.is_leader()), "two leaders");
        if term.lost().is_cancelled() {
            stopped_after.get_or_insert(quarter);
        }
        if second.leadership.is_leader() {
            taken_after.get_or_insert(quarter);
        }
    }
    let (stopped, taken) = (stopped_after.unwrap(), taken_after.unwrap());
    assert!(stopped < taken, "{stopped} {taken}");
    assert!(!first.environment.health.ready().remove(0).ok);
    // When its network is back the old leader stands by.
    first.wire.set(Network::Up);
    pass(10).await;
    assert!(!first.leadership.is_leader() && second.leadership.is_leader());
    assert!(first.environment.health.ready().remove(0).ok);
}

#[tokio::test(start_paused = true)]
async fn lost_answers_do_not_lose_the_lease_for_ever() {
    let cluster = cluster().await;
    let only = process(&cluster, "a");
    pass(4).await;
    only.wire.set(Network::AnswersLost);
    pass(20).await;
    assert!(!only.leadership.is_leader());
    only.wire.set(Network::Up);
    pass(8).await;
    assert!(only.leadership.is_leader());
    assert_eq!(lease(&cluster).await["spec"]["leaseTransitions"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_does_not_end_the_term() {
    let cluster = cluster().await;
    let only = process(&cluster, "a");
    pass(4).await;
    let term = only.leadership.guard().unwrap();
    only.wire.set(Network::Refusing);
    pass(7).await;
    only.wire.set(Network::Up);
    pass(30).await;
    assert!(term.is_current());
    let body = only.environment.metrics.encode();
    assert!(body.contains("maar_lease_writes_total{lease=\"maar-test\",result=\"transient\"}"), "{body}");
    assert!(body.contains("maar_lease_leader{lease=\"maar-test\"} 1"), "{body}");
}

#[tokio::test(start_paused = true)]
async fn a_lease_taken_by_force_is_noticed_at_the_next_renewal() {
    let cluster = cluster().await;
    let only = process(&cluster, "a");
    pass(4).await;
    let leases: Api<Lease> = Api::namespaced(only.client.clone(), "default");
    let force = json!({ "spec": { "holderIdentity": "operator" } });
    leases.patch("maar-test", &PatchParams::default(), &Patch::Merge(&force)).await.unwrap();
    pass(3).await;
    assert!(!only.leadership.is_leader());
    assert_eq!(holder(&cluster).await, "operator");
}

/// The whole point of it all, told as it happens: the old leader is suspended, the new one takes over and works, and
/// the old one wakes up in the middle of what it was doing.
#[tokio::test(start_paused = true)]
async fn an_old_leader_that_wakes_up_cannot_write() {
    let cluster = cluster().await;
    let old = process(&cluster, "old");
    settle().await;
    let old_client = fenced(&old.client, old.leadership.clone());
    let old_maps: Api<ConfigMap> = Api::namespaced(old_client, "default");
    let writer = Writer::new("test");
    let plan = |who: &str| -> ConfigMap {
        serde_json::from_value(
            json!({ "metadata": { "name": "plan", "namespace": "default" }, "data": { "by": who } }),
        )
        .unwrap()
    };
    let seen = writer.apply(&old_maps, &plan("old")).await.unwrap();

    // Suspended: its tasks do not run while time goes on. (Aborting the elector would end the term, so it is starved.)
    old.wire.set(Network::Hanging);
    let new = process(&cluster, "new");
    pass(20).await;
    assert!(new.leadership.is_leader());
    let new_maps: Api<ConfigMap> = Api::namespaced(fenced(&new.client, new.leadership.clone()), "default");
    writer.apply(&new_maps, &plan("new")).await.unwrap();

    // Awake: the write is refused before it is sent.
    old.wire.set(Network::Up);
    let sent = old.wire.writes().len();
    let error = writer.apply(&old_maps, &plan("old")).await.unwrap_err();
    assert_eq!(error.category(), Category::NotLeader);
    assert_eq!(old.wire.writes().len(), sent);
    // It may still read.
    assert_eq!(old_maps.get("plan").await.unwrap().data.unwrap()["by"], "new");

    // Had it been suspended between the check and the sending, the precondition would have stopped the write.
    let late_maps: Api<ConfigMap> = Api::namespaced(old.client.clone(), "default");
    let error = writer.apply_over(&late_maps, &seen, &plan("old")).await.unwrap_err();
    assert_eq!(error.category(), Category::Conflict);
    let error = writer.delete(&late_maps, &seen, kube::api::DeleteParams::default()).await.unwrap_err();
    assert_eq!(error.category(), Category::Conflict);
    assert_eq!(late_maps.get("plan").await.unwrap().data.unwrap()["by"], "new");
}

#[tokio::test(start_paused = true)]
async fn work_that_hangs_on_the_network_fails_when_the_term_ends() {
    let cluster = cluster().await;
    let only = process(&cluster, "a");
    pass(2).await;
    let maps: Api<ConfigMap> = Api::namespaced(fenced(&only.client, only.leadership.clone()), "default");
    only.wire.set(Network::Hanging);
    let started = tokio::time::Instant::now();
    let params = kube::api::DeleteParams::default();
    let (read, write) = tokio::join!(maps.get("plan"), maps.delete("plan", &params));
    assert_eq!(read.unwrap_err().category(), Category::NotLeader);
    assert_eq!(write.unwrap_err().category(), Category::NotLeader);
    assert!(started.elapsed() <= Timing::default().renew_deadline);
    // Without a term, reading is allowed again.
    only.wire.set(Network::Up);
    assert_eq!(maps.get("plan").await.unwrap_err().category(), Category::Missing);
}

#[test]
fn times_that_cannot_work_are_refused() {
    let good = Timing::default();
    good.validate().unwrap();
    let second = Duration::from_secs(1);
    let rows = [
        (
            Timing { renew_deadline: second * 15, ..good },
            "the renew deadline (15s) must be shorter than the lease duration (15s)",
        ),
        (
            Timing { retry_period: second * 5, ..good },
            "the retry period with jitter (6s) must be at most half of the renew deadline (10s)",
        ),
        (
            Timing { lease_duration: Duration::from_millis(15_500), ..good },
            "the lease duration (15.5s) must be a whole number of seconds, at least one",
        ),
        (
            Timing { retry_period: Duration::ZERO, ..good },
            "the retry period must be longer than zero and the jitter between 0 and 1",
        ),
        (
            Timing { jitter: f64::NAN, ..good },
            "the retry period must be longer than zero and the jitter between 0 and 1",
        ),
    ];
    for (timing, want) in rows {
        assert_eq!(timing.validate().unwrap_err().to_string(), want);
    }
}
