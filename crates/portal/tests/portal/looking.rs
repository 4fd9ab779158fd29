//! Looking into work: logs, events, what its cards do, its Pods, in pages; and what ends a stream.

use std::{collections::BTreeSet, time::Duration};

use axum::body::{Body, BodyDataStream};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use maar_portal::CardSource;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::{
    browser::Browser,
    lives::reaches,
    world::{World, clock_now, eventually},
};

/// Whose access to streams is looked at again every moment.
async fn quick() -> World {
    World::with(|settings| {
        settings.look_again = Duration::from_millis(100);
        settings.requests_per_second = 1000;
    })
    .await
}

/// What the simulated container of a workspace shall do.
pub(crate) async fn behave(world: &World, place: &str, what: Value) {
    let mut parts = place.split('/').skip(2);
    let api: Api<Pod> = Api::namespaced(world.client.clone(), parts.next().unwrap());
    let patch = json!({ "metadata": { "annotations": what } });
    api.patch(parts.next().unwrap(), &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
}

/// A workspace that says a line every 50 ms.
async fn talkative(world: &World, of: &Browser) -> String {
    let path = of.workspace("desk", json!({ "command": ["sleep", "1d"] })).await;
    reaches(of, &path, "Running").await;
    behave(world, &path, json!({ "sim.maar.io/log": "line {{n}}", "sim.maar.io/log-interval": "50ms" }))
        .await;
    path
}

/// The numbers of the lines of a log.
pub(crate) async fn lines(of: &Browser, path: &str) -> Vec<usize> {
    let (status, text) = of.get(path).await;
    assert_eq!(status, 200, "{text}");
    numbers(text.as_str().unwrap())
}

fn numbers(text: &str) -> Vec<usize> {
    text.lines().map(|line| line.rsplit_once("line ").unwrap().1.parse().unwrap()).collect()
}

pub(crate) async fn stream(world: &World, of: &Browser, path: &str) -> BodyDataStream {
    let request = of.request("GET", path).body(Body::empty()).unwrap();
    let answer = world.router.clone().oneshot(request).await.unwrap();
    assert_eq!(answer.status(), 200, "{path}");
    answer.into_body().into_data_stream()
}

/// What comes next; nothing if it has ended.
pub(crate) async fn next(stream: &mut BodyDataStream) -> Option<String> {
    let next = tokio::time::timeout(Duration::from_secs(20), stream.next()).await.expect("more, or an end");
    next.map(|bytes| String::from_utf8_lossy(&bytes.unwrap()).into_owned())
}

#[tokio::test]
async fn a_log_is_read_from_where_one_asks_for_it() {
    let world = quick().await;
    let ada = world.user("ada").await;
    let path = talkative(&world, &ada).await;
    let log = format!("{path}/logs");
    eventually("two seconds of lines", async || lines(&ada, &log).await.len() > 50).await;
    let whole = lines(&ada, &log).await;
    assert_eq!(whole, (1..=whole.len()).collect::<Vec<_>>(), "from the first line on");
    let last = lines(&ada, &format!("{log}?tail=3")).await;
    assert!(last.len() == 3 && last[0] > whole.len() - 3 && last[2] == last[0] + 2, "{last:?}");
    assert_eq!(lines(&ada, &format!("{log}?tail=0")).await, Vec::<usize>::new());
    let fresh = lines(&ada, &format!("{log}?sinceSeconds=1")).await;
    assert!((10..=25).contains(&fresh.len()) && fresh[0] > 25, "a second of lines: {fresh:?}");
    let (_, dated) = ada.get(&format!("{log}?tail=1&timestamps=true")).await;
    let (time, _) = dated.as_str().unwrap().split_once(' ').unwrap();
    let age = clock_now().duration_since(time.parse().unwrap());
    assert!(age.as_secs() < 10, "{dated}");
    for (query, field) in [
        ("tail=-1", "tail"),
        ("tail=100001", "tail"),
        ("sinceSeconds=0", "sinceSeconds"),
        ("tail=many", "query"),
    ] {
        let (status, said) = ada.get(&format!("{log}?{query}")).await;
        assert_eq!((status, &said["field"]), (422, &json!(field)), "{query}: {said}");
    }
    // The container before: there is none, and then there is.
    assert_eq!(ada.get(&format!("{log}?previous=true")).await.0, 422);
    let before = lines(&ada, &log).await.len();
    behave(&world, &path, json!({ "sim.maar.io/fail-now": "1" })).await;
    let previous = format!("{log}?previous=true");
    eventually("another container", async || ada.get(&previous).await.0 == 200).await;
    let ended = lines(&ada, &previous).await;
    assert!(ended.len() >= before, "{} lines, and {before} before its end", ended.len());
    eventually("its first lines", async || !lines(&ada, &log).await.is_empty()).await;
    assert_eq!(lines(&ada, &log).await[0], 1, "the new one begins anew");
    assert_eq!(lines(&ada, &previous).await, ended, "what has ended says no more");
}

#[tokio::test]
async fn a_log_that_is_followed_goes_on_until_its_reader_or_its_container_goes() {
    let world = quick().await;
    let ada = world.user("ada").await;
    let path = talkative(&world, &ada).await;
    let follow = format!("{path}/logs?follow=true&tail=1");
    let mut followed = stream(&world, &ada, &follow).await;
    let mut heard = String::new();
    while heard.lines().count() < 10 {
        heard.push_str(&next(&mut followed).await.expect("it goes on"));
    }
    let numbers = numbers(&heard);
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "each line once: {numbers:?}");
    // Who has signed out hears no more.
    let other = world.browser();
    assert_eq!(other.login("ada", super::world::PASSWORD).await.0, 200);
    let mut of_other = stream(&world, &other, &follow).await;
    assert!(next(&mut of_other).await.is_some());
    assert_eq!(other.call("POST", "/logout", None).await.0, 204);
    while next(&mut of_other).await.is_some() {}
    assert!(next(&mut followed).await.is_some(), "the other session goes on");
    // The end of what is read. Who does not read while it is looked whether he may holds up nobody.
    assert_eq!(ada.delete(&path).await.0, 204);
    while next(&mut followed).await.is_some() {}
}

#[tokio::test]
async fn a_stream_of_changes_ends_when_its_listener_signs_out() {
    let world = quick().await;
    let ada = world.user("ada").await;
    let (_, secret) = ada.key("ci", &["cluster:read"]).await;
    let program = ada.program(&secret);
    let mut by_key = stream(&world, &program, "/changes").await;
    let mut by_session = stream(&world, &ada, "/changes").await;
    for listener in [&mut by_key, &mut by_session] {
        assert!(next(listener).await.unwrap().starts_with("event: ready"));
        // It is looked at again, and goes on.
        while !next(listener).await.unwrap().contains("still here") {}
    }
    assert_eq!(ada.call("POST", "/logout", None).await.0, 204);
    while next(&mut by_session).await.is_some() {}
    assert!(next(&mut by_key).await.is_some(), "a key does not sign out");
}

/// Something that happened to an object.
fn event(number: usize, kind: &str, name: &str, at: jiff::Timestamp) -> Event {
    serde_json::from_value(json!({
        "metadata": { "name": format!("e{number}") }, "type": if number.is_multiple_of(2) { "Normal" } else { "Warning" },
        "reason": "Tried", "message": format!("number {number}"), "count": number + 1,
        "involvedObject": { "kind": kind, "name": name }, "lastTimestamp": format!("{at:.0}"),
    }))
    .unwrap()
}

#[tokio::test]
async fn events_are_told_newest_first_in_pages_the_last_thousand() {
    const MADE: usize = 1010;
    let world = World::with(|settings| settings.requests_per_second = 1000).await;
    let ada = world.user("ada").await;
    let path = ada.workspace("desk", json!({ "command": ["sleep", "1d"] })).await;
    reaches(&ada, &path, "Running").await;
    let list = format!("{path}/events");
    // What really happened.
    let reasons = async || -> BTreeSet<String> {
        let items = ada.get(&format!("{list}?limit=500")).await.1["items"].as_array().unwrap().clone();
        items
            .iter()
            .map(|one| format!("{} {}", one["kind"].as_str().unwrap(), one["reason"].as_str().unwrap()))
            .collect()
    };
    eventually("the start of its Pod", async || reasons().await.contains("Pod Started")).await;
    assert!(reasons().await.contains("Workspace Running"), "{:?}", reasons().await);
    // And much more, all of it later, in no order.
    let namespace = ada.namespace().await;
    let api: Api<Event> = Api::namespaced(world.client.clone(), &namespace);
    let begin = clock_now() + jiff::SignedDuration::from_hours(1);
    let make = async |number: usize| {
        let at = begin + jiff::SignedDuration::from_secs(i64::try_from(number).unwrap());
        let mut made = event(number, "Workspace", "desk", at);
        made.involved_object.namespace = Some(namespace.clone());
        api.create(&PostParams::default(), &made).await.unwrap();
        // Of others, which are not asked for.
        if number.is_multiple_of(100) {
            let mut other = event(MADE + number, "Workspace", "other", at);
            other.involved_object.namespace = Some(namespace.clone());
            api.create(&PostParams::default(), &other).await.unwrap();
        }
    };
    for number in (0..MADE).map(|number| (number * 7) % MADE) {
        make(number).await;
    }
    let (status, first) = ada.get(&list).await;
    let (items, newest) = (first["items"].as_array().unwrap(), &first["items"][0]);
    assert_eq!((status, items.len()), (200, 50), "{first}");
    assert_eq!(
        (&newest["message"], &newest["type"], &newest["count"], &newest["kind"], &newest["name"]),
        (&json!("number 1009"), &json!("Warning"), &json!(1010), &json!("Workspace"), &json!("desk"))
    );
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let (_, page) = ada.get(&format!("{list}?limit=400{cursor}")).await;
        seen.extend(
            page["items"].as_array().unwrap().iter().map(|one| one["message"].as_str().unwrap().to_owned()),
        );
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let want: Vec<String> = (10..MADE).rev().map(|number| format!("number {number}")).collect();
    assert_eq!(seen, want);
    assert_eq!(ada.get(&format!("{list}?limit=501")).await.0, 422);
    assert_eq!(ada.get(&format!("{list}?cursor=x")).await.1["field"], "cursor");
    let described = ada.get(&format!("{path}/describe")).await.1;
    let text = described.as_str().unwrap();
    assert!(text.contains("number 1009") && !text.contains("number 700\n"), "{text}");
}

#[tokio::test]
async fn a_job_tells_what_its_cards_do_and_its_pods_in_pages() {
    let world = World::with(|settings| {
        settings.cards = CardSource::Nodes;
        settings.cards_every = Duration::from_millis(200);
    })
    .await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    let task = json!({ "name": "main", "replicas": 3, "cards": { "count": 1 }, "template": { "spec": {
        "containers": [{ "name": "main", "image": "busybox", "command": ["sleep", "1d"] }] } } });
    let body = json!({ "metadata": { "name": "train" }, "spec": { "tasks": [task] } });
    assert_eq!(ada.post("/jobs", body).await.0, 201);
    let path = format!("/jobs/{}/train", ada.namespace().await);
    let detail = reaches(&ada, &path, "Running").await;
    assert_eq!((&detail["podCount"], detail["pods"].as_array().unwrap().len()), (&json!(3), 3), "{detail}");
    let (_, page) = ada.get(&format!("{path}/pods?limit=2")).await;
    let (_, rest) = ada.get(&format!("{path}/pods?limit=2&cursor={}", page["next"].as_str().unwrap())).await;
    let names = |page: &Value| -> Vec<String> {
        page["items"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    let all = [names(&page), names(&rest)].concat();
    let mut sorted = all.clone();
    sorted.sort();
    assert!(all.len() == 3 && all == sorted && rest.get("next").is_none(), "{all:?}");
    assert_eq!(page["items"][0]["phase"], "Running", "{page}");
    eventually("what three cards do", async || {
        let (status, usage) = ada.get(&format!("{path}/usage?minutes=5")).await;
        assert_eq!(status, 200, "{usage}");
        let cards = usage["cards"].as_array().unwrap();
        cards.len() == 3 && cards.iter().all(|card| !card["points"].as_array().unwrap().is_empty())
    })
    .await;
    let (_, usage) = ada.get(&format!("{path}/usage")).await;
    let cards: BTreeSet<&str> =
        usage["cards"].as_array().unwrap().iter().map(|one| one["card"].as_str().unwrap()).collect();
    assert_eq!(cards.len(), 3, "each card once: {usage}");
    for wrong in ["minutes=0", "minutes=61"] {
        assert_eq!(ada.get(&format!("{path}/usage?{wrong}")).await.0, 422, "{wrong}");
    }
    for part in ["usage", "pods"] {
        assert_eq!(eve.get(&format!("{path}/{part}")).await.0, 404, "{part}");
    }
}

#[tokio::test]
async fn a_preview_comes_in_pages_and_counts_all_of_it() {
    let world = World::new().await;
    let (admin, ada) = (world.admin().await, world.user("ada").await);
    world.account("lab", &[("ada", "Member")], &ada).await;
    for name in ["a", "b", "c"] {
        let path = ada.workspace(name, json!({ "account": "lab", "command": ["sleep", "1d"] })).await;
        reaches(&ada, &path, "Running").await;
    }
    let later = clock_now() + jiff::SignedDuration::from_hours(12);
    let at = later.strftime("%H:%M").to_string();
    let policy = json!({ "nightly": { "at": at, "timeZone": "UTC", "warnMinutes": 30 } });
    let body = json!({ "account": "lab", "policy": policy });
    let names = |page: &Value| -> Vec<String> {
        page["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let (_, first) = admin.post("/policies/preview?limit=2", body.clone()).await;
    assert_eq!((names(&first).join(" "), &first["total"]), ("a b".to_owned(), &json!(3)), "{first}");
    let next = format!("/policies/preview?limit=2&cursor={}", first["next"].as_str().unwrap());
    let (_, rest) = admin.post(&next, body).await;
    assert_eq!((names(&rest).join(" "), &rest["total"]), ("c".to_owned(), &json!(3)), "{rest}");
    assert!(rest.get("next").is_none() && rest["hash"] == first["hash"], "{rest}");
    let (_, log) = admin.get("/audit?action=previewPolicy").await;
    assert!(log["items"].as_array().unwrap().iter().all(|one| one["after"]["findings"] == 3), "{log}");
}

#[tokio::test]
async fn who_asks_too_often_waits_by_session_and_by_key_alike_and_nobody_else() {
    let world = World::with(|settings| settings.requests_per_second = 20).await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    let (_, secret) = ada.key("ci", &["jobs:read"]).await;
    let program = ada.program(&secret);
    let (mut refused, mut refused_key) = (Value::Null, 0);
    for _ in 0..200 {
        let request = ada.request("GET", "/me").body(Body::empty()).unwrap();
        let (status, headers, said) = ada.send(request).await;
        if status == 429 {
            assert!(headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap() >= 1, "{headers:?}");
            refused = said;
        }
        refused_key += usize::from(program.get("/me").await.0 == 429);
    }
    assert_eq!(refused["code"], "tooMany", "{refused}");
    assert!(refused_key > 0, "a key is no second allowance");
    assert_eq!(eve.get("/me").await.0, 200, "others are not kept out");
    eventually("the wait to be over", async || ada.get("/me").await.0 == 200).await;
}
