//! The heat map and what else is looked at, with kubelets that a real API server reaches over TLS.
//!
//! How busy cards are is not asked for here: an API server proxies to no node on the loopback, where these are. Prometheus
//! tells it in `prometheus.rs`.

use std::{collections::BTreeSet, process::Command};

use serde_json::{Value, json};

use super::{desk, ends, user};
use crate::{
    browser::Browser,
    lives::reaches,
    looking::{behave, lines, next, stream},
    world::{World, clock_now, eventually},
};

/// Cards of the nodes of this test, each with its node.
async fn cards(of: &Browser) -> Vec<(String, Value)> {
    let (_, shown) = of.get(&format!("/nodes?search=portal-{}", std::process::id())).await;
    let nodes = shown["items"].as_array().unwrap().clone();
    let of_node = |node: &Value| {
        let cards = node["cards"][0]["cards"].as_array().cloned().unwrap_or_default();
        cards.into_iter().map(|card| (node["name"].as_str().unwrap().to_owned(), card)).collect::<Vec<_>>()
    };
    nodes.iter().flat_map(of_node).collect()
}

/// Those on which work of this name is.
fn held_by<'a>(cards: &'a [(String, Value)], name: &str) -> Vec<&'a (String, Value)> {
    let is = |card: &Value| card["holders"].as_array().unwrap().iter().any(|holder| holder["name"] == name);
    cards.iter().filter(|(_, card)| is(card)).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real cluster: make real"]
async fn the_heat_map_of_a_real_cluster_shows_who_is_on_which_card() {
    let world = World::real(|settings| settings.requests_per_second = 1000).await;
    let (ada, bob) = (user(&world, "ada").await, user(&world, "bob").await);
    let path = desk(&ada, json!({ "cards": { "count": 2 } })).await;
    let node = reaches(&ada, &path, "Running").await["node"].clone();
    eventually("both cards of one Pod", async || held_by(&cards(&ada).await, "desk").len() == 2).await;
    let free: Vec<Value> = cards(&ada)
        .await
        .into_iter()
        .filter(|(of, card)| node == of.as_str() && card["holders"] == json!([]))
        .map(|(_, card)| card["index"].clone())
        .collect();
    // A card that two share, and a job of two Pods with two cards each, which has an hour.
    let half = json!({ "name": "half", "image": "busybox", "command": ["sleep", "1d"], "nodes": [node],
        "cards": { "share": "0.5", "index": free[0] } });
    for who in [&ada, &bob] {
        let (status, said) = who.post("/workspaces", half.clone()).await;
        assert_eq!(status, 201, "{said}");
        reaches(who, &format!("/workspaces/{}/half", who.namespace().await), "Running").await;
    }
    let task = json!({ "name": "main", "replicas": 2, "cards": { "count": 2 }, "template": { "spec": {
        "containers": [{ "name": "main", "image": "busybox", "command": ["sleep", "1d"] }] } } });
    let job = json!({ "metadata": { "name": "train" }, "spec": { "maxRunSeconds": 3600, "tasks": [task] } });
    assert_eq!(ada.post("/jobs", job).await.0, 201);
    reaches(&ada, &format!("/jobs/{}/train", ada.namespace().await), "Running").await;

    eventually("the cards of the job", async || held_by(&cards(&ada).await, "train").len() == 4).await;
    let all = cards(&ada).await;
    assert_eq!(all.len(), 16, "{all:?}");
    let own = format!("ada-{}", std::process::id());
    for (of, card) in held_by(&all, "desk") {
        assert_eq!(
            (json!(of), &card["exclusive"], &card["freeAt"]),
            (node.clone(), &json!(true), &Value::Null)
        );
        assert_eq!(card["holders"][0]["kind"], "workspace", "{card}");
        assert_eq!((&card["holders"][0]["user"], &card["holders"][1]), (&json!(own), &Value::Null), "{card}");
    }
    let [(of, shared)] = held_by(&all, "half")[..] else { panic!("one card: {all:?}") };
    assert_eq!((json!(of), &shared["index"]), (node.clone(), &free[0]));
    assert_eq!((&shared["exclusive"], shared["holders"].as_array().unwrap().len()), (&json!(false), 2));
    for (_, card) in held_by(&all, "train") {
        assert_eq!(card["holders"][0]["kind"], "job", "{card}");
        let free: jiff::Timestamp = card["freeAt"].as_str().unwrap().parse().unwrap();
        let minutes = free.duration_since(clock_now()).as_mins();
        assert!((50..=60).contains(&minutes), "free soon: {card}");
    }
    let empty = all.iter().filter(|(_, card)| card["holders"] == json!([])).count();
    assert_eq!(empty, 16 - 2 - 1 - 4, "{all:?}");

    // Bob sees whose they are, and not what is done there; his own part by its name.
    let theirs = cards(&bob).await;
    assert_eq!(held_by(&theirs, "desk").len() + held_by(&theirs, "train").len(), 0, "{theirs:?}");
    assert_eq!(held_by(&theirs, "half").len(), 1);
    let users = |(_, card): &(String, Value)| card["holders"].as_array().unwrap().clone();
    let of_ada = theirs.iter().filter(|one| users(one).iter().any(|holder| holder["user"] == own.as_str()));
    assert_eq!(of_ada.count(), 7, "{theirs:?}");
    let (_, near) = bob.get(&format!("/workspaces/{}/half/neighbours", bob.namespace().await)).await;
    assert_eq!(
        (near["items"].as_array().unwrap().len(), &near["items"][0]["user"]),
        (1, &json!(own)),
        "{near}"
    );
    ends(world, &[&ada, &bob]).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real cluster: make real"]
async fn what_a_workspace_of_a_real_cluster_says_and_what_befell_it_is_read() {
    let world = World::real(|settings| settings.requests_per_second = 1000).await;
    let ada = user(&world, "ada").await;
    let path = desk(&ada, json!({ "env": { "A": "1" } })).await;
    let node = reaches(&ada, &path, "Running").await["node"].as_str().unwrap().to_owned();
    let talk = json!({ "sim.maar.io/log": "line {{n}}", "sim.maar.io/log-interval": "50ms" });
    behave(&world, &path, talk).await;
    let log = format!("{path}/logs");
    eventually("lines", async || lines(&ada, &log).await.len() > 10).await;
    assert_eq!(lines(&ada, &format!("{log}?tail=3")).await.len(), 3);
    let mut followed = stream(&world, &ada, &format!("{log}?follow=true&tail=1")).await;
    let mut heard = String::new();
    while heard.lines().count() < 5 {
        heard.push_str(&next(&mut followed).await.expect("it goes on"));
    }
    behave(&world, &path, json!({ "sim.maar.io/fail-now": "1" })).await;
    while next(&mut followed).await.is_some() {}
    let previous = format!("{log}?previous=true");
    eventually("another container", async || ada.get(&previous).await.0 == 200).await;
    assert!(lines(&ada, &previous).await.len() > 10, "what the one before has said");

    let (_, events) = ada.get(&format!("{path}/events")).await;
    let reasons: BTreeSet<&str> =
        events["items"].as_array().unwrap().iter().map(|one| one["reason"].as_str().unwrap()).collect();
    assert!(["Running", "Started"].iter().all(|reason| reasons.contains(reason)), "{events}");
    let (_, text) = ada.get(&format!("{path}/describe")).await;
    let text = text.as_str().unwrap();
    assert!(text.contains("Running") && text.contains(&node) && text.contains("Started"), "{text}");
    // What is exported can be brought to another cluster: it says what is wanted, and nothing of this one.
    let (_, yaml) = ada.get(&format!("{path}/yaml")).await;
    let yaml: Value = serde_saphyr::from_str(yaml.as_str().unwrap()).unwrap();
    assert_eq!((&yaml["kind"], &yaml["spec"]["image"]), (&json!("Workspace"), &json!("busybox")));
    assert!(
        ["uid", "resourceVersion", "managedFields"].iter().all(|one| yaml["metadata"][one].is_null()),
        "{yaml}"
    );
    assert!(yaml["status"].is_null(), "{yaml}");
    ends(world, &[&ada]).await;
}

#[expect(clippy::disallowed_methods, reason = "tests learn of real clusters by the environment")]
fn kubectl(namespace: &str, words: &[&str]) {
    let [kubectl, config] = ["MAAR_REAL_KUBECTL", "MAAR_REAL_KUBECONFIG"]
        .map(|name| std::env::var(name).expect("make real sets it"));
    let config = config.split(':').next().unwrap_or_default();
    let output =
        Command::new(kubectl).args(["--kubeconfig", config, "--namespace", namespace]).args(words).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real cluster: make real"]
async fn what_was_made_with_kubectl_is_shown_to_whose_namespace_it_is() {
    let world = World::real(|_| {}).await;
    let (ada, bob) = (user(&world, "ada").await, user(&world, "bob").await);
    desk(&ada, json!({})).await;
    let namespace = ada.namespace().await;
    kubectl(&namespace, &["create", "deployment", "web", "--image=busybox:1", "--replicas=2"]);
    let file = tempfile::NamedTempFile::new().unwrap();
    let set = json!({ "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": { "name": "store" }, "spec": {
        "serviceName": "store", "replicas": 1, "selector": { "matchLabels": { "app": "store" } }, "template": {
            "metadata": { "labels": { "app": "store" } },
            "spec": { "containers": [{ "name": "main", "image": "redis:7" }] } } } });
    std::fs::write(file.path(), set.to_string()).unwrap();
    kubectl(&namespace, &["apply", "-f", file.path().to_str().unwrap()]);
    let shown = async |who: &Browser| {
        let (_, list) = who.get("/apps").await;
        let line = |one: &Value| {
            let text = |what: &str| one[what].as_str().unwrap_or_default().to_owned();
            format!("{} {} {} {}/{}", text("kind"), text("name"), text("image"), one["ready"], one["wanted"])
        };
        list["items"].as_array().unwrap().iter().map(line).collect::<Vec<_>>()
    };
    let both = ["StatefulSet store redis:7 1/1", "Deployment web busybox:1 2/2"];
    eventually("both, ready", async || shown(&ada).await == both).await;
    assert_eq!(shown(&bob).await, Vec::<String>::new());
    kubectl(&namespace, &["scale", "deployment", "web", "--replicas=1"]);
    eventually("one Pod less", async || shown(&ada).await[1].ends_with("1/1")).await;
    kubectl(&namespace, &["delete", "statefulset", "store"]);
    eventually("the end of one", async || shown(&ada).await.len() == 1).await;
    ends(world, &[&ada]).await;
}
