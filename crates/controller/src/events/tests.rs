//! Recorders on the embedded cluster, with paused time.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, ListParams};
use serde_json::Value;

use super::*;
use crate::test_cluster::{Network, Wire, cluster, wired};

fn node() -> Node {
    serde_json::from_value(json!({ "metadata": { "name": "gpu-1", "uid": "u1", "resourceVersion": "7" } }))
        .unwrap()
}

fn news(note: &str) -> News {
    News { severity: Severity::Warning, reason: "CardLost", action: "Inspecting", note: note.to_owned() }
}

struct Story {
    wire: Wire,
    api: Api<Event>,
    recorder: Recorder,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
    environment: Environment,
}

impl Story {
    async fn new() -> Self {
        let cluster = cluster().await;
        let (client, wire) = wired(&cluster);
        let api = Api::namespaced(cluster.client(), "default");
        let environment = Environment::for_tests();
        let (recorder, writer) =
            Recorder::new(client, "maar.io/test", "test-1", Limits::default(), environment.clone());
        let stop = CancellationToken::new();
        let task = tokio::spawn(writer.run(stop.clone()));
        Self { wire, api, recorder, stop, task, environment }
    }

    /// The events that were written.
    async fn events(&self) -> Vec<Value> {
        listed(&self.api).await
    }

    fn counted(&self, result: &'static str) -> u64 {
        self.environment.metrics.events.events.get_or_create(&EventLabel { result }).get()
    }
}

async fn listed(api: &Api<Event>) -> Vec<Value> {
    let events = api.list(&ListParams::default()).await.unwrap();
    events.items.into_iter().map(|event| json!(event)).collect()
}

#[tokio::test(start_paused = true)]
async fn repetitions_end_up_in_one_event_with_a_series() {
    let story = Story::new().await;
    for second in 0..30 {
        story.recorder.record(&node(), news("card 3 fell off the bus"));
        if second % 10 == 5 {
            story.recorder.record(&node(), news("card 4 fell off the bus"));
        }
        sleep(Duration::from_secs(1)).await;
    }
    story.stop.cancel();
    story.task.await.unwrap();
    let mut events = listed(&story.api).await;
    events.sort_by_key(|event| event["note"].to_string());
    assert_eq!(events.len(), 2);
    let metadata = events[0].as_object_mut().unwrap().remove("metadata").unwrap();
    assert_eq!(metadata["namespace"], "default", "cluster-scoped objects have no namespace of their own");
    assert!(metadata["name"].as_str().unwrap().starts_with("gpu-1."));
    insta::assert_json_snapshot!(events[0]);
    assert_eq!(events[1]["series"]["count"], 3);
    // Far fewer writes than occurrences.
    assert!(story.wire.writes().len() <= 9, "{:?}", story.wire.writes());
}

#[tokio::test(start_paused = true)]
async fn long_notes_are_cut_between_characters() {
    let story = Story::new().await;
    story.recorder.record(&node(), news(&"é".repeat(2000)));
    sleep(Duration::from_secs(1)).await;
    let note = story.events().await[0]["note"].as_str().unwrap().to_owned();
    assert_eq!(note.len(), 1024);
}

#[tokio::test(start_paused = true)]
async fn an_expired_event_begins_anew() {
    let story = Story::new().await;
    story.recorder.record(&node(), news("x"));
    sleep(Duration::from_secs(1)).await;
    story.api.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    story.recorder.record(&node(), news("x"));
    sleep(Duration::from_secs(20)).await;
    story.recorder.record(&node(), news("x"));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(story.events().await.len(), 1);
    assert!(story.events().await[0]["series"].is_null());
}

#[tokio::test(start_paused = true)]
async fn recording_never_blocks_and_losses_are_counted() {
    let story = Story::new().await;
    story.wire.set(Network::Hanging);
    for number in 0..2000 {
        story.recorder.record(&node(), news(&number.to_string()));
    }
    assert_eq!(story.counted("overflowed"), 2000 - 1024);
    story.wire.set(Network::Up);
    sleep(Duration::from_mins(1)).await;
    assert_eq!(story.events().await.len(), 25, "the burst about one object");
    assert_eq!(story.counted("created") + story.counted("limited"), 1024);
}

#[tokio::test(start_paused = true)]
async fn failed_writes_are_given_up_after_a_few_attempts() {
    let story = Story::new().await;
    story.wire.set(Network::Refusing);
    story.recorder.record(&node(), news("x"));
    sleep(Duration::from_mins(1)).await;
    assert_eq!((story.counted("failed"), story.events().await.len()), (1, 0));
    let recorder = Arc::new(story.recorder.clone());
    story.stop.cancel();
    story.task.await.unwrap();
    // After the writer has ended recording still does no harm.
    recorder.record(&node(), news("y"));
}
