//! What a handler gets.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use axum::extract::{Query, WebSocketUpgrade};
use http::{HeaderMap, Uri};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use maar_api::v1alpha1::{AIJob, Account, Workspace};
use maar_records::{Key, Kubeconfig, Session, SessionId, SshKey, Template, User};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Found, Route};
use crate::{
    access::{Audience, Object, Person, Subject, Verb, may},
    answers::Question,
    error::{ApiError, Code},
    identity::Caller,
    live::PodFacts,
    portal::Portal,
};

/// A request that may be done. Only the guard makes one.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) portal: Arc<Portal>,
    pub(crate) caller: Caller,
    pub(crate) request_id: String,
    pub(crate) address: Option<IpAddr>,
    pub(crate) agent: Option<String>,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) path: BTreeMap<String, String>,
    pub(super) body: Value,
    pub(super) found: Found,
    pub(super) upgrade: Upgrade,
}

/// The WebSocket that the request asks for, for the first who takes it.
#[derive(Debug, Clone, Default)]
pub(super) struct Upgrade(pub(super) Arc<Mutex<Option<WebSocketUpgrade>>>);

impl Call {
    pub(crate) fn subject(&self) -> &Subject {
        &self.caller.subject
    }

    /// Who asks. Routes that are not public are only reached by somebody.
    pub(crate) fn person(&self) -> Result<&Person, ApiError> {
        self.subject().person().ok_or_else(|| ApiError::new(Code::SignedOut, "sign in first"))
    }

    /// The session by which he asks.
    pub(crate) fn session_id(&self) -> Option<&SessionId> {
        self.caller.session.as_ref()
    }

    pub(crate) fn may(&self, verb: Verb, object: &Object) -> bool {
        may(self.subject(), verb, object)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.portal.clock.now()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The query string as `Q`.
    pub(crate) fn query<Q: DeserializeOwned>(&self) -> Result<Q, ApiError> {
        let read = Query::<Q>::try_from_uri(&self.uri);
        read.map(|Query(query)| query).map_err(|error| ApiError::shape("query", error.body_text()))
    }

    /// A part of the path by its name; empty if there is none.
    pub(crate) fn part(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// The query string as it was sent.
    pub(crate) fn query_text(&self) -> &str {
        self.uri.query().unwrap_or_default()
    }

    /// Who asks what of a list, for answers that are kept. Some lists hold the own things only, even those of somebody who
    /// sees everything: whose they are is part of the question.
    pub(crate) fn question(&self) -> Result<Question, ApiError> {
        let person = self.person()?;
        Ok((Audience::of(person), format!("{}?{}", person.namespace, self.query_text())))
    }

    /// The body as `B`.
    pub(crate) fn body<B: DeserializeOwned>(&self) -> Result<B, ApiError> {
        B::deserialize(&self.body).map_err(|error| ApiError::shape("body", error))
    }

    /// The body as it was sent.
    pub(crate) fn raw_body(&self) -> &Value {
        &self.body
    }

    /// A part of the path by its name.
    pub(crate) fn path_part(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    pub(crate) fn pod(&self) -> Result<&Arc<PodFacts>, ApiError> {
        match &self.found {
            Found::Pod(found) => Ok(found),
            _ => Err(self.other()),
        }
    }

    pub(crate) fn template(&self) -> Result<&Template, ApiError> {
        match &self.found {
            Found::Template(found) => Ok(found),
            _ => Err(self.other()),
        }
    }

    /// The WebSocket that the request asks for; only routes into something have one.
    pub(crate) fn upgrade(&self) -> Option<WebSocketUpgrade> {
        self.upgrade.0.lock().take()
    }

    pub(crate) fn workspace(&self) -> Result<&Arc<Workspace>, ApiError> {
        match &self.found {
            Found::Workspace(found) => Ok(found),
            _ => Err(self.other()),
        }
    }

    pub(crate) fn job(&self) -> Result<&Arc<AIJob>, ApiError> {
        match &self.found {
            Found::Job(found) => Ok(found),
            _ => Err(self.other()),
        }
    }

    pub(crate) fn account(&self) -> Result<&Arc<Account>, ApiError> {
        match &self.found {
            Found::Account(found) => Ok(found),
            _ => Err(self.other()),
        }
    }

    pub(crate) fn node(&self) -> Result<&Arc<Node>, ApiError> {
        match &self.found {
            Found::Node(found) => Ok(found),
            _ => Err(self.other()),
        }
    }

    pub(crate) fn user(&self) -> Result<&User, ApiError> {
        match &self.found {
            Found::User(found) => Ok(found),
            _ => Err(self.other()),
        }
    }

    pub(crate) fn session(&self) -> Result<&Session, ApiError> {
        match &self.found {
            Found::Session(found) => Ok(found),
            _ => Err(self.other()),
        }
    }

    pub(crate) fn key(&self) -> Result<&Key, ApiError> {
        match &self.found {
            Found::Key(found) => Ok(found),
            _ => Err(self.other()),
        }
    }

    pub(crate) fn kubeconfig(&self) -> Result<&Kubeconfig, ApiError> {
        match &self.found {
            Found::Kubeconfig(found) => Ok(found),
            _ => Err(self.other()),
        }
    }

    pub(crate) fn ssh_key(&self) -> Result<&SshKey, ApiError> {
        match &self.found {
            Found::SshKey(found) => Ok(found),
            _ => Err(self.other()),
        }
    }

    /// The table names another target than the handler expects.
    fn other(&self) -> ApiError {
        tracing::error!(
            request.id = self.request_id,
            "a route found something else than its handler expects"
        );
        ApiError::new(Code::Internal, "a fault of the portal")
    }

    /// What the route is about, for the audit log.
    pub(super) fn object_name(&self, route: &Route) -> String {
        let parts = [self.path.get("namespace"), self.path.get("name"), self.path.get("id")];
        let named: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        if named.is_empty() { route.target.word().to_owned() } else { named.join("/") }
    }
}
