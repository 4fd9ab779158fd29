//! Faults as a component meets them.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{
    AttachParams, ListParams, Patch, PatchParams, PostParams, VersionMatch, WatchEvent, WatchParams,
};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::{Cluster, Config};

async fn cluster() -> Cluster {
    Cluster::start(Config { controllers: false, ..Config::simulated(1) }).await.unwrap()
}

fn maps(client: Client) -> Api<ConfigMap> {
    Api::namespaced(client, "default")
}

fn map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"key": value}})).unwrap()
}

async fn create(api: &Api<ConfigMap>, name: &str) -> kube::Result<ConfigMap> {
    api.create(&PostParams::default(), &map(name, "1")).await
}

fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        _ => 0,
    }
}

async fn names(api: &Api<ConfigMap>) -> Vec<String> {
    api.list(&ListParams::default())
        .await
        .unwrap()
        .items
        .into_iter()
        .filter_map(|map| map.metadata.name)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn refusals_write_nothing_and_lost_answers_do() {
    let cluster = cluster().await;
    let (api, truth) = (maps(cluster.client_for("a")), maps(cluster.client()));
    let faults = [
        (Fault::Conflict, 409, false),
        (Fault::TooManyRequests { retry_seconds: 3 }, 429, false),
        (Fault::InternalError, 500, false),
        (Fault::LostAnswer, 0, true),
    ];
    for (fault, want_code, want_written) in faults {
        let name = fault.name();
        cluster
            .faults()
            .script(Rule::new(fault.clone()).component("a").verb("create").resource("configmaps").name(""));
        let error = create(&api, name).await.unwrap_err();
        assert_eq!(code(&error), want_code, "{name}: {error}");
        assert_eq!(truth.get_opt(name).await.unwrap().is_some(), want_written, "{name}");
        cluster.faults().calm();
    }
    create(&api, "afterwards").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_asks_to_slow_down_says_for_how_long() {
    let cluster = cluster().await;
    cluster.faults().script(Rule::new(Fault::TooManyRequests { retry_seconds: 3 }));
    let request = http::Request::get("/api/v1/nodes").body(kube::client::Body::empty()).unwrap();
    let response = cluster.client_for("a").send(request).await.unwrap();
    assert_eq!((response.status().as_u16(), response.headers()["retry-after"].to_str().unwrap()), (429, "3"));
}

#[tokio::test(start_paused = true)]
async fn slow_answers_take_the_time_they_are_told_to() {
    let cluster = cluster().await;
    cluster.faults().script(Rule::new(Fault::Slow(Duration::from_mins(7))).verb("list"));
    let before = Instant::now();
    names(&maps(cluster.client_for("a"))).await;
    assert_eq!(before.elapsed(), Duration::from_mins(7));
}

#[tokio::test(start_paused = true)]
async fn a_stale_list_shows_the_past() {
    let cluster = cluster().await;
    let api = maps(cluster.client_for("a"));
    for name in ["one", "two", "three"] {
        create(&api, name).await.unwrap();
    }
    let before = names(&api).await;
    cluster.faults().script(Rule::new(Fault::StaleList { behind: 2 }).verb("list"));
    assert_eq!((before.len(), names(&api).await, names(&api).await.len()), (3, vec!["one".to_owned()], 3));
    // A client that names the least version it wants is served the newest: chance leaves it alone, scripts do not.
    let wanted = ListParams::default().matching(VersionMatch::NotOlderThan).at("1");
    assert_eq!(api.list(&wanted).await.unwrap().items.len(), 3);
}

async fn watched(api: &Api<ConfigMap>, version: &str, count: usize) -> (Vec<String>, bool) {
    let stream = api.watch(&WatchParams::default(), version).await.unwrap();
    let mut stream = std::pin::pin!(stream);
    let mut seen = Vec::new();
    while seen.len() < count {
        match stream.next().await {
            Some(Ok(WatchEvent::Added(map))) => seen.push(map.metadata.name.unwrap()),
            Some(other) => panic!("{other:?}"),
            None => return (seen, true),
        }
    }
    (seen, false)
}

#[tokio::test(start_paused = true)]
async fn watches_come_late_end_early_and_repeat_themselves() {
    let cluster = cluster().await;
    let api = maps(cluster.client_for("a"));
    let version = api.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    for name in ["one", "two", "three"] {
        create(&api, name).await.unwrap();
    }
    let faults = cluster.faults();
    faults.script(Rule::new(Fault::DroppedWatch { after: 2 }).verb("watch"));
    assert_eq!(watched(&api, &version, 9).await, (vec!["one".into(), "two".into()], true));
    faults.script(Rule::new(Fault::RepeatedWatch { events: 2 }).verb("watch"));
    assert_eq!(watched(&api, &version, 5).await.0, ["one", "two", "one", "two", "three"]);
    faults.script(Rule::new(Fault::LateWatch(Duration::from_secs(30))).verb("watch"));
    let before = Instant::now();
    assert_eq!(watched(&api, &version, 3).await.0, ["one", "two", "three"]);
    assert_eq!(before.elapsed(), Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn a_disconnected_cluster_refuses_everything_until_it_is_healed() {
    let cluster = cluster().await;
    let (api, other) = (maps(cluster.client_for("a")), maps(cluster.client_for("b")));
    let stream = api.watch(&WatchParams::default(), "0").await.unwrap();
    let mut stream = std::pin::pin!(stream);
    let mut next = std::pin::pin!(stream.next());
    assert!(futures::poll!(next.as_mut()).is_pending());
    cluster.faults().disconnect_component("a", Outage::Refuse);
    assert!(next.await.unwrap().is_err(), "an established watch is cut");
    assert!(matches!(create(&api, "x").await.unwrap_err(), kube::Error::Service(_)));
    let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(cluster.client_for("a"), "default");
    let exec = pods.exec("p", ["sh"], &AttachParams::default()).await;
    assert!(exec.is_err_and(|error| error.to_string().contains("disconnected")), "upgrades too");
    create(&other, "y").await.unwrap();
    cluster.faults().disconnect(Outage::Refuse);
    create(&other, "z").await.unwrap_err();
    cluster.faults().heal();
    create(&api, "x").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_hanging_cluster_goes_on_where_it_stopped() {
    let cluster = cluster().await;
    let api = maps(cluster.client_for("a"));
    let stream = api.watch(&WatchParams::default(), "0").await.unwrap();
    let mut stream = std::pin::pin!(stream);
    cluster.faults().disconnect(Outage::Hang);
    let (hanging, faults) = (api.clone(), cluster.faults());
    let write = tokio::spawn(async move { create(&hanging, "late").await });
    create(&maps(cluster.client()), "early").await.unwrap();
    let nothing = tokio::time::timeout(Duration::from_hours(1), stream.try_next()).await;
    assert!(nothing.is_err() && !write.is_finished());
    faults.heal();
    write.await.unwrap().unwrap();
    for want in ["early", "late"] {
        let Some(WatchEvent::Added(map)) = stream.try_next().await.unwrap() else { panic!("no {want}") };
        assert_eq!(map.metadata.name.as_deref(), Some(want));
    }
}

/// Counts up in a ConfigMap, one write per second, from wherever it finds it.
async fn counter(client: Client) {
    let api = maps(client);
    loop {
        let found = api.get_opt("count").await.unwrap();
        match found {
            None => drop(create(&api, "count").await.unwrap()),
            Some(map) => {
                let next: u64 = map.data.unwrap()["key"].parse::<u64>().unwrap() + 1;
                let patch = json!({"data": {"key": next.to_string()}});
                api.patch("count", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_component_dies_at_its_nth_write_and_a_fresh_one_goes_on() {
    for (moment, want) in [(Moment::Before, "4"), (Moment::After, "5")] {
        let cluster = cluster().await;
        let faults = cluster.faults();
        faults.script(Rule::new(Fault::Crash(moment)).component("counter").writes().nth(5));
        let component = faults.run("counter", Duration::from_mins(10), counter);
        tokio::time::sleep(Duration::from_mins(5)).await;
        let truth = maps(cluster.client());
        let stood = truth.get("count").await.unwrap().data.unwrap().remove("key").unwrap();
        assert_eq!((stood.as_str(), component.starts()), (want, 1), "{moment:?}");
        tokio::time::sleep(Duration::from_mins(6)).await;
        let count: u64 = truth.get("count").await.unwrap().data.unwrap()["key"].parse().unwrap();
        assert!(count > 50 && component.starts() == 2, "{moment:?}: {count}");
        component.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_component_left_running_reaches_nobody() {
    let cluster = cluster().await;
    let faults = cluster.faults();
    faults.script(Rule::new(Fault::Crash(Moment::Before)).component("a").verb("create").nth(2));
    let _component = faults.run("a", Duration::from_hours(9), |client| async move {
        let api = maps(client);
        let leftover = api.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_mins(1)).await;
            let _ = create(&leftover, "leftover").await;
        });
        create(&api, "first").await.unwrap();
        let _ = create(&api, "second").await;
    });
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(names(&maps(cluster.client())).await, ["first"]);
}

#[tokio::test(start_paused = true)]
async fn built_in_controllers_meet_faults_too_and_get_over_them() {
    let cluster = Cluster::start(Config::simulated(1)).await.unwrap();
    let faults = cluster.faults();
    faults.script(Rule::new(Fault::InternalError).component("deployment-controller").verb("create").times(3));
    let deployments: Api<Deployment> = Api::namespaced(cluster.client(), "default");
    let web = json!({"metadata": {"name": "web"}, "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    deployments.create(&PostParams::default(), &serde_json::from_value(web).unwrap()).await.unwrap();
    tokio::time::sleep(Duration::from_mins(1)).await;
    let status = deployments.get("web").await.unwrap().status.unwrap();
    assert_eq!(status.replicas, Some(2));
    let entries = faults.log().entries();
    let failed = entries.iter().filter(|entry| entry.fault == "internal-error").count();
    assert_eq!(failed, 3, "{entries:#?}");
}

#[tokio::test(start_paused = true)]
async fn the_log_says_who_did_what_when_and_hashes_it() {
    let cluster = cluster().await;
    let faults = cluster.faults();
    let empty = faults.log().hash();
    faults.script(Rule::new(Fault::Conflict).verb("patch"));
    let api = maps(cluster.client_for("writer"));
    create(&api, "one").await.unwrap();
    tokio::time::sleep(Duration::from_secs(90)).await;
    let _ = api.patch("one", &PatchParams::default(), &Patch::Merge(json!({"data": {}}))).await;
    let lines: Vec<String> = faults.log().entries().iter().map(ToString::to_string).collect();
    let revision = cluster.store().revision();
    assert_eq!(
        lines,
        [
            format!("2026-01-01T00:00:00Z writer create configmaps/default -> 201 @{revision}"),
            format!("2026-01-01T00:01:30Z writer patch configmaps/default/one -> 409 @{revision} [conflict]"),
        ]
    );
    assert!(faults.log().count() == 2 && faults.log().hash() != empty);
}

#[tokio::test(start_paused = true)]
async fn one_seed_has_one_bad_day() {
    let day = async |seed: u64| {
        let cluster = cluster().await;
        let faults = cluster.faults();
        faults.by_seed(seed, Chances { conflict: 0.2, ..Chances::ROUGH });
        let api = maps(cluster.client_for("a"));
        for number in 0..200 {
            let _ = create(&api, &format!("map-{}", number % 20)).await;
            let patch = Patch::Merge(json!({"data": {"key": number.to_string()}}));
            let _ = api.patch("map-3", &PatchParams::default(), &patch).await;
        }
        let met = faults.log().entries().iter().filter(|entry| !entry.fault.is_empty()).count();
        (faults.log().hash(), met)
    };
    let (first, met) = day(7).await;
    assert!((40..200).contains(&met), "{met}");
    assert_eq!(first, day(7).await.0);
    assert_ne!(first, day(8).await.0);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_has_switched_protocols_is_cut_too() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let cluster = cluster().await;
    let faults = cluster.faults();
    let open = |instance: Instance| {
        let ((near, inner_near), (inner_far, far)) = (tokio::io::duplex(64), tokio::io::duplex(64));
        tokio::spawn(Wire::new(Arc::clone(&faults.plan), instance).carry(inner_near, inner_far));
        (near, far)
    };
    let (living, dying) = (Instance::new("a"), Instance::new("b"));
    let (mut near, mut far) = open(living);
    let (mut dead, _far) = open(dying.clone());
    near.write_all(b"one").await.unwrap();
    let mut word = [0; 3];
    far.read_exact(&mut word).await.unwrap();
    assert_eq!(&word, b"one");
    faults.disconnect_component("a", Outage::Hang);
    near.write_all(b"two").await.unwrap();
    let hour = Duration::from_hours(1);
    assert!(tokio::time::timeout(hour, far.read(&mut word)).await.is_err(), "nothing comes through");
    faults.heal();
    far.read_exact(&mut word).await.unwrap();
    assert_eq!(&word, b"two");
    dying.die();
    assert_eq!(dead.read(&mut word).await.unwrap(), 0, "what a dead component had open is closed");
    faults.disconnect_component("a", Outage::Refuse);
    assert_eq!(near.read(&mut word).await.unwrap(), 0);
    assert_eq!(far.read(&mut word).await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_crash_is_not_used_up_by_what_cannot_crash() {
    let cluster = Cluster::start(Config::simulated(1)).await.unwrap();
    cluster.faults().script(Rule::new(Fault::Crash(Moment::Before)).writes());
    // Controllers of the cluster write for a new namespace.
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(cluster.client());
    let namespace = serde_json::from_value(json!({"metadata": {"name": "n"}})).unwrap();
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    tokio::time::sleep(Duration::from_mins(1)).await;
    let log = cluster.faults().log().entries();
    assert!(log.iter().all(|entry| !entry.fault.starts_with("crash")), "{log:?}");
    let api = maps(cluster.client_for("a"));
    let write = tokio::time::timeout(Duration::from_mins(1), create(&api, "x")).await;
    assert!(write.is_err(), "the one who can crash does");
}
