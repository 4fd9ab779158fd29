//! Stopping a Pod for another, with manners: notice first, then the eviction API, which honours disruption budgets.
//!
//! The notice is an annotation with the moment of the stop; it stands on the Pod while it may still save its work. A
//! Pod that nobody needs to go any more when its time has come stays, and the notice is taken back. Whoever leads next
//! finds the notices of one who died: a Pod that still has to go is stopped when it was told, others are told to stay.
//!
//! A notice of no time tells a program nothing. It is written all the same where a controller of ours reads from it why
//! its Pod went, and spared where nobody does: there the condition that the eviction sets and the event say it.

use std::{sync::Arc, time::Duration};

use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use kube::{Client, client::Body};
use maar_api::{names, v1alpha1::reasons};
use maar_controller::{
    Categorized as _, Category,
    backoff::{Backoff, Dice},
};
use serde_json::{Value, json};
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    time::{sleep, timeout},
};

use crate::{
    core::Reason,
    model::{GroupId, PodId},
};

/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(10);

/// Whether a notice with this reason was given by the scheduler.
pub(crate) fn is_own_word(reason: &str) -> bool {
    reason == reasons::PREEMPTED || reason == reasons::CARD_TAKEN
}

/// An eviction to be done.
#[derive(Debug, Clone)]
pub(crate) struct Evict {
    pub(crate) id: PodId,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) uid: Arc<str>,
    /// For whom; none if it holds a card that belongs to another.
    pub(crate) claimant: Option<GroupId>,
    /// Why, in one word.
    pub(crate) reason: &'static str,
    /// Between the notice and the stop.
    pub(crate) notice: Duration,
    /// The moment of the stop.
    pub(crate) at: Timestamp,
    /// The notice stands on the Pod already.
    pub(crate) told: bool,
    /// A controller of ours made the Pod, and reads from the notice why it went.
    pub(crate) read: bool,
}

impl Evict {
    /// Whether the notice has to stand on the Pod before it is stopped.
    fn is_to_be_told(&self) -> bool {
        !self.told && (!self.notice.is_zero() || self.read || self.claimant.is_none())
    }
}

/// By what right, in one word.
pub(crate) const fn word(reason: Reason) -> &'static str {
    match reason {
        Reason::BestEffort => "Preempted",
        Reason::Reclaimed => "Reclaimed",
        Reason::Priority => "Outranked",
    }
}

/// What became of an eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evicted {
    /// The Pod is going, or gone.
    Done,
    /// The server will not have it.
    Refused,
    /// Nobody needs its place any more.
    Withdrawn,
    /// This process does not lead any more.
    Stopped,
}

impl Evicted {
    /// The word for metrics.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Withdrawn => "withdrawn",
            Self::Stopped => "stopped",
        }
    }
}

/// Asks whether a Pod still has to go.
#[derive(Debug)]
pub(crate) struct StillNeeded {
    pub(crate) pod: PodId,
    /// For a claimant, or because of its card.
    pub(crate) claimed: bool,
    pub(crate) reply: oneshot::Sender<bool>,
}

/// What an attempt came to.
enum Answer {
    Done,
    Again,
    Refused,
    Stopped,
}

/// What every eviction needs.
#[derive(Clone)]
pub(crate) struct Means {
    pub(crate) client: Client,
    pub(crate) dice: Dice,
    pub(crate) needed: mpsc::Sender<StillNeeded>,
    /// Evictions that may be under way at a time: thousands of Pods may have to go at once, and a server refuses
    /// everybody when it is asked too much.
    pub(crate) seats: Arc<Semaphore>,
    /// The same for notices. They are apart, or the first to go would wait until the last has been told.
    pub(crate) desks: Arc<Semaphore>,
}

/// Gives notice, waits, asks once more, evicts.
pub(crate) async fn evict(means: &Means, evict: &Evict) -> Evicted {
    let mut told = evict.told;
    if evict.is_to_be_told() {
        if let Some(ended) = tell(means, evict).await {
            return ended;
        }
        told = true;
    }
    sleep(evict.notice).await;
    let mut failures = 0;
    loop {
        let Some(answer) = stop(means, evict).await else {
            return if told { withdraw(means, evict).await } else { Evicted::Withdrawn };
        };
        match answer {
            Answer::Done => return Evicted::Done,
            Answer::Stopped => return Evicted::Stopped,
            Answer::Refused => return Evicted::Refused,
            Answer::Again => {
                failures += 1;
                sleep(Backoff::CONNECTION.delay(failures, &means.dice)).await;
            }
        }
    }
}

/// Puts the notice on the Pod. Answers how it ended if it could not.
async fn tell(means: &Means, evict: &Evict) -> Option<Evicted> {
    let reason = if evict.claimant.is_some() { reasons::PREEMPTED } else { reasons::CARD_TAKEN };
    let notice = json!({
        names::ANNOTATION_STOP_AT: evict.at.to_string(),
        names::ANNOTATION_STOP_REASON: reason,
    });
    let mut failures = 0;
    loop {
        match annotate(means, evict, &notice).await {
            Answer::Done => return None,
            Answer::Stopped => return Some(Evicted::Stopped),
            Answer::Refused => return Some(Evicted::Refused),
            Answer::Again => {
                failures += 1;
                sleep(Backoff::WORK.delay(failures, &means.dice)).await;
            }
        }
    }
}

/// Takes the notice back. If that fails it still stands there, and is found again.
pub(crate) async fn withdraw(means: &Means, evict: &Evict) -> Evicted {
    let back = json!({ names::ANNOTATION_STOP_AT: null, names::ANNOTATION_STOP_REASON: null });
    match annotate(means, evict, &back).await {
        Answer::Stopped => Evicted::Stopped,
        Answer::Done | Answer::Again | Answer::Refused => Evicted::Withdrawn,
    }
}

async fn still_needed(means: &Means, evict: &Evict) -> bool {
    let (reply, answer) = oneshot::channel();
    let ask = StillNeeded { pod: evict.id, claimed: evict.claimant.is_some(), reply };
    means.needed.send(ask).await.is_ok() && answer.await.unwrap_or(false)
}

/// Puts the notice on the Pod that was meant, and on no namesake.
async fn annotate(means: &Means, evict: &Evict, annotations: &Value) -> Answer {
    let path = format!("/api/v1/namespaces/{}/pods/{}", evict.namespace, evict.name);
    let notice = json!({"metadata": {"uid": &*evict.uid, "annotations": annotations}});
    let request = Request::patch(path)
        .header(header::CONTENT_TYPE, "application/merge-patch+json")
        .body(Body::from(notice.to_string().into_bytes()));
    let Ok(_desk) = means.desks.acquire().await else { return Answer::Stopped };
    send(means, request).await
}

/// Evicts the Pod when its turn has come, which may take long. Nothing if nobody needs its place any more by then.
async fn stop(means: &Means, evict: &Evict) -> Option<Answer> {
    let Ok(_seat) = means.seats.acquire().await else { return Some(Answer::Stopped) };
    if still_needed(means, evict).await { Some(post(means, evict).await) } else { None }
}

async fn post(means: &Means, evict: &Evict) -> Answer {
    let path = format!("/api/v1/namespaces/{}/pods/{}/eviction", evict.namespace, evict.name);
    let body = json!({
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": &*evict.name, "namespace": &*evict.namespace},
        "deleteOptions": {"preconditions": {"uid": &*evict.uid}},
    });
    let request = Request::post(path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_string().into_bytes()));
    send(means, request).await
}

async fn send(means: &Means, request: Result<Request<Body>, http::Error>) -> Answer {
    let Ok(request) = request else { return Answer::Refused };
    let response = match timeout(ATTEMPT, means.client.send(request)).await {
        Ok(Err(error)) if error.category() == Category::NotLeader => return Answer::Stopped,
        Ok(Ok(response)) => response,
        // Doing it again is harmless: it names the one Pod that is meant.
        Ok(Err(_)) | Err(_) => return Answer::Again,
    };
    let status = response.status();
    let _ = timeout(ATTEMPT, response.into_body().collect()).await;
    match status {
        status if status.is_success() => Answer::Done,
        // It is gone, or its name is another's: either way its place is free.
        StatusCode::NOT_FOUND | StatusCode::CONFLICT => Answer::Done,
        // A disruption budget, or a busy server.
        StatusCode::TOO_MANY_REQUESTS => Answer::Again,
        status if status.is_server_error() => Answer::Again,
        _ => Answer::Refused,
    }
}

#[cfg(test)]
mod tests;
