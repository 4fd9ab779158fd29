//! Watches of a server that reads from a script, with paused time.

use std::{convert::Infallible, sync::Arc};

use axum::body::Body as AxumBody;
use futures::{future, stream};
use http::{Request, Response};
use k8s_openapi::api::core::v1::Pod;
use kube::{Client, ResourceExt, client::Body};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower::service_fn;

use super::*;

/// What the server does with one request.
#[derive(Debug)]
enum Answer {
    List(Value),
    /// Sends lines, then ends the connection.
    Lines(Vec<Value>),
    /// Sends lines, then nothing more.
    LinesThenSilence(Vec<Value>),
    Refuse(u16),
    Silence,
}

#[derive(Clone)]
struct Script {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    requests: Arc<Mutex<Vec<(u64, String)>>>,
}

fn pod(name: &str, version: &str) -> Value {
    json!({ "metadata": { "name": name, "namespace": "a", "resourceVersion": version } })
}

fn list(version: &str, items: &Value) -> Answer {
    Answer::List(json!({ "metadata": { "resourceVersion": version }, "items": items }))
}

fn change(kind: &str, object: Value) -> Value {
    let mut object = object;
    object["kind"] = json!("Pod");
    object["apiVersion"] = json!("v1");
    json!({ "type": kind, "object": object })
}

fn bookmark(version: &str) -> Value {
    change("BOOKMARK", json!({ "metadata": { "resourceVersion": version } }))
}

fn gone() -> Value {
    json!({ "type": "ERROR", "object": { "kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old" } })
}

fn body(lines: &[Value]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

impl Script {
    fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.into_iter().collect())), requests: Arc::default() }
    }

    fn client(&self) -> Client {
        let (script, begun) = (self.clone(), Instant::now());
        Client::new(
            service_fn(move |request: Request<Body>| {
                let script = script.clone();
                async move {
                    let query = request
                        .uri()
                        .query()
                        .unwrap_or_default()
                        .replace("&timeoutSeconds", " timeoutSeconds");
                    let verb = if query.contains("watch=true") { "watch" } else { "list" };
                    let version = query
                        .split('&')
                        .find(|part| part.starts_with("resourceVersion=") || part.starts_with("continue="));
                    let line = format!("{verb} {}", version.unwrap_or_default());
                    script.requests.lock().push((begun.elapsed().as_secs(), line));
                    let answer = script.answers.lock().pop_front().unwrap_or(Answer::Silence);
                    answer.send().await
                }
            }),
            "default",
        )
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().iter().map(|(_, line)| line.trim().to_owned()).collect()
    }
}

impl Answer {
    async fn send(self) -> Result<Response<AxumBody>, Infallible> {
        let (code, body) = match self {
            Self::Silence => future::pending().await,
            Self::List(value) => (200, AxumBody::from(value.to_string())),
            Self::Lines(lines) => (200, AxumBody::from(body(&lines))),
            Self::LinesThenSilence(lines) => {
                let first = stream::iter([Ok::<_, Infallible>(body(&lines))]);
                (200, AxumBody::from_stream(first.chain(stream::pending())))
            }
            Self::Refuse(code) => {
                let status = json!({ "kind": "Status", "status": "Failure", "code": code, "reason": "", "message": "no" });
                (code, AxumBody::from(status.to_string()))
            }
        };
        Ok(Response::builder().status(code).body(body).unwrap())
    }
}

fn watch(script: &Script, environment: &Environment) -> Watch<Guarded<Pod>> {
    Watch::new("pods", Api::all(script.client()), Selection::default(), environment.clone())
}

fn told(event: &Event<Guarded<Pod>>) -> String {
    match event {
        Event::Init => "init".to_owned(),
        Event::InitDone => "done".to_owned(),
        Event::InitApply(object) => format!("has {}", object.name_any()),
        Event::Apply(object) => format!("set {}", object.name_any()),
        Event::Delete(object) => format!("del {}", object.name_any()),
    }
}

/// What a watch of `answers` tells within ten minutes.
async fn story(script: &Script, environment: &Environment) -> Vec<String> {
    let events = Mutex::new(Vec::new());
    let stream = watch(script, environment).stream().for_each(|event| {
        events.lock().push(told(&event));
        future::ready(())
    });
    let _ = timeout(Duration::from_mins(10), stream).await;
    events.into_inner()
}

#[tokio::test(start_paused = true)]
async fn lists_page_by_page_and_follows() {
    let page =
        json!({ "metadata": { "resourceVersion": "5", "continue": "next" }, "items": [pod("a", "1")] });
    let script = Script::new([
        Answer::List(page),
        list("5", &json!([pod("b", "2")])),
        Answer::LinesThenSilence(vec![
            change("ADDED", pod("c", "6")),
            change("MODIFIED", pod("a", "7")),
            change("DELETED", pod("b", "8")),
        ]),
    ]);
    let events = story(&script, &Environment::for_tests()).await;
    assert_eq!(events, ["init", "has a", "has b", "done", "set c", "set a", "del b"]);
    assert_eq!(script.requests()[..3], ["list", "list continue=next", "watch resourceVersion=5"]);
}

#[tokio::test(start_paused = true)]
async fn reconnects_from_the_last_version_bookmarks_included() {
    let script = Script::new([
        list("5", &json!([])),
        Answer::Lines(vec![change("ADDED", pod("a", "6")), bookmark("9")]),
        Answer::Lines(vec![change("ADDED", pod("b", "10"))]),
    ]);
    let events = story(&script, &Environment::for_tests()).await;
    assert_eq!(events, ["init", "done", "set a", "set b"]);
    let want = ["list", "watch resourceVersion=5", "watch resourceVersion=9", "watch resourceVersion=10"];
    assert_eq!(script.requests()[..4], want);
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_version_is_listed_again() {
    for expired in [Answer::Refuse(410), Answer::Lines(vec![gone()])] {
        let script = Script::new([list("5", &json!([])), expired, list("20", &json!([pod("a", "19")]))]);
        let events = story(&script, &Environment::for_tests()).await;
        assert_eq!(events, ["init", "done", "init", "has a", "done"]);
        assert_eq!(script.requests()[2..4], ["list", "watch resourceVersion=20"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_older_than_what_was_seen_is_asked_for_again() {
    let script = Script::new([
        list("5", &json!([])),
        Answer::Lines(vec![change("ADDED", pod("a", "21")), gone()]),
        list("20", &json!([])),
        list("21", &json!([pod("a", "21")])),
    ]);
    let events = story(&script, &Environment::for_tests()).await;
    assert_eq!(events, ["init", "done", "set a", "init", "has a", "done"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_set_back_is_believed_in_the_end() {
    let old = || list("3", &json!([pod("b", "2")]));
    let script = Script::new(
        [list("5", &json!([])), Answer::Lines(vec![gone()])].into_iter().chain((0..9).map(|_| old())),
    );
    let events = story(&script, &Environment::for_tests()).await;
    assert_eq!(events, ["init", "done", "init", "has b", "done"]);
}

#[tokio::test(start_paused = true)]
async fn failures_back_off_and_are_told_to_health() {
    let environment = Environment::for_tests();
    let refusals = (0..8).map(|_| Answer::Refuse(500));
    let script =
        Script::new(refusals.chain([list("5", &json!([pod("a", "1")])), Answer::LinesThenSilence(vec![])]));
    let stream = watch(&script, &environment).stream();
    let mut stream = std::pin::pin!(stream);
    assert_eq!(told(&stream.next().await.unwrap()), "init");
    assert!(timeout(Duration::from_secs(3), stream.next()).await.is_err());
    let line = environment.health.ready().remove(0);
    assert!(!line.ok && line.reason.starts_with("list pods: no (500)"), "{line:?}");
    while told(&stream.next().await.unwrap()) != "done" {}
    let _ = timeout(Duration::from_secs(1), stream.next()).await;
    let line = environment.health.ready().remove(0);
    assert!(line.ok && line.reason.starts_with("1 objects at version 5"), "{line:?}");
    // The pauses grew: eight quick retries would have taken less than a second.
    let times: Vec<u64> = script.requests.lock().iter().map(|(second, _)| *second).collect();
    assert!(times[8] >= 30, "{times:?}");
    let body = environment.metrics.encode();
    assert!(body.contains("maar_watch_failures_total{watch=\"pods\",category=\"transient\"} 8"), "{body}");
    assert!(body.contains("maar_watch_synced{watch=\"pods\"} 1"), "{body}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_bookmarks_is_given_up_and_made_again() {
    let environment = Environment::for_tests();
    let script = Script::new([
        list("5", &json!([])),
        Answer::LinesThenSilence(vec![bookmark("7")]),
        Answer::LinesThenSilence(vec![change("ADDED", pod("a", "8"))]),
    ]);
    let events = story(&script, &environment).await;
    assert_eq!(events, ["init", "done", "set a"]);
    let requests = script.requests.lock().clone();
    assert_eq!(requests[2].1.trim(), "watch resourceVersion=7");
    assert!((150..160).contains(&requests[2].0), "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_up_at_once_is_not_hammered() {
    let script =
        Script::new([list("5", &json!([]))].into_iter().chain((0..100).map(|_| Answer::Lines(vec![]))));
    story(&script, &Environment::for_tests()).await;
    assert!(script.requests().len() < 40, "{} requests in ten minutes", script.requests().len());
}

#[tokio::test(start_paused = true)]
async fn a_malformed_object_does_not_hide_the_others() {
    let environment = Environment::for_tests();
    let mut wrong = pod("wrong", "2");
    wrong["spec"] = json!({ "containers": "none" });
    let script = Script::new([
        list("5", &json!([pod("a", "1"), wrong.clone(), pod("b", "3")])),
        Answer::LinesThenSilence(vec![change("MODIFIED", wrong), change("ADDED", pod("c", "7"))]),
    ]);
    let (store, stream) = watch(&script, &environment).reflect();
    let mut malformed = Vec::new();
    let _ = timeout(
        Duration::from_mins(1),
        stream.for_each(|event| {
            if let Event::InitApply(Guarded(Err(invalid))) | Event::Apply(Guarded(Err(invalid))) = event {
                malformed.push(invalid.metadata.name.unwrap());
            }
            future::ready(())
        }),
    )
    .await;
    assert_eq!(malformed, ["wrong", "wrong"]);
    let mut names: Vec<String> = store.state().iter().map(|object| object.name_any()).collect();
    names.sort();
    assert_eq!(names, ["a", "b", "c", "wrong"]);
    assert!(environment.metrics.encode().contains("maar_watch_malformed_total{watch=\"pods\"} 2"));
}
