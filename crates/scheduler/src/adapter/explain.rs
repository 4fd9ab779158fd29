//! Why something waits, over HTTP: `GET /explain/NAMESPACE/NAME`, where the name is that of a job, of a PodGroup, or of
//! a Pod; with `?kind=pod` of a Pod whatever else has that name. [`Access`] says who may ask.

mod access;

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
    routing::get,
};
use maar_api::names::GROUP;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, Semaphore, mpsc, oneshot},
    time::timeout,
};

pub use self::access::Access;
use self::access::{Denied, Subject};
use super::world::World;
use crate::{
    core::Core,
    model::{Millis, Pod},
};

/// How long the scheduler may take to answer; who does not lead never does.
const PATIENCE: Duration = Duration::from_secs(3);
/// Questions at a time.
const SEATS: usize = 16;
/// Most Pods whose own reasons are listed.
const PODS: usize = 20;

/// A question.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) subject: Asked,
    pub(crate) reply: oneshot::Sender<Option<Answer>>,
}

/// What is asked about.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Only a Pod is meant.
    pub(crate) pod: bool,
}

/// What may stand behind the `?`.
#[derive(Debug, Deserialize)]
struct Kind {
    kind: Option<String>,
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
    /// API group and resource of what was found.
    #[serde(skip)]
    resource: Resource,
}

type Resource = (&'static str, &'static str);

const PODS_RESOURCE: Resource = ("", "pods");
const JOBS_RESOURCE: Resource = (GROUP, "aijobs");

/// What a group of this name was made from.
fn resource(group: &str) -> Resource {
    let name = group.split_once('/').map_or("", |(_, name)| name);
    match name.split_once(':').map(|(kind, _)| kind) {
        Some("volcano") => ("scheduling.volcano.sh", "podgroups"),
        Some("podgroup") => ("scheduling.k8s.io", "podgroups"),
        Some(_) => PODS_RESOURCE,
        None => JOBS_RESOURCE,
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
    query: Result<Query<Kind>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    let pod = match query.as_ref().map(|Query(query)| query.kind.as_deref()) {
        Ok(None) => false,
        Ok(Some("pod")) => true,
        Ok(Some(_)) | Err(_) => return refuse(StatusCode::BAD_REQUEST, "the kind may be pod, or left out"),
    };
    let Ok(_seat) = desk.seats.try_acquire() else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "too many ask at once");
    };
    match desk.answer(Asked { namespace, name, pod }, &headers).await {
        Ok(Some(answer)) => Json(answer).into_response(),
        Ok(None) => refuse(StatusCode::NOT_FOUND, "no job, group or Pod of that name waits or runs here"),
        Err((code, message)) => refuse(code, message),
    }
}

impl Desk {
    async fn answer(
        &self,
        asked: Asked,
        headers: &HeaderMap,
    ) -> Result<Option<Answer>, (StatusCode, &'static str)> {
        let caller = self.access.caller(headers).await.map_err(Denied::answer)?;
        let (reply, answer) = oneshot::channel();
        let ask = Ask { subject: asked.clone(), reply };
        let answered = async {
            self.asks.send(ask).await.ok()?;
            answer.await.ok()
        };
        let answer = timeout(PATIENCE, answered).await.ok().flatten().ok_or((
            StatusCode::SERVICE_UNAVAILABLE,
            "this process does not lead, or is too busy to answer",
        ))?;
        // Whether something is there is told only to those who may see it.
        let nothing = if asked.pod { PODS_RESOURCE } else { JOBS_RESOURCE };
        let (group, resource) = answer.as_ref().map_or(nothing, |answer| answer.resource);
        let subject = Subject { group, resource, namespace: &asked.namespace, name: &asked.name };
        self.access.may_get(&caller, subject).await.map_err(Denied::answer)?;
        Ok(answer)
    }
}

/// A refusal in the shape of the API server's own, so that clients read both alike.
fn refuse(code: StatusCode, message: &str) -> Response {
    let reason = match code {
        StatusCode::BAD_REQUEST => "BadRequest",
        StatusCode::UNAUTHORIZED => "Unauthorized",
        StatusCode::FORBIDDEN => "Forbidden",
        StatusCode::NOT_FOUND => "NotFound",
        _ => "ServiceUnavailable",
    };
    let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16() });
    (code, Json(status)).into_response()
}

/// Finds what is asked about by the names it may have, and explains it.
pub(crate) fn explanation(core: &mut Core, world: &World, asked: &Asked, now: Millis) -> Option<Answer> {
    let pods = held(core, world, asked);
    let found = if asked.pod { None } else { group(core, asked) };
    let found = found
        .map(|group| (resource(&group), group))
        .or_else(|| Some((PODS_RESOURCE, group_of_pod(core, asked)?)));
    let Some((resource, group)) = found else {
        let group = format!("{}/pod:{}", asked.namespace, asked.name);
        let answer = Answer { group, explanation: Value::Null, pods, resource: PODS_RESOURCE };
        return (!answer.pods.is_empty()).then_some(answer);
    };
    let explanation = core.ledger().find_group(&group).and_then(|id| core.explain(id, now));
    let explanation = explanation.and_then(|one| serde_json::to_value(one).ok()).unwrap_or_default();
    Some(Answer { group, explanation, pods, resource })
}

/// Pods that wait for something else than a place: the one of that name, or those of the group.
fn held(core: &Core, world: &World, asked: &Asked) -> Vec<HeldPod> {
    let Asked { namespace, name, pod: only } = asked;
    let waiting = world.waiting(core, false).into_iter().chain(world.waiting(core, true));
    let meant = waiting.filter(|pod| {
        pod.namespace == *namespace
            && (pod.name == *name || (!only && world.is_member(&pod.uid, namespace, name)))
    });
    meant.take(PODS).map(|pod| HeldPod { pod: pod.name, reason: pod.why.to_string() }).collect()
}

/// The name of the group that people call by this name.
fn group(core: &Core, Asked { namespace, name, .. }: &Asked) -> Option<String> {
    let names = ["", "volcano:", "podgroup:", "pod:"].map(|prefix| format!("{namespace}/{prefix}{name}"));
    names.into_iter().find(|name| core.ledger().find_group(name).is_some())
}

/// The name of the group that a Pod of this name is in.
fn group_of_pod(core: &Core, Asked { namespace, name, .. }: &Asked) -> Option<String> {
    let named = |pod: &Pod| *pod.namespace == **namespace && *pod.name == **name;
    let ledger = core.ledger();
    let group = ledger.pods().find(|(_, state)| named(&state.pod)).map(|(_, state)| state.pod.group)?;
    ledger.group(group).map(|state| state.group.name.clone())
}
