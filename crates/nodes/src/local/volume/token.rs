//! Tokens of service accounts, bound to the Pod that carries them.

use std::{path::Path, time::Duration};

use k8s_openapi::api::core::v1::{Pod, ServiceAccountTokenProjection};
use kube::{Client, api::PostParams, core::Request};
use serde_json::json;

use crate::{local::plan::Problem, requests};

/// Tokens live ten minutes at least, so one that is younger than this has a while to go.
const FRESH: Duration = Duration::from_mins(5);

/// Whether a token was written a short while ago.
pub(super) fn is_fresh(path: &Path) -> bool {
    let written = std::fs::metadata(path).and_then(|metadata| metadata.modified());
    written.is_ok_and(|written| written.elapsed().is_ok_and(|age| age < FRESH))
}

/// Asks the API server for a token.
pub(super) async fn request(
    client: &Client,
    pod: &Pod,
    namespace: &str,
    source: &ServiceAccountTokenProjection,
) -> Result<String, Problem> {
    let account =
        pod.spec.as_ref().and_then(|spec| spec.service_account_name.as_deref()).unwrap_or("default");
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {
            "audiences": source.audience.as_slice(),
            "expirationSeconds": source.expiration_seconds,
            "boundObjectRef": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": pod.metadata.name,
                "uid": pod.metadata.uid,
            },
        },
    });
    let failed = |error: &dyn std::fmt::Display| {
        Problem::create(format!("a token for service account {account:?} could not be had: {error}"))
    };
    let accounts = Request::new(format!("/api/v1/namespaces/{namespace}/serviceaccounts"));
    let request = accounts.create_subresource(
        "token",
        account,
        &PostParams::default(),
        request.to_string().into_bytes(),
    );
    let answer = requests::send(client, request).await.map_err(|error| failed(&error))?;
    let token = answer["status"]["token"].as_str().filter(|token| !token.is_empty());
    token.map(str::to_owned).ok_or_else(|| failed(&"the answer holds none"))
}
