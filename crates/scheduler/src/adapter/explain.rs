//! Why something waits, over HTTP: `GET /explain/NAMESPACE/NAME`, where the name is that of a job, of a PodGroup, or of
//! a Pod.

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
    routing::get,
};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, mpsc, oneshot},
    time::timeout,
};

use super::world::World;
use crate::{core::Core, model::Millis};

/// How long the scheduler may take to answer; who does not lead never does.
const PATIENCE: Duration = Duration::from_secs(3);
/// Most Pods whose own reasons are listed.
const PODS: usize = 20;

/// A question.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) reply: oneshot::Sender<Option<Answer>>,
}

/// Questions that wait for whoever leads.
pub(crate) type Asks = Arc<Mutex<mpsc::Receiver<Ask>>>;

/// The answer.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    /// The name of the group in the scheduler.
    group: String,
    /// What the core says about it.
    #[serde(skip_serializing_if = "Value::is_null")]
    explanation: Value,
    /// Pods that wait for something else than a place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pods: Vec<HeldPod>,
}

/// A Pod that waits for something else than a place.
#[derive(Debug, Serialize)]
struct HeldPod {
    pod: String,
    reason: String,
}

/// The routes, and where questions come out.
pub(crate) fn router() -> (Router, Asks) {
    let (sender, receiver) = mpsc::channel(16);
    let router = Router::new().route("/explain/{namespace}/{name}", get(ask)).with_state(sender);
    (router, Arc::new(Mutex::new(receiver)))
}

async fn ask(
    State(asks): State<mpsc::Sender<Ask>>,
    Path((namespace, name)): Path<(String, String)>,
) -> Response {
    let (reply, answer) = oneshot::channel();
    let asked = async {
        asks.send(Ask { namespace, name, reply }).await.ok()?;
        answer.await.ok()
    };
    match timeout(PATIENCE, asked).await.ok().flatten() {
        Some(Some(answer)) => Json(answer).into_response(),
        Some(None) => refuse(StatusCode::NOT_FOUND, "no job, group or Pod of that name waits or runs here"),
        None => {
            refuse(StatusCode::SERVICE_UNAVAILABLE, "this process does not lead, or is too busy to answer")
        }
    }
}

fn refuse(code: StatusCode, message: &str) -> Response {
    (code, Json(json!({ "message": message }))).into_response()
}

/// Finds the group by the names it may have, and explains it.
pub(crate) fn explanation(
    core: &mut Core,
    world: &World,
    namespace: &str,
    name: &str,
    now: Millis,
) -> Option<Answer> {
    let held: Vec<HeldPod> = world
        .waiting(core, false)
        .into_iter()
        .chain(world.waiting(core, true))
        .filter(|pod| {
            pod.namespace == namespace && (pod.name == name || world.is_member(&pod.uid, namespace, name))
        })
        .take(PODS)
        .map(|pod| HeldPod { pod: pod.name, reason: pod.why.to_string() })
        .collect();
    let names = ["", "volcano:", "podgroup:", "pod:"].map(|prefix| format!("{namespace}/{prefix}{name}"));
    let found = names.into_iter().find_map(|name| Some((core.ledger().find_group(&name)?, name)));
    match found {
        Some((id, group)) => {
            let explanation =
                core.explain(id, now).and_then(|one| serde_json::to_value(one).ok()).unwrap_or_default();
            Some(Answer { group, explanation, pods: held })
        }
        None if held.is_empty() => None,
        None => Some(Answer { group: format!("{namespace}/{name}"), explanation: Value::Null, pods: held }),
    }
}
