//! One request and its answer, as they are on the wire.

use std::time::Duration;

use anyhow::Context as _;
use http::{Request, header};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::Value;

/// How long an answer may take: the longest watch lasts a second.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) content_type: String,
    pub(super) accept: String,
    pub(super) user: Option<String>,
    pub(super) groups: Vec<String>,
    pub(super) body: String,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: u16,
    pub(super) content_type: String,
    pub(super) warnings: Vec<String>,
    text: String,
}

impl Call {
    pub(super) fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            content_type: "application/json".to_owned(),
            accept: "application/json".to_owned(),
            user: None,
            groups: Vec::new(),
            body: String::new(),
        }
    }

    pub(super) fn with_body(mut self, body: &Value) -> Self {
        self.body = body.to_string();
        self
    }

    pub(super) async fn send(&self, client: &Client) -> anyhow::Result<Answer> {
        let answer = tokio::time::timeout(PATIENCE, self.exchange(client)).await;
        answer.with_context(|| format!("no answer within {PATIENCE:?}"))?
    }

    async fn exchange(&self, client: &Client) -> anyhow::Result<Answer> {
        let mut request = Request::builder()
            .method(self.method.as_str())
            .uri(&self.path)
            .header(header::CONTENT_TYPE, &self.content_type)
            .header(header::ACCEPT, &self.accept)
            .header(header::USER_AGENT, "parity");
        if let Some(user) = &self.user {
            request = request.header("Impersonate-User", user);
        }
        for group in &self.groups {
            request = request.header("Impersonate-Group", group);
        }
        let response = client.send(request.body(Body::from(self.body.clone().into_bytes()))?).await?;
        let (parts, body) = response.into_parts();
        let texts = |name| {
            let values = parts.headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
            values.map(ToOwned::to_owned).collect::<Vec<_>>()
        };
        let content_type = texts(header::CONTENT_TYPE).into_iter().next().unwrap_or_default();
        let warnings = texts(header::WARNING);
        let bytes = body.collect().await?.to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Answer { code: parts.status.as_u16(), content_type, warnings, text })
    }
}

impl Answer {
    /// The body: JSON, a list of JSON lines (a watch), or plain text.
    pub(super) fn value(&self) -> Value {
        if let Ok(value) = serde_json::from_str(&self.text) {
            return value;
        }
        let lines: Result<Vec<Value>, _> = self.text.lines().map(serde_json::from_str).collect();
        lines.map_or_else(|_| Value::String(self.text.clone()), Value::Array)
    }
}
