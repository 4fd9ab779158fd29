//! Runs a row against a cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, bail};
use kube::Client;
use serde_json::{Value, json};

use super::call::{Answer, Call};
use super::custom;
use super::normal::{forget, normalize, select};
use super::row::{Row, Step};

/// How often something that takes its time is looked at, a pause apart: half a minute in all.
const ATTEMPTS: usize = 600;
const PAUSE: Duration = Duration::from_millis(50);

pub(super) fn again() -> std::ops::Range<usize> {
    0..ATTEMPTS
}

pub(super) async fn pause() {
    tokio::time::sleep(PAUSE).await;
}

/// The API group a row's custom kinds are in.
pub(super) fn group_of(namespace: &str) -> String {
    format!("{namespace}.example.com")
}

/// What the cluster answered to each step, normalised. The namespace is made first and deleted at the end.
pub async fn transcript(client: &Client, row: &Row, namespace: &str) -> anyhow::Result<Vec<Value>> {
    let body = json!({"metadata": {"name": namespace}});
    let made = Call::new("POST", "/api/v1/namespaces").with_body(&body).send(client).await?;
    if made.code != 201 {
        bail!("making the namespace {namespace}: {}", made.value());
    }
    wait_for_account(client, namespace).await?;
    let result = play(client, row, namespace).await;
    clean_up(client, row, namespace).await?;
    result
}

async fn play(client: &Client, row: &Row, namespace: &str) -> anyhow::Result<Vec<Value>> {
    if let Some(version) = &row.custom {
        custom::install(client, namespace, version).await?;
    }
    run_steps(client, row, namespace).await
}

async fn clean_up(client: &Client, row: &Row, namespace: &str) -> anyhow::Result<()> {
    let saved = known_values(namespace);
    for path in &row.delete {
        Call::new("DELETE", &fill(path, &saved)).send(client).await?;
    }
    if row.custom.is_some() {
        custom::remove(client, namespace).await?;
    }
    Call::new("DELETE", &format!("/api/v1/namespaces/{namespace}")).send(client).await?;
    Ok(())
}

/// Pods are refused until the namespace's service account is there, which a controller makes.
async fn wait_for_account(client: &Client, namespace: &str) -> anyhow::Result<()> {
    let look = Call::new("GET", &format!("/api/v1/namespaces/{namespace}/serviceaccounts/default"));
    for _ in again() {
        if look.send(client).await?.code == 200 {
            return Ok(());
        }
        pause().await;
    }
    bail!("the namespace {namespace} got no default service account: does a controller make them?")
}

/// What a row can refer to from the start.
fn known_values(namespace: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        ("ns".to_owned(), namespace.to_owned()),
        ("group".to_owned(), group_of(namespace)),
        ("things".to_owned(), custom::path(namespace)),
    ])
}

async fn run_steps(client: &Client, row: &Row, namespace: &str) -> anyhow::Result<Vec<Value>> {
    let mut saved = known_values(namespace);
    let mut answers = Vec::new();
    for step in &row.steps {
        let answer = run_step(client, step, &saved).await.with_context(|| step.request.clone())?;
        let body = answer.value();
        for (name, pointer) in &step.save {
            let value = body.pointer(pointer).and_then(Value::as_str);
            let value = value.with_context(|| format!("{}: no text at {pointer}: {body}", step.request))?;
            saved.insert(name.clone(), value.to_owned());
        }
        if step.quiet {
            check_preparation(step, &answer)?;
        } else {
            answers.push(shown(step, &answer, namespace));
        }
    }
    Ok(answers)
}

/// A row whose preparation fails would compare something else than it says.
fn check_preparation(step: &Step, answer: &Answer) -> anyhow::Result<()> {
    if answer.code >= 400 && step.until.is_empty() {
        bail!("{}: a preparing step failed: {}", step.request, answer.value());
    }
    Ok(())
}

/// Fills in `{ns}` and whatever was saved.
fn fill(text: &str, saved: &BTreeMap<String, String>) -> String {
    saved.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

async fn run_step(client: &Client, step: &Step, saved: &BTreeMap<String, String>) -> anyhow::Result<Answer> {
    let call = call(step, saved)?;
    for _ in again() {
        let answer = call.send(client).await?;
        let seen = json!({"code": answer.code, "body": answer.value()});
        let there = |(pointer, value): (&String, &Value)| seen.pointer(pointer) == Some(value);
        if step.until.iter().all(there) {
            return Ok(answer);
        }
        pause().await;
    }
    bail!("never answered as expected: {:?}", step.until)
}

fn call(step: &Step, saved: &BTreeMap<String, String>) -> anyhow::Result<Call> {
    let request = fill(&step.request, saved);
    let (method, path) = request.split_once(' ').context("a request is a method and a path")?;
    let mut call = Call::new(method, path);
    if let Some(body) = &step.body {
        call.body = fill(&body.to_string(), saved);
    }
    if let Some(text) = &step.text {
        call.body = fill(text, saved);
    }
    content_type(step.content_type.as_deref()).clone_into(&mut call.content_type);
    if let Some(accept) = &step.accept {
        call.accept.clone_from(accept);
    }
    call.user = step.user.as_ref().map(|user| fill(user, saved));
    call.groups.clone_from(&step.groups);
    Ok(call)
}

fn content_type(name: Option<&str>) -> &str {
    match name {
        None => "application/json",
        Some("json") => "application/json-patch+json",
        Some("merge") => "application/merge-patch+json",
        Some("strategic") => "application/strategic-merge-patch+json",
        Some("apply") => "application/apply-patch+yaml",
        Some(other) => other,
    }
}

/// An answer as it is compared and recorded.
fn shown(step: &Step, answer: &Answer, namespace: &str) -> Value {
    let mut body = answer.value();
    normalize(&mut body, namespace);
    if !step.only.is_empty() {
        body = select(&body, &step.only);
    }
    for pointer in &step.ignore {
        forget(&mut body, pointer);
    }
    let mut shown = json!({"request": step.request, "code": answer.code, "body": body});
    if answer.content_type != "application/json" {
        shown["type"] = json!(answer.content_type);
    }
    if !answer.warnings.is_empty() {
        let mut warnings = json!(answer.warnings);
        normalize(&mut warnings, namespace);
        shown["warnings"] = warnings;
    }
    shown
}
