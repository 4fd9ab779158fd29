//! Why something waits, over HTTP: `GET /explain/NAMESPACE/NAME`, where the name is that of a job, of a PodGroup, or of
//! a Pod. [`Access`] says who may ask.

mod access;

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
    routing::get,
};
use maar_api::names::GROUP;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, Semaphore, mpsc, oneshot},
    time::timeout,
};

pub use self::access::Access;
use self::access::{Denied, Subject};
use super::world::World;
use crate::{core::Core, model::Millis};

/// How long the scheduler may take to answer; who does not lead never does.
const PATIENCE: Duration = Duration::from_secs(3);
/// Questions at a time.
const SEATS: usize = 16;
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

impl Answer {
    /// API group and resource of what was found.
    fn kind(&self) -> (&'static str, &'static str) {
        let name = self.group.split_once('/').map_or("", |(_, name)| name);
        match name.split_once(':').map(|(kind, _)| kind) {
            Some("volcano") => ("scheduling.volcano.sh", "podgroups"),
            Some("podgroup") => ("scheduling.k8s.io", "podgroups"),
            Some(_) => ("", "pods"),
            None => (GROUP, "aijobs"),
        }
    }
}

/// A Pod that waits for something else than a place.
#[derive(Debug, Serialize)]
struct HeldPod {
    pod: String,
    reason: String,
}

/// Where questions go, and who may ask them.
#[derive(Clone)]
struct Desk {
    asks: mpsc::Sender<Ask>,
    access: Access,
    /// Questions under way; each costs the API server two answers.
    seats: Arc<Semaphore>,
}

/// The routes, and where questions come out.
pub(crate) fn router(access: Access) -> (Router, Asks) {
    let (asks, receiver) = mpsc::channel(SEATS);
    let desk = Desk { asks, access, seats: Arc::new(Semaphore::new(SEATS)) };
    let router = Router::new().route("/explain/{namespace}/{name}", get(ask)).with_state(desk);
    (router, Arc::new(Mutex::new(receiver)))
}

async fn ask(
    State(desk): State<Desk>,
    Path((namespace, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let Ok(_seat) = desk.seats.try_acquire() else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "too many ask at once");
    };
    match desk.answer(&namespace, &name, &headers).await {
        Ok(Some(answer)) => Json(answer).into_response(),
        Ok(None) => refuse(StatusCode::NOT_FOUND, "no job, group or Pod of that name waits or runs here"),
        Err((code, message)) => refuse(code, message),
    }
}

impl Desk {
    async fn answer(
        &self,
        namespace: &str,
        name: &str,
        headers: &HeaderMap,
    ) -> Result<Option<Answer>, (StatusCode, &'static str)> {
        let caller = self.access.caller(headers).await.map_err(Denied::answer)?;
        let (reply, answer) = oneshot::channel();
        let ask = Ask { namespace: namespace.to_owned(), name: name.to_owned(), reply };
        let asked = async {
            self.asks.send(ask).await.ok()?;
            answer.await.ok()
        };
        let answer = timeout(PATIENCE, asked).await.ok().flatten().ok_or((
            StatusCode::SERVICE_UNAVAILABLE,
            "this process does not lead, or is too busy to answer",
        ))?;
        // Whether something is there is told only to those who may see it.
        let (group, resource) = answer.as_ref().map_or((GROUP, "aijobs"), Answer::kind);
        let subject = Subject { group, resource, namespace, name };
        self.access.may_get(&caller, subject).await.map_err(Denied::answer)?;
        Ok(answer)
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
        None => {
            let group = format!("{namespace}/pod:{name}");
            Some(Answer { group, explanation: Value::Null, pods: held })
        }
    }
}
