//! Recorders over the fake server, with paused time.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use serde_json::Value;

use super::*;
use crate::fake::{Fake, Network};

fn node() -> Node {
    serde_json::from_value(json!({ "metadata": { "name": "gpu-1", "uid": "u1", "resourceVersion": "7" } }))
        .unwrap()
}

fn news(note: &str) -> News {
    News { severity: Severity::Warning, reason: "CardLost", action: "Inspecting", note: note.to_owned() }
}

struct Story {
    fake: Fake,
    wire: crate::fake::Wire,
    recorder: Recorder,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
    environment: Environment,
}

impl Story {
    fn new() -> Self {
        let fake = Fake::default();
        let (client, wire) = fake.client();
        let environment = Environment::for_tests();
        let (recorder, writer) =
            Recorder::new(client, "maar.io/test", "test-1", Limits::default(), environment.clone());
        let stop = CancellationToken::new();
        let task = tokio::spawn(writer.run(stop.clone()));
        Self { fake, wire, recorder, stop, task, environment }
    }

    /// The events that were written.
    fn events(&self) -> Vec<Value> {
        self.fake.under("/apis/events.k8s.io/v1/namespaces/default/events/")
    }

    fn counted(&self, result: &'static str) -> u64 {
        self.environment.metrics.events.events.get_or_create(&EventLabel { result }).get()
    }
}

#[tokio::test(start_paused = true)]
async fn repetitions_end_up_in_one_event_with_a_series() {
    let story = Story::new();
    for second in 0..30 {
        story.recorder.record(&node(), news("card 3 fell off the bus"));
        if second % 10 == 5 {
            story.recorder.record(&node(), news("card 4 fell off the bus"));
        }
        sleep(Duration::from_secs(1)).await;
    }
    story.stop.cancel();
    story.task.await.unwrap();
    let mut events = story.fake.under("/apis/events.k8s.io/v1/namespaces/default/events/");
    events.sort_by_key(|event| event["note"].to_string());
    assert_eq!(events.len(), 2);
    insta::assert_json_snapshot!(events[0], { ".metadata.resourceVersion" => "[version]", ".metadata.uid" => "[uid]" });
    assert_eq!(events[1]["series"]["count"], 3);
    // Far fewer writes than occurrences.
    assert!(story.fake.writes().len() <= 9, "{:?}", story.fake.writes());
}

#[tokio::test(start_paused = true)]
async fn long_notes_are_cut_between_characters() {
    let story = Story::new();
    story.recorder.record(&node(), news(&"é".repeat(2000)));
    sleep(Duration::from_secs(1)).await;
    let note = story.events()[0]["note"].as_str().unwrap().to_owned();
    assert_eq!(note.len(), 1024);
}

#[tokio::test(start_paused = true)]
async fn an_expired_event_begins_anew() {
    let story = Story::new();
    story.recorder.record(&node(), news("x"));
    sleep(Duration::from_secs(1)).await;
    story.fake.clear();
    story.recorder.record(&node(), news("x"));
    sleep(Duration::from_secs(20)).await;
    story.recorder.record(&node(), news("x"));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(story.events().len(), 1);
    assert!(story.events()[0]["series"].is_null());
}

#[tokio::test(start_paused = true)]
async fn recording_never_blocks_and_losses_are_counted() {
    let story = Story::new();
    story.wire.set(Network::Hanging);
    for number in 0..2000 {
        story.recorder.record(&node(), news(&number.to_string()));
    }
    assert_eq!(story.counted("overflowed"), 2000 - 1024);
    story.wire.set(Network::Up);
    sleep(Duration::from_mins(1)).await;
    assert_eq!(story.events().len(), 25, "the burst about one object");
    assert_eq!(story.counted("created") + story.counted("limited"), 1024);
}

#[tokio::test(start_paused = true)]
async fn failed_writes_are_given_up_after_a_few_attempts() {
    let story = Story::new();
    story.wire.set(Network::Refusing);
    story.recorder.record(&node(), news("x"));
    sleep(Duration::from_mins(1)).await;
    assert_eq!((story.counted("failed"), story.events().len()), (1, 0));
    let recorder = Arc::new(story.recorder.clone());
    story.stop.cancel();
    story.task.await.unwrap();
    // After the writer has ended recording still does no harm.
    recorder.record(&node(), news("y"));
}
