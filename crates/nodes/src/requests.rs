//! The requests kubelets make, with answers thrown away unread: nobody looks at them.

use std::time::Duration;

use http_body_util::BodyExt;
use kube::{
    Client,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
    core::Request,
};
use serde_json::{Value, json};

use crate::table::{self, Outcome, Write};

/// Longer than any healthy API server takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("the API server answered {code} {reason}: {message}")]
    Refused { code: u16, reason: String, message: String },
    #[error("no answer from the API server within {PATIENCE:?}")]
    TimedOut,
    #[error("request to the API server")]
    Transport(#[source] kube::Error),
    #[error("building a request")]
    Build(#[source] kube::core::request::Error),
    #[error("reading the answer of the API server")]
    Body(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl RequestError {
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }
}

type BuiltRequest = Result<http::Request<Vec<u8>>, kube::core::request::Error>;

/// Sends a request and returns the answer as JSON.
pub(crate) async fn send(client: &Client, request: BuiltRequest) -> Result<Value, RequestError> {
    let bytes = tokio::time::timeout(PATIENCE, exchange(client, request)).await;
    let bytes = bytes.map_err(|_| RequestError::TimedOut)??;
    Ok(serde_json::from_slice(&bytes).unwrap_or_default())
}

/// Sends a request whose answer does not matter as long as it is a good one.
pub(crate) async fn post(client: &Client, request: BuiltRequest) -> Result<(), RequestError> {
    tokio::time::timeout(PATIENCE, exchange(client, request)).await.map_err(|_| RequestError::TimedOut)??;
    Ok(())
}

async fn exchange(client: &Client, request: BuiltRequest) -> Result<bytes::Bytes, RequestError> {
    let request = request.map_err(RequestError::Build)?.map(kube::client::Body::from);
    let response = client.send(request).await.map_err(RequestError::Transport)?;
    let status = response.status();
    // The body is read even if nobody wants it: that is what frees the connection for the next request.
    let body =
        response.into_body().collect().await.map_err(|error| RequestError::Body(error.into()))?.to_bytes();
    if status.is_success() {
        return Ok(body);
    }
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = |field: &str| answer[field].as_str().unwrap_or_default().to_owned();
    Err(RequestError::Refused { code: status.as_u16(), reason: text("reason"), message: text("message") })
}

/// Performs a write of the table and says how it went.
pub(crate) async fn write(client: Client, write: Write) -> (Write, Outcome) {
    let pods = Request::new(format!("/api/v1/namespaces/{}/pods", write.namespace));
    let request = match &write.request {
        table::Request::Status(status) => {
            // The uid makes the server refuse the patch if another Pod of that name is there by now.
            let patch = json!({ "metadata": { "uid": &*write.uid }, "status": status });
            pods.patch_subresource("status", &write.name, &PatchParams::default(), &Patch::Strategic(patch))
        }
        table::Request::Delete => {
            let preconditions = Preconditions { uid: Some(write.uid.to_string()), resource_version: None };
            let parameters = DeleteParams {
                grace_period_seconds: Some(0),
                preconditions: Some(preconditions),
                ..DeleteParams::default()
            };
            pods.delete(&write.name, &parameters)
        }
    };
    let outcome = match post(&client, request).await {
        Ok(()) => Outcome::Done,
        Err(error) if matches!(error.code(), Some(404 | 410)) => Outcome::Gone,
        Err(error) => {
            tracing::warn!(
                pod.name = format!("{}/{}", write.namespace, write.name),
                "writing a pod failed and is tried again: {error}"
            );
            Outcome::Failed
        }
    };
    (write, outcome)
}

/// Creates an object of a cluster-wide or namespaced collection.
pub(crate) async fn create(client: &Client, collection: &str, object: &Value) -> Result<Value, RequestError> {
    let body = object.to_string().into_bytes();
    send(client, Request::new(collection).create(&PostParams::default(), body)).await
}

/// Merges `patch` into an object.
pub(crate) async fn merge(
    client: &Client,
    collection: &str,
    name: &str,
    patch: &Value,
) -> Result<(), RequestError> {
    post(client, Request::new(collection).patch(name, &PatchParams::default(), &Patch::Merge(patch))).await
}

/// Merges `patch` into the status of an object.
pub(crate) async fn merge_status(
    client: &Client,
    collection: &str,
    name: &str,
    patch: &Value,
) -> Result<(), RequestError> {
    let parameters = PatchParams::default();
    let request =
        Request::new(collection).patch_subresource("status", name, &parameters, &Patch::Strategic(patch));
    post(client, request).await
}

/// Reads an object.
pub(crate) async fn get(client: &Client, collection: &str, name: &str) -> Result<Value, RequestError> {
    send(client, Request::new(collection).get(name, &kube::api::GetParams::default())).await
}

/// Deletes an object if it still is the one with `uid`.
pub(crate) async fn delete(
    client: &Client,
    collection: &str,
    name: &str,
    uid: &str,
) -> Result<(), RequestError> {
    let preconditions = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
    let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    post(client, Request::new(collection).delete(name, &parameters)).await
}
