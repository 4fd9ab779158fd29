//! Binding a Pod to its node, so that it happens once whatever becomes of the answers.
//!
//! A bind carries the Pod's uid, so it cannot meet a namesake, and the server binds no Pod twice. What is left to get
//! right is what the scheduler believes afterwards: an answer that did not come is looked for on the Pod itself, and
//! the same bind is tried again, never another one. The cards are annotations of the binding, which the server puts on
//! the Pod in the same write.
//!
//! Each attempt tells the server how long it may take, at most for as long as this process is sure to lead. So there is
//! a moment after which an attempt without an answer cannot take effect any more: only then is a Pod that still has
//! no node taken to be free ([`find_out`]). Until then its place is kept.

mod promise;
mod volumes;

use std::{sync::Arc, time::Duration};

use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use kube::{Client, client::Body, core::Status};
use maar_api::names;
use maar_controller::{
    Categorized as _, Category,
    backoff::{Backoff, Dice},
    error::chain,
    lease::Leadership,
};
use serde::Serialize;
use tokio::time::{Instant, sleep, timeout};

use super::wire;
use crate::model::{Millis, PodId};
use volumes::choose_volumes;

/// How long the server may take for one attempt.
const LONGEST: Duration = Duration::from_secs(5);
/// With less than this left of the term an attempt is not worth while; it is about to be prolonged, or over.
const SHORTEST: Duration = Duration::from_millis(500);
/// How often to look whether the term was prolonged.
const RENEWAL: Duration = Duration::from_millis(100);
/// How much longer than the server an answer is waited for.
const WAY: Duration = Duration::from_secs(1);
/// A write that the server has given up may still be in the hands of its store, which has a limit of its own: five
/// seconds and two elections, seven in all, as etcd comes.
const STORE: Duration = Duration::from_secs(8);
/// How long a read may take.
const READ: Duration = Duration::from_secs(10);
/// How often a bind is tried before its Pod is only asked where it is.
const ATTEMPTS: u32 = 8;
/// The longest wait that a server may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

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
    pub(crate) claims: Vec<ClaimChoice>,
    /// When the Pod was made.
    pub(crate) created: Millis,
}

/// A claim that gets its volume before its Pod is bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClaimChoice {
    pub(crate) name: String,
    /// The volume it is to get, if that was made beforehand.
    pub(crate) volume: Option<Promise>,
}

/// A volume for a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Promise {
    pub(crate) volume: String,
    pub(crate) claim_uid: String,
}

/// What became of a bind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bound {
    /// The Pod has its node.
    Done,
    /// It does not, and trying again without news cannot help.
    Refused(String),
    /// Nobody knows yet; an attempt may take effect until that moment.
    Unknown(String, Instant),
    /// This process does not lead any more.
    Stopped,
}

impl Bound {
    /// The word for metrics.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused(_) => "refused",
            Self::Unknown(..) => "unknown",
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

/// Sends binds.
#[derive(Clone)]
pub(crate) struct Binder {
    pub(crate) client: Client,
    pub(crate) leadership: Leadership,
    pub(crate) dice: Dice,
}

impl Binder {
    /// Does a bind, with a few attempts if it is not clear what became of the first.
    pub(crate) async fn bind(&self, bind: &Bind) -> Bound {
        if !bind.claims.is_empty()
            && let Err(ended) = choose_volumes(self, bind).await
        {
            return ended;
        }
        let mut last = String::new();
        // Until when an earlier attempt may take effect.
        let mut open: Option<Instant> = None;
        for attempt in 1..=ATTEMPTS {
            let Some(limit) = self.limit().await else { return Bound::Stopped };
            // It may be on its way for as long as it is waited for, then with the server, then with its store.
            let until = Instant::now() + limit + WAY + limit + STORE;
            let wait = match self.post(bind, limit).await {
                Answer::Done => return Bound::Done,
                Answer::Stopped => return Bound::Stopped,
                Answer::Wait(wait) => wait,
                Answer::Refused(why) => return self.refused(bind, why, open).await,
                Answer::Unclear(why) => {
                    open = Some(until);
                    match self.read_back(bind).await {
                        Found::Here => return Bound::Done,
                        Found::Stopped => return Bound::Stopped,
                        Found::Elsewhere(place) => return Bound::Refused(place),
                        Found::Waiting | Found::Unclear => {}
                    }
                    last = why;
                    Backoff::QUICK.delay(attempt, &self.dice)
                }
            };
            sleep(wait).await;
        }
        match open {
            Some(open) => Bound::Unknown(last, open),
            None => Bound::Refused("the server is too busy".to_owned()),
        }
    }

    /// The server will not have it. It may be an earlier attempt that it speaks of, or one may still be on its way.
    async fn refused(&self, bind: &Bind, why: String, open: Option<Instant>) -> Bound {
        match self.read_back(bind).await {
            Found::Here => Bound::Done,
            Found::Stopped => Bound::Stopped,
            Found::Elsewhere(place) => Bound::Refused(place),
            Found::Waiting | Found::Unclear => match open {
                // It was the first attempt: whatever the Pod says, the refusal holds.
                None => Bound::Refused(why),
                Some(open) => Bound::Unknown(why, open),
            },
        }
    }

    /// Asks the Pod where it is until it says so, or says that it is nowhere when no attempt can take effect any more.
    pub(crate) async fn find_out(&self, bind: &Bind, why: String, open: Instant) -> Bound {
        let mut asked = 0;
        loop {
            let certain = Instant::now() > open;
            match self.read_back(bind).await {
                Found::Here => return Bound::Done,
                Found::Stopped => return Bound::Stopped,
                Found::Elsewhere(place) => return Bound::Refused(place),
                Found::Waiting if certain => return Bound::Refused(why),
                Found::Waiting | Found::Unclear => {}
            }
            if !self.leadership.is_leader() {
                return Bound::Stopped;
            }
            asked += 1;
            sleep(Backoff::CONNECTION.delay(asked, &self.dice)).await;
        }
    }

    /// How long an attempt may take from now on: it ends before this process may have been followed by another. None if
    /// it has been.
    async fn limit(&self) -> Option<Duration> {
        loop {
            let left = self.leadership.guard().ok()?.left().map_or(LONGEST, |left| left.min(LONGEST));
            if left >= SHORTEST {
                return Some(left);
            }
            sleep(RENEWAL).await;
        }
    }

    async fn post(&self, bind: &Bind, limit: Duration) -> Answer {
        let request = match request(bind, limit) {
            Ok(request) => request,
            Err(error) => return Answer::Refused(error.to_string()),
        };
        let response = match timeout(limit + WAY, self.client.send(request)).await {
            Err(_) => return Answer::Unclear(format!("no answer in {:?}", limit + WAY)),
            Ok(Err(error)) if error.category() == Category::NotLeader => return Answer::Stopped,
            Ok(Err(error)) => return Answer::Unclear(chain(&error)),
            Ok(Ok(response)) => response,
        };
        let (head, body) = response.into_parts();
        // Read to its end, so that the connection can be used again.
        let body = timeout(READ, body.collect()).await;
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

    /// Asks the Pod itself where it is.
    async fn read_back(&self, bind: &Bind) -> Found {
        let path = format!("/api/v1/namespaces/{}/pods/{}", bind.namespace, bind.name);
        let Ok(request) = Request::get(path).body(Vec::new()) else { return Found::Waiting };
        let pod = match timeout(READ, self.client.request::<wire::Pod>(request)).await {
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
        let cards = pod.metadata.annotations.get(names::ANNOTATION_CARDS);
        match &*pod.spec.node_name {
            // The server binds no Pod that is being deleted.
            "" if pod.metadata.deletion_timestamp.is_some() => {
                Found::Elsewhere("the Pod is being deleted".to_owned())
            }
            "" => Found::Waiting,
            node if node == bind.node && bind.cards.as_ref().is_none_or(|(own, _)| cards == Some(own)) => {
                Found::Here
            }
            node => Found::Elsewhere(format!("the Pod is on node {node}")),
        }
    }
}

/// The message of a failure.
fn said(body: &[u8]) -> String {
    serde_json::from_slice::<Status>(body).map(|status| status.message).unwrap_or_default()
}

fn request(bind: &Bind, limit: Duration) -> Result<Request<Body>, http::Error> {
    let (namespace, name, limit) = (&bind.namespace, &bind.name, limit.as_millis());
    let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/binding?timeout={limit}ms");
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
