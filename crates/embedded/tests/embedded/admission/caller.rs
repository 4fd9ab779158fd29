//! Requests by path and their whole answers: code, body and warnings.

use std::time::Duration;

use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use maar_embedded::{Cluster, Config};
use serde_json::{Value, json};

/// An answer of the server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
    pub(crate) warnings: Vec<String>,
}

impl Answer {
    pub(crate) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// The object, which must have been accepted.
    #[track_caller]
    pub(crate) fn object(self) -> Value {
        assert!(self.code < 300, "{} {}", self.code, self.body);
        self.body
    }

    /// The message of the refusal, which must have this code.
    #[track_caller]
    pub(crate) fn refused(self, code: u16) -> String {
        assert_eq!(self.code, code, "{}", self.body);
        self.message().to_owned()
    }
}

/// A cluster and a client for it.
pub(crate) struct Caller {
    pub(crate) cluster: Cluster,
    pub(crate) client: Client,
}

impl Caller {
    /// A cluster with its controllers.
    pub(crate) async fn whole() -> Self {
        Self::start(Config::simulated(1)).await
    }

    /// Only the API server.
    pub(crate) async fn bare() -> Self {
        Self::start(Config { controllers: false, ..Config::simulated(1) }).await
    }

    async fn start(config: Config) -> Self {
        let cluster = Cluster::start(config).await.unwrap();
        let client = cluster.client();
        Self { cluster, client }
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: &Value) -> Answer {
        call(&self.client, method, path, body).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.call("POST", path, body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.call("GET", path, &json!(null)).await.object()
    }

    pub(crate) async fn merge(&self, path: &str, change: &Value) -> Answer {
        self.call("PATCH", path, change).await
    }

    /// Lets time pass until something is so.
    pub(crate) async fn wait(&self, what: &str, mut holds: impl AsyncFnMut(&Self) -> bool) {
        for _ in 0..1000 {
            if holds(self).await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        unreachable!("waited in vain for {what}");
    }
}

pub(crate) async fn call(client: &Client, method: &str, path: &str, body: &Value) -> Answer {
    let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type)
        .body(Body::from(body))
        .unwrap();
    let response = client.send(request).await.unwrap();
    let code = response.status().as_u16();
    let warnings =
        response.headers().get_all("warning").iter().map(|value| value.to_str().unwrap().to_owned());
    let warnings = warnings.collect();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    Answer { code, body: serde_json::from_slice(&bytes).unwrap(), warnings }
}

pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";

/// A Pod with one container.
pub(crate) fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
}
