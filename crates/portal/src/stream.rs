//! Changes as they happen, for those who may see them (server-sent events).
//!
//! A stream outlives the moment it was allowed: it is looked at again every so often, and ends when its session or key
//! does. A listener who is too slow is told to read everything again instead of being sent everything late.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use futures::{Stream, stream::unfold};
use serde_json::{Value, json};
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::{Interval, MissedTickBehavior, interval, sleep},
};

use crate::{
    access::{Kind, Object, Owner, Person, Subject, Verb, may},
    error::ApiError,
    identity::{Caller, still_valid},
    job,
    live::{Change, Topic},
    portal::Portal,
    route::{Answer, Call, Method::Get, Route, Target},
    workspace,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::at_once(Get, "/changes", "streamChanges", (Verb::See, Target::Cluster(Kind::Node)), changes)
            .says("Changes of workspaces, jobs, nodes, volumes, applications, quotas and accounts as they happen, as server-sent events")
            .answers_text("text/event-stream"),
    ]
}

#[expect(clippy::unnecessary_wraps, reason = "a handler may fail, even if this one does not")]
fn changes(call: &Call) -> Result<Answer, ApiError> {
    let receiver = call.portal.live.changes.listen();
    let mut look = interval(call.portal.settings.look_again);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    look.reset();
    let listener = Listener { portal: Arc::clone(&call.portal), caller: call.caller.clone(), receiver, look };
    Ok(Answer::stream("text/event-stream", Body::from_stream(listener.stream())))
}

struct Listener {
    portal: Arc<Portal>,
    caller: Caller,
    receiver: Receiver<Arc<Change>>,
    look: Interval,
}

impl Listener {
    fn stream(self) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> + Send {
        let first = event("ready", &json!({}));
        unfold((Some(first), self), |(first, mut listener)| async move {
            let bytes = match first {
                Some(first) => first,
                None => listener.next().await?,
            };
            Some((Ok(bytes), (None, listener)))
        })
    }

    /// The next thing to say; nothing when the listener has to leave.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            tokio::select! {
                change = self.receiver.recv() => match change {
                    Ok(change) => {
                        if let Some(bytes) = told(&self.portal, &self.caller, &change) {
                            return Some(bytes);
                        }
                    }
                    Err(RecvError::Lagged(_)) => return Some(event("reload", &json!({}))),
                    Err(RecvError::Closed) => return None,
                },
                _ = self.look.tick() => {
                    // A database that does not answer is no reason to believe that everything is as it was.
                    self.caller = look(&self.portal, &self.caller).await?;
                    return Some(Bytes::from_static(b": still here\n\n"));
                }
            }
        }
    }
}

/// What a caller is told of a change; nothing if he may not see it.
fn told(portal: &Portal, caller: &Caller, change: &Change) -> Option<Bytes> {
    let sees = |object: &Object| may(&caller.subject, Verb::See, object);
    let told = match &change.topic {
        Topic::Workspace(one) => sees(&workspace::object_of(one)),
        Topic::Job(one) => sees(&job::object_of(one)),
        Topic::Node(_) => sees(&Object::of_cluster(Kind::Node)),
        Topic::Volume(namespace, _) => is_own(caller, Kind::Volume, namespace),
        Topic::App(namespace, _) | Topic::Quota(namespace) => is_own(caller, Kind::Workspace, namespace),
        Topic::Account(name) => sees(&Object::account(name)) || joined(portal, caller, name),
    };
    told.then(|| change.text(|| text_of(change)))
}

/// Whether something is in the caller's own namespace, and he may see it. Pages show what is there to nobody else,
/// administrators included: they need not be told.
fn is_own(caller: &Caller, kind: Kind, namespace: &str) -> bool {
    let object = Object { kind, owner: Owner::Namespace(namespace.to_owned()), account: None };
    let own = caller.subject.person().is_some_and(|person| person.namespace == namespace);
    own && may(&caller.subject, Verb::See, &object)
}

/// Whether the caller has a part in an account since a moment ago: what he was when he was last looked at says nothing of
/// it yet.
fn joined(portal: &Portal, caller: &Caller, account: &str) -> bool {
    let Some(person) = caller.subject.person() else { return false };
    let accounts = portal.live.roles(&person.name);
    if !accounts.contains_key(account) {
        return false;
    }
    let now = Subject::Person(Box::new(Person { accounts, ..person.clone() }));
    may(&now, Verb::See, &Object::account(account))
}

/// The event of a change: whoever may see the thing sees all of it.
fn text_of(change: &Change) -> Bytes {
    let (name, mut data, view) = match &change.topic {
        Topic::Workspace(one) => {
            ("workspace", key_of(&one.metadata), serde_json::to_value(workspace::view(one)))
        }
        Topic::Job(one) => ("job", key_of(&one.metadata), serde_json::to_value(job::view(one))),
        Topic::Node(node) => ("node", json!({ "name": node }), Ok(Value::Null)),
        Topic::Volume(namespace, name) => ("volume", key(namespace, name), Ok(Value::Null)),
        Topic::App(namespace, name) => ("app", key(namespace, name), Ok(Value::Null)),
        Topic::Quota(namespace) => ("quota", json!({ "namespace": namespace }), Ok(Value::Null)),
        Topic::Account(name) => ("account", json!({ "name": name }), Ok(Value::Null)),
    };
    data["gone"] = change.gone.into();
    // Of what is no work only that there is news: what is shown of it depends on who asks.
    if let Ok(view) = view
        && !change.gone
        && !view.is_null()
    {
        data["item"] = view;
    }
    event(name, &data)
}

fn key_of(metadata: &kube::api::ObjectMeta) -> Value {
    json!({ "namespace": metadata.namespace, "name": metadata.name })
}

fn key(namespace: &str, name: &str) -> Value {
    json!({ "namespace": namespace, "name": name })
}

fn event(name: &str, data: &Value) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

/// The caller as he is now, if he still is one. In a task of its own: who reads a stream slowly, or no longer, would hold a
/// connection to the records for as long, and a few of them all there are.
async fn look(portal: &Arc<Portal>, caller: &Caller) -> Option<Caller> {
    let (portal, caller) = (Arc::clone(portal), caller.clone());
    let looked = tokio::spawn(async move { still_valid(&portal, &caller).await });
    looked.await.ok()?.ok().flatten()
}

/// Ends when the caller may no longer do `verb` with `object`.
pub(crate) async fn until_denied(portal: Arc<Portal>, mut caller: Caller, verb: Verb, object: Object) {
    loop {
        sleep(portal.settings.look_again).await;
        match look(&portal, &caller).await {
            Some(now) if may(&now.subject, verb, &object) => caller = now,
            _ => return,
        }
    }
}
