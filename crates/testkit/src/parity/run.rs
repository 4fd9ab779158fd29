//! Runs a row against a cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, bail};
use http::{Request, header};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::normal::normalize;
use super::row::{Row, Step};

/// What the cluster answered to each step, normalised. The namespace is made first and deleted at the end.
pub async fn transcript(client: &Client, row: &Row, namespace: &str) -> anyhow::Result<Vec<Value>> {
    let creation = Call {
        body: Some(json!({"metadata": {"name": namespace}})),
        ..Call::new("POST", "/api/v1/namespaces")
    };
    let made = creation.send(client).await?;
    if made.code != 201 {
        bail!("making the namespace {namespace}: {}", made.text);
    }
    wait_for_account(client, namespace).await?;
    let result = run_steps(client, row, namespace).await;
    Call::new("DELETE", &format!("/api/v1/namespaces/{namespace}")).send(client).await?;
    result
}

/// Pods are refused until the namespace's service account is there, which a controller makes.
async fn wait_for_account(client: &Client, namespace: &str) -> anyhow::Result<()> {
    let look = Call::new("GET", &format!("/api/v1/namespaces/{namespace}/serviceaccounts/default"));
    for _ in 0..50 {
        if look.send(client).await?.code == 200 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

async fn run_steps(client: &Client, row: &Row, namespace: &str) -> anyhow::Result<Vec<Value>> {
    let mut saved = BTreeMap::from([("ns".to_owned(), namespace.to_owned())]);
    let mut answers = Vec::new();
    for step in &row.steps {
        let (answer, normal) = run_step(client, step, &saved).await.with_context(|| step.request.clone())?;
        for (name, pointer) in &step.save {
            let value = answer.pointer(pointer).and_then(Value::as_str);
            let value = value.with_context(|| format!("{}: no text at {pointer}: {answer}", step.request))?;
            saved.insert(name.clone(), value.to_owned());
        }
        if !step.quiet {
            answers.push(normal);
        }
    }
    Ok(answers)
}

/// Fills in `{ns}` and whatever was saved.
fn fill(text: &str, saved: &BTreeMap<String, String>) -> String {
    saved.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

async fn run_step(
    client: &Client,
    step: &Step,
    saved: &BTreeMap<String, String>,
) -> anyhow::Result<(Value, Value)> {
    let request = fill(&step.request, saved);
    let (method, path) = request.split_once(' ').context("a request is a method and a path")?;
    let mut call = Call::new(method, path);
    if let Some(body) = &step.body {
        call.body = Some(serde_json::from_str(&fill(&body.to_string(), saved))?);
    }
    call.content_type = content_type(step.patch.as_deref()).to_owned();
    if let Some(accept) = &step.accept {
        call.accept.clone_from(accept);
    }
    let answer = call.send(client).await?;
    let value = answer.value();
    let mut normal = value.clone();
    normalize(&mut normal, &saved["ns"]);
    for pointer in &step.ignore {
        forget(&mut normal, pointer);
    }
    Ok((value, json!({"request": step.request, "code": answer.code, "body": normal})))
}

fn content_type(patch: Option<&str>) -> &str {
    match patch {
        None => "application/json",
        Some("json") => "application/json-patch+json",
        Some("merge") => "application/merge-patch+json",
        Some("strategic") => "application/strategic-merge-patch+json",
        Some("apply") => "application/apply-patch+yaml",
        Some(other) => other,
    }
}

fn forget(value: &mut Value, pointer: &str) {
    let Some((parent, member)) = pointer.rsplit_once('/') else { return };
    match value.pointer_mut(parent) {
        Some(Value::Object(map)) => {
            map.remove(member);
        }
        Some(Value::Array(items)) => {
            if let Some(item) = member.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                *item = Value::Null;
            }
        }
        _ => {}
    }
}

struct Call {
    method: String,
    path: String,
    content_type: String,
    accept: String,
    body: Option<Value>,
}

impl Call {
    fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            content_type: "application/json".to_owned(),
            accept: "application/json".to_owned(),
            body: None,
        }
    }

    async fn send(&self, client: &Client) -> anyhow::Result<Answer> {
        let body = self.body.as_ref().map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let request = Request::builder()
            .method(self.method.as_str())
            .uri(&self.path)
            .header(header::CONTENT_TYPE, &self.content_type)
            .header(header::ACCEPT, &self.accept)
            .header(header::USER_AGENT, "parity")
            .body(Body::from(body))?;
        let response = client.send(request).await?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await?.to_bytes();
        Ok(Answer { code, text: String::from_utf8_lossy(&bytes).into_owned() })
    }
}

struct Answer {
    code: u16,
    text: String,
}

impl Answer {
    /// The body: JSON, a list of JSON lines (a watch), or plain text.
    fn value(&self) -> Value {
        if let Ok(value) = serde_json::from_str(&self.text) {
            return value;
        }
        let lines: Result<Vec<Value>, _> = self.text.lines().map(serde_json::from_str).collect();
        lines.map_or_else(|_| Value::String(self.text.clone()), Value::Array)
    }
}
