//! Binding a Pod to its node, so that it happens once whatever becomes of the answers.
//!
//! A bind carries the Pod's uid, so it cannot meet a namesake, and the server binds no Pod twice. What is left to get
//! right is what the scheduler believes afterwards: an answer that did not come is looked for on the Pod itself, and
//! the same bind is tried again, never another one. The cards are annotations of the binding, which the server puts on
//! the Pod in the same write.

use std::{sync::Arc, time::Duration};

use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use kube::{Client, client::Body, core::Status};
use maar_api::names;
use maar_controller::{
    Categorized as _, Category,
    backoff::{Backoff, Dice},
    error::chain,
};
use serde::Serialize;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::wire;
use crate::model::{Millis, PodId};

/// How long one attempt may take. Longer than the server's own limit on waiting for its store is of no use.
const ATTEMPT: Duration = Duration::from_secs(10);
/// How often a bind is tried before it is left to the watch.
const ATTEMPTS: u32 = 8;
/// The longest wait that a server may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How often volume claims are looked at, and how long, until they have their volumes.
const CLAIM_LOOK: Duration = Duration::from_secs(1);
const CLAIM_LOOKS: u32 = 120;
/// How a claim is told which node its volume has to reach.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// A bind to be done.
#[derive(Debug, Clone)]
pub(crate) struct Bind {
    pub(crate) id: PodId,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) uid: Arc<str>,
    pub(crate) node: String,
    /// The cards in full, and just their numbers.
    pub(crate) cards: Option<(String, String)>,
    /// Claims that get their volume on that node first.
    pub(crate) claims: Vec<String>,
    /// When the Pod was made.
    pub(crate) created: Millis,
}

/// What became of a bind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bound {
    /// The Pod has its node.
    Done,
    /// It does not, and trying again without news cannot help.
    Refused(String),
    /// Nobody could be reached to find out.
    Unknown(String),
    /// This process does not lead any more.
    Stopped,
}

impl Bound {
    /// The word for metrics.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused(_) => "refused",
            Self::Unknown(_) => "unknown",
            Self::Stopped => "stopped",
        }
    }
}

/// What an attempt came to.
enum Answer {
    Done,
    Wait(Duration),
    Refused(String),
    Unclear(String),
    Stopped,
}

/// Where a Pod stands by its own word.
enum Found {
    Here,
    Waiting,
    Elsewhere(String),
    Unclear,
    Stopped,
}

/// Does a bind, with as many attempts as it takes to know what became of it, within limits.
pub(crate) async fn bind(client: &Client, bind: &Bind, dice: &Dice) -> Bound {
    if !bind.claims.is_empty()
        && let Err(ended) = choose_volumes(client, bind).await
    {
        return ended;
    }
    let mut last = String::new();
    for attempt in 1..=ATTEMPTS {
        let wait = match post(client, bind).await {
            Answer::Done => return Bound::Done,
            Answer::Stopped => return Bound::Stopped,
            Answer::Wait(wait) => wait,
            Answer::Refused(why) => {
                // It may be an earlier attempt that the server speaks of.
                return match read_back(client, bind).await {
                    Found::Here => Bound::Done,
                    Found::Stopped => Bound::Stopped,
                    Found::Elsewhere(place) => Bound::Refused(place),
                    Found::Waiting => Bound::Refused(why),
                    Found::Unclear => Bound::Unknown(why),
                };
            }
            Answer::Unclear(why) => {
                match read_back(client, bind).await {
                    Found::Here => return Bound::Done,
                    Found::Stopped => return Bound::Stopped,
                    Found::Elsewhere(place) => return Bound::Refused(place),
                    Found::Waiting | Found::Unclear => {}
                }
                last = why;
                Backoff::QUICK.delay(attempt, dice)
            }
        };
        sleep(wait).await;
    }
    Bound::Unknown(last)
}

async fn post(client: &Client, bind: &Bind) -> Answer {
    let request = match request(bind) {
        Ok(request) => request,
        Err(error) => return Answer::Refused(error.to_string()),
    };
    let response = match timeout(ATTEMPT, client.send(request)).await {
        Err(_) => return Answer::Unclear(format!("no answer in {ATTEMPT:?}")),
        Ok(Err(error)) if error.category() == Category::NotLeader => return Answer::Stopped,
        Ok(Err(error)) => return Answer::Unclear(chain(&error)),
        Ok(Ok(response)) => response,
    };
    let (head, body) = response.into_parts();
    // Read to its end, so that the connection can be used again.
    let body = timeout(ATTEMPT, body.collect()).await;
    if head.status.is_success() {
        return Answer::Done;
    }
    let text = body.ok().and_then(Result::ok).map(|body| said(&body.to_bytes())).unwrap_or_default();
    let text = format!("{} ({})", text, head.status.as_u16());
    match head.status {
        StatusCode::TOO_MANY_REQUESTS => {
            let asked =
                head.headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            Answer::Wait(Duration::from_secs(asked.unwrap_or(1)).min(LONGEST_WAIT))
        }
        status if status.is_server_error() => Answer::Unclear(text),
        _ => Answer::Refused(text),
    }
}

/// The message of a failure.
fn said(body: &[u8]) -> String {
    serde_json::from_slice::<Status>(body).map(|status| status.message).unwrap_or_default()
}

fn request(bind: &Bind) -> Result<Request<Body>, http::Error> {
    let path = format!("/api/v1/namespaces/{}/pods/{}/binding", bind.namespace, bind.name);
    let body = serde_json::to_vec(&Binding::new(bind)).unwrap_or_default();
    Request::post(path).header(header::CONTENT_TYPE, "application/json").body(Body::from(body))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Binding<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: BindingMeta<'a>,
    target: Target<'a>,
}

#[derive(Serialize)]
struct BindingMeta<'a> {
    name: &'a str,
    namespace: &'a str,
    uid: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<CardAnnotations<'a>>,
}

#[derive(Serialize)]
struct CardAnnotations<'a> {
    #[serde(rename = "maar.io/cards")]
    cards: &'a str,
    #[serde(rename = "maar.io/visible-cards")]
    visible: &'a str,
}

#[derive(Serialize)]
struct Target<'a> {
    kind: &'static str,
    name: &'a str,
}

impl<'a> Binding<'a> {
    fn new(bind: &'a Bind) -> Self {
        let annotations = bind.cards.as_ref().map(|(cards, visible)| CardAnnotations { cards, visible });
        Self {
            api_version: "v1",
            kind: "Binding",
            metadata: BindingMeta {
                name: &bind.name,
                namespace: &bind.namespace,
                uid: &bind.uid,
                annotations,
            },
            target: Target { kind: "Node", name: &bind.node },
        }
    }
}

/// Asks the Pod itself where it is.
async fn read_back(client: &Client, bind: &Bind) -> Found {
    let path = format!("/api/v1/namespaces/{}/pods/{}", bind.namespace, bind.name);
    let Ok(request) = Request::get(path).body(Vec::new()) else { return Found::Waiting };
    let pod = match timeout(ATTEMPT, client.request::<wire::Pod>(request)).await {
        Ok(Ok(pod)) => pod,
        Ok(Err(error)) => {
            return match error.category() {
                Category::Missing => Found::Elsewhere("the Pod is gone".to_owned()),
                Category::NotLeader => Found::Stopped,
                _ => Found::Unclear,
            };
        }
        Err(_) => return Found::Unclear,
    };
    if pod.metadata.uid != *bind.uid {
        return Found::Elsewhere("another Pod has its name now".to_owned());
    }
    if pod.metadata.deletion_timestamp.is_some() {
        return Found::Elsewhere("the Pod is being deleted".to_owned());
    }
    let cards = pod.metadata.annotations.get(names::ANNOTATION_CARDS);
    match &*pod.spec.node_name {
        "" => Found::Waiting,
        node if node == bind.node && bind.cards.as_ref().is_none_or(|(own, _)| cards == Some(own)) => {
            Found::Here
        }
        node => Found::Elsewhere(format!("the Pod is on node {node}")),
    }
}

/// Tells claims which node their volumes have to reach, and waits until they have them.
async fn choose_volumes(client: &Client, bind: &Bind) -> Result<(), Bound> {
    for claim in &bind.claims {
        let path = claim_path(bind, claim);
        let choice = json!({"metadata": {"annotations": {SELECTED_NODE: bind.node}}});
        let request = Request::patch(path)
            .header(header::CONTENT_TYPE, "application/merge-patch+json")
            .body(choice.to_string().into_bytes())
            .map_err(|error| Bound::Refused(error.to_string()))?;
        let answer = timeout(ATTEMPT, client.request::<wire::Claim>(request)).await;
        match answer {
            Ok(Ok(_)) => {}
            Ok(Err(error)) if error.category() == Category::NotLeader => return Err(Bound::Stopped),
            Ok(Err(error)) => return Err(Bound::Refused(format!("claim {claim}: {}", chain(&error)))),
            Err(_) => return Err(Bound::Unknown(format!("claim {claim}: no answer in time"))),
        }
    }
    for _ in 0..CLAIM_LOOKS {
        if all_bound(client, bind).await {
            return Ok(());
        }
        sleep(CLAIM_LOOK).await;
    }
    Err(Bound::Refused(format!(
        "its claims ({}) got no volume for node {}",
        bind.claims.join(", "),
        bind.node
    )))
}

async fn all_bound(client: &Client, bind: &Bind) -> bool {
    for claim in &bind.claims {
        let Ok(request) = Request::get(claim_path(bind, claim)).body(Vec::new()) else { return false };
        let found = timeout(ATTEMPT, client.request::<wire::Claim>(request)).await;
        if !found.is_ok_and(|found| found.is_ok_and(|claim| claim.status.phase == "Bound")) {
            return false;
        }
    }
    true
}

fn claim_path(bind: &Bind, claim: &str) -> String {
    format!("/api/v1/namespaces/{}/persistentvolumeclaims/{claim}", bind.namespace)
}
