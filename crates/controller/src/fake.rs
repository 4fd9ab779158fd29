//! A tiny API server for tests of this crate: objects with versions, preconditions, and a network that can be cut.

use std::{collections::BTreeMap, future::pending, sync::Arc};

use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::{Client, client::Body};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower::{BoxError, service_fn};

/// What a client's network does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Network {
    #[default]
    Up,
    /// Requests go out and nothing ever comes back or arrives.
    Hanging,
    /// Requests arrive, but their answers are lost.
    AnswersLost,
    /// The server is overloaded.
    Refusing,
}

/// The server; clones are the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fake(Arc<Mutex<Objects>>);

#[derive(Debug, Default)]
struct Objects {
    by_path: BTreeMap<String, Value>,
    version: u64,
    writes: Vec<String>,
}

/// One client's wire to the server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wire(Arc<Mutex<Network>>);

impl Wire {
    pub(crate) fn set(&self, network: Network) {
        *self.0.lock() = network;
    }
}

impl Fake {
    pub(crate) fn client(&self) -> (Client, Wire) {
        let wire = Wire::default();
        let (fake, network) = (self.clone(), wire.clone());
        let service = service_fn(move |request: Request<Body>| {
            let (fake, network) = (fake.clone(), network.clone());
            async move { fake.over(&network, request).await }
        });
        (Client::new(service, "default"), wire)
    }

    async fn over(&self, wire: &Wire, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let network = *wire.0.lock();
        match network {
            Network::Hanging => pending().await,
            Network::Refusing => Ok(answer(503, &failure(503, "ServiceUnavailable"))),
            Network::Up => Ok(self.answer(request).await?),
            Network::AnswersLost => {
                self.answer(request).await?;
                pending().await
            }
        }
    }

    /// The object at an API path.
    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        self.0.lock().by_path.get(path).cloned()
    }

    /// The objects below an API path.
    pub(crate) fn under(&self, path: &str) -> Vec<Value> {
        let objects = self.0.lock();
        objects
            .by_path
            .iter()
            .filter(|(key, _)| key.starts_with(path))
            .map(|(_, object)| object.clone())
            .collect()
    }

    /// Forgets all objects.
    pub(crate) fn clear(&self) {
        self.0.lock().by_path.clear();
    }

    /// Writes an object without changing it, as somebody else would.
    pub(crate) fn touch(&self, path: &str) {
        let mut objects = self.0.lock();
        let object = objects.by_path[path].clone();
        objects.store(path.to_owned(), object);
    }

    /// Marks an object as being deleted.
    pub(crate) fn mark_deleted(&self, path: &str) {
        let mut objects = self.0.lock();
        let mut object = objects.by_path[path].clone();
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        objects.store(path.to_owned(), object);
    }

    /// Method and path of every write that arrived.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.0.lock().writes.clone()
    }

    async fn answer(&self, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let body: Value = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body)? };
        let path = parts.uri.path().trim_end_matches("/status").to_owned();
        let (code, value) = self.0.lock().handle(&parts.method, path, body);
        Ok(answer(code, &value))
    }
}

impl Objects {
    fn handle(&mut self, method: &Method, path: String, body: Value) -> (u16, Value) {
        if *method == Method::GET {
            return self
                .by_path
                .get(&path)
                .map_or((404, failure(404, "NotFound")), |object| (200, object.clone()));
        }
        self.writes.push(format!("{method} {path}"));
        let path = match *method {
            Method::POST => format!("{path}/{}", body["metadata"]["name"].as_str().unwrap_or_default()),
            _ => path,
        };
        let current = self.by_path.get(&path).cloned();
        match (method.as_str(), current) {
            ("POST", Some(_)) => (409, failure(409, "AlreadyExists")),
            ("POST", None) => self.store(path, body),
            ("PATCH", None) if body["kind"].is_string() => self.store(path, body),
            (_, None) => (404, failure(404, "NotFound")),
            ("DELETE", Some(current)) if violated(&current, &body["preconditions"]) => {
                (409, failure(409, "Conflict"))
            }
            ("DELETE", Some(current)) => {
                self.by_path.remove(&path);
                (200, current)
            }
            (_, Some(current)) if violated(&current, &body["metadata"]) => (409, failure(409, "Conflict")),
            ("PUT", Some(_)) => self.store(path, body),
            (_, Some(mut current)) => {
                merge(&mut current, &body);
                self.store(path, current)
            }
        }
    }

    fn store(&mut self, path: String, mut object: Value) -> (u16, Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        if object["metadata"]["uid"].is_null() {
            object["metadata"]["uid"] = json!(format!("uid-{}", self.version));
        }
        self.by_path.insert(path, object.clone());
        (200, object)
    }
}

/// Whether a precondition names another uid or version.
fn violated(current: &Value, wanted: &Value) -> bool {
    ["uid", "resourceVersion"].iter().any(|field| {
        let wanted = &wanted[field];
        !wanted.is_null() && *wanted != current["metadata"][field]
    })
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else { return *target = patch.clone() };
    for (field, value) in patch {
        match value {
            Value::Null => {
                target.as_object_mut().map(|target| target.remove(field));
            }
            Value::Object(_) if target[field].is_object() => merge(&mut target[field], value),
            _ => target[field] = value.clone(),
        }
    }
}

fn failure(code: u16, reason: &str) -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason })
}

fn answer(code: u16, value: &Value) -> Response<Body> {
    let status = StatusCode::from_u16(code).unwrap();
    Response::builder().status(status).body(Body::from(value.to_string().into_bytes())).unwrap()
}
