//! Emptying a node: no new Pods, and those that are on it leave as their disruption budgets allow.
//!
//! The answer is a stream of lines as it happens. The work is done by the stream itself: when the client goes, it ends
//! where it is, and asking again goes on from there. What has been evicted stays evicted, and the node stays closed.

use std::{fmt, sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures::{
    Stream, StreamExt as _,
    future::{BoxFuture, join_all},
    stream,
};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, EvictParams, ListParams, Preconditions},
    core::Status,
};
use maar_records::{AuditId, Entry, Outcome};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::{
    sync::{
        Semaphore,
        mpsc::{self, Receiver, Sender},
    },
    time::{Instant, sleep},
};

use super::admin::{refused, set_cordon};
use crate::{
    access::{Kind, Object, Verb},
    error::ApiError,
    live::Live,
    portal::Portal,
    route::{Answer, Call, Method::Post, Route, Target},
    stream::until_denied,
};

/// Evictions that are asked for at the same time. Pods that wait for their budgets hold up no others.
const PARALLEL: usize = 16;
/// How often it is looked again whether a budget allows it, or whether a Pod is gone.
const PACE: Duration = Duration::from_millis(500);
/// How long it may take if it is not said, and at most, in seconds.
const USUAL: u64 = 600;
const LONGEST: u64 = 24 * 3600;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(Post, "/nodes/{name}/drain", "drainNode", (Verb::Change, Target::Node), drain)
            .says("Close a node and evict its Pods as their disruption budgets allow; says how it goes, line by line")
            .takes::<Drain>()
            .answers_text("text/plain; charset=utf-8"),
    ]
}

/// How a node is emptied.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Drain {
    /// Also Pods that nobody makes again.
    #[serde(default)]
    unmanaged: bool,
    /// Seconds that each Pod has to end; as the Pod says if it is not said.
    grace_seconds: Option<u32>,
    /// Seconds after which it is given up, 600 if it is not said.
    timeout_seconds: Option<u64>,
}

/// Why a Pod stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stays {
    /// Its DaemonSet would put it back.
    Daemon,
    /// The node made it, and no eviction reaches it.
    Mirror,
    /// It has ended.
    Over,
    /// Nobody would make it again.
    Unmanaged,
}

impl fmt::Display for Stays {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Daemon => "belongs to a DaemonSet",
            Self::Mirror => "was made by the node itself",
            Self::Over => "has ended",
            Self::Unmanaged => {
                "would be lost: nobody makes it again (say unmanaged to evict it all the same)"
            }
        })
    }
}

/// Why a Pod is left alone, if it is.
fn stays(pod: &Pod, unmanaged: bool) -> Option<Stays> {
    if pod.annotations().contains_key("kubernetes.io/config.mirror") {
        return Some(Stays::Mirror);
    }
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    if matches!(phase, Some("Succeeded" | "Failed")) {
        return Some(Stays::Over);
    }
    let owner = pod.owner_references().iter().find(|owner| owner.controller == Some(true));
    match owner {
        Some(owner) if owner.kind == "DaemonSet" && owner.api_version.starts_with("apps/") => {
            Some(Stays::Daemon)
        }
        None if !unmanaged => Some(Stays::Unmanaged),
        _ => None,
    }
}

/// What holds a Pod back: its budget in the cluster's words, else why no eviction is taken now.
fn held_by(status: &Status) -> &str {
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    let budget = causes.find(|cause| cause.reason == "DisruptionBudget");
    budget.map_or(&status.message, |budget| &budget.message)
}

async fn drain(call: Call) -> Result<Answer, ApiError> {
    // An empty body is as good as an empty object.
    let asked = call.body::<Option<Drain>>()?.unwrap_or_default();
    let patience = asked.timeout_seconds.unwrap_or(USUAL);
    if !(1..=LONGEST).contains(&patience) {
        return Err(ApiError::invalid("timeoutSeconds", format!("is between 1 and {LONGEST}")));
    }
    let name = call.node()?.name_any();
    let (before, mut after) = set_cordon(&call, true).await?;
    let pods: Api<Pod> = Api::all(call.portal.client.clone());
    let found = pods.list(&ListParams::default().fields(&format!("spec.nodeName={name}"))).await;
    let found = found.map_err(|error| refused(&name, error))?.items;
    let (sender, receiver) = mpsc::channel(64);
    let work = Work {
        client: call.portal.once.clone(),
        live: call.portal.live.clone(),
        node: name.clone(),
        asked,
        turns: Semaphore::new(PARALLEL),
        end: Instant::now() + Duration::from_secs(patience),
        lines: sender,
        note: Note::new(&call, &name),
    };
    after["pods"] = json!(found.len());
    let lines = lines(receiver, Box::pin(work.run(found)));
    let nodes = Object::of_cluster(Kind::Node);
    let denied = until_denied(Arc::clone(&call.portal), call.caller.clone(), Verb::Change, nodes);
    let body = Body::from_stream(lines.take_until(Box::pin(denied)));
    Ok(Answer::stream("text/plain; charset=utf-8", body).change(Some(before), Some(after)))
}

/// What `work` says, while it is done. Whoever drops the stream ends the work.
fn lines(
    receiver: Receiver<String>,
    work: BoxFuture<'static, ()>,
) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> + Send {
    stream::unfold((receiver, Some(work)), |(mut receiver, mut work)| async move {
        if let Some(running) = &mut work {
            tokio::select! {
                biased;
                line = receiver.recv() => return line.map(|line| (Ok(Bytes::from(line)), (receiver, work))),
                () = running => work = None,
            }
        }
        let line = receiver.recv().await?;
        Some((Ok(Bytes::from(line)), (receiver, work)))
    })
}

struct Work {
    /// Asks once: a budget that refuses is told of, and not waited for in silence.
    client: Client,
    live: Live,
    node: String,
    asked: Drain,
    turns: Semaphore,
    end: Instant,
    lines: Sender<String>,
    note: Note,
}

/// What became of a Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Gone,
    Stays,
    Failed,
}

impl Work {
    async fn run(mut self, pods: Vec<Pod>) {
        self.say(format!("{} is closed for new Pods", self.node)).await;
        let left = join_all(pods.iter().map(|pod| self.one(pod))).await;
        let count = |wanted: Left| left.iter().filter(|one| **one == wanted).count();
        let (gone, stay, failed) = (count(Left::Gone), count(Left::Stays), count(Left::Failed));
        let how = if failed == 0 { "drained" } else { "not drained" };
        self.say(format!("{how}: {gone} Pods are gone, {stay} stay, {failed} are left")).await;
        self.note.end(failed == 0, gone, failed);
    }

    async fn one(&self, pod: &Pod) -> Left {
        let Some(why) = stays(pod, self.asked.unmanaged) else { return self.evict(pod).await };
        self.say(format!("{}: stays: {why}", full_name(pod))).await;
        if why == Stays::Unmanaged { Left::Failed } else { Left::Stays }
    }

    async fn say(&self, line: String) {
        // Nobody listening means that this future is about to be dropped.
        let _ = self.lines.send(line + "\n").await;
    }

    async fn evict(&self, pod: &Pod) -> Left {
        let name = full_name(pod);
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace().unwrap_or_default());
        let only = Preconditions { uid: pod.uid(), resource_version: None };
        let delete = DeleteParams {
            grace_period_seconds: self.asked.grace_seconds,
            preconditions: Some(only),
            ..DeleteParams::default()
        };
        let params = EvictParams { delete_options: Some(delete), ..EvictParams::default() };
        let mut held = String::new();
        loop {
            let answer = {
                let _turn = self.turns.acquire().await;
                api.evict(&pod.name_any(), &params).await
            };
            match answer {
                Ok(_) => break,
                Err(kube::Error::Api(status)) if status.code == 404 => break,
                // Another Pod has its name by now; or its budget is being changed.
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    let now = api.get_opt(&pod.name_any()).await;
                    if now.is_ok_and(|now| now.and_then(|now| now.uid()) != pod.uid()) {
                        break;
                    }
                    held = status.message;
                }
                Err(kube::Error::Api(status)) if status.code == 429 => {
                    let by = held_by(&status);
                    if held != by {
                        self.say(format!("{name}: waits: {by}")).await;
                        held = by.to_owned();
                    }
                }
                Err(error) => {
                    self.say(format!("{name}: cannot be evicted: {error}")).await;
                    return Left::Failed;
                }
            }
            if Instant::now() >= self.end {
                self.say(format!("{name}: given up: {held}")).await;
                return Left::Failed;
            }
            sleep(PACE).await;
        }
        self.gone(pod, &name).await
    }

    async fn gone(&self, pod: &Pod, name: &str) -> Left {
        self.say(format!("{name}: is leaving")).await;
        let namespace = pod.namespace().unwrap_or_default();
        // A namesake elsewhere, or one that waits, is another Pod.
        let here = || {
            let found = self.live.pods.get(&namespace, &pod.name_any());
            found.is_some_and(|found| found.node.as_deref() == Some(&self.node))
        };
        while here() {
            if Instant::now() >= self.end {
                self.say(format!("{name}: given up: it does not end")).await;
                return Left::Failed;
            }
            sleep(PACE).await;
        }
        self.say(format!("{name}: gone")).await;
        Left::Gone
    }
}

fn full_name(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any())
}

/// Writes into the audit log how it ended, also when the client left in the middle.
struct Note {
    portal: Arc<Portal>,
    entry: Option<Entry>,
}

impl Note {
    fn new(call: &Call, node: &str) -> Self {
        let entry = Entry {
            id: AuditId::new(format!("{}-end", call.request_id)),
            action: "drainNodeEnd".to_owned(),
            object_kind: "node".to_owned(),
            object_name: node.to_owned(),
            outcome: Outcome::Failed,
            detail: Some("the client left before the end".to_owned()),
            ..call.entry()
        };
        Self { portal: Arc::clone(&call.portal), entry: Some(entry) }
    }

    fn end(&mut self, done: bool, gone: usize, failed: usize) {
        if let Some(entry) = &mut self.entry {
            entry.outcome = if done { Outcome::Done } else { Outcome::Failed };
            entry.detail = (!done).then(|| format!("{failed} Pods are left"));
            entry.after = Some(json!({ "gone": gone, "left": failed }));
        }
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        let (portal, Some(mut entry)) = (Arc::clone(&self.portal), self.entry.take()) else { return };
        entry.at = portal.clock.now();
        // Outside of a runtime the process is ending.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = portal.records.append_audit(&entry).await {
                    tracing::error!("the end of a drain is not in the audit log: {error}");
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn pod(owner: Option<(&str, &str)>, annotations: &Value, phase: &str) -> Pod {
        let owners: Vec<Value> = owner
            .iter()
            .map(|(version, kind)| json!({ "apiVersion": version, "kind": kind, "name": "o", "uid": "u", "controller": true }))
            .collect();
        serde_json::from_value(json!({
            "metadata": { "name": "p", "ownerReferences": owners, "annotations": annotations },
            "status": { "phase": phase },
        }))
        .unwrap()
    }

    #[test]
    fn what_would_come_back_or_be_lost_stays() {
        let none = json!({});
        let set = Some(("apps/v1", "ReplicaSet"));
        assert_eq!(stays(&pod(set, &none, "Running"), false), None);
        assert_eq!(stays(&pod(Some(("maar.io/v1alpha1", "Workspace")), &none, "Running"), false), None);
        assert_eq!(stays(&pod(Some(("apps/v1", "DaemonSet")), &none, "Running"), true), Some(Stays::Daemon));
        assert_eq!(stays(&pod(set, &none, "Succeeded"), true), Some(Stays::Over));
        assert_eq!(stays(&pod(None, &none, "Running"), false), Some(Stays::Unmanaged));
        assert_eq!(stays(&pod(None, &none, "Running"), true), None);
        let mirror = json!({ "kubernetes.io/config.mirror": "x" });
        assert_eq!(stays(&pod(None, &mirror, "Running"), true), Some(Stays::Mirror));
    }

    #[tokio::test]
    async fn who_drops_the_stream_ends_the_work() {
        struct Ends(Arc<std::sync::atomic::AtomicBool>);
        impl Drop for Ends {
            fn drop(&mut self) {
                self.0.store(true, std::sync::atomic::Ordering::SeqCst);
            }
        }
        let ended = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel(1);
        let guard = Ends(Arc::clone(&ended));
        let work = Box::pin(async move {
            let _guard = guard;
            let _ = sender.send("one".to_owned()).await;
            std::future::pending::<()>().await;
        });
        let mut lines = Box::pin(lines(receiver, work));
        assert_eq!(lines.next().await.unwrap().unwrap(), "one");
        drop(lines);
        assert!(ended.load(std::sync::atomic::Ordering::SeqCst));
    }
}
