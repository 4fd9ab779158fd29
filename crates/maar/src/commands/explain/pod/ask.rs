//! Asking the scheduler.

use anyhow::Context as _;
use axum::http::{Request, StatusCode, Uri, uri::Scheme};
use kube::{Client, Config, client::Body, config::AuthInfo, core::Status};
use maar_scheduler::explain::Explanation;
use serde::Deserialize;

use crate::commands::failure::Failure;

/// What the scheduler said.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) explanation: Option<Explanation>,
    /// What the Pod waits for that is not a place.
    pub(super) held: Option<String>,
}

#[derive(Deserialize)]
struct Wire {
    #[serde(default)]
    explanation: Option<Explanation>,
    #[serde(default)]
    pods: Vec<Held>,
}

#[derive(Deserialize)]
struct Held {
    reason: String,
}

/// Asks the scheduler at this address about a Pod; it knows nothing about Pods of other schedulers.
pub(super) async fn ask(
    url: &str,
    identity: &AuthInfo,
    namespace: &str,
    pod: &str,
) -> anyhow::Result<Answer> {
    let wrong = |why: &str| Failure::usage(format!("{url} is not where a scheduler answers: {why}"));
    let uri: Uri = url.parse().map_err(|_| wrong("it is no URL"))?;
    if uri.scheme().is_none() || uri.host().is_none() {
        return Err(wrong("it begins with http:// or https:// and a host").into());
    }
    let mut config = Config::new(uri.clone());
    // A token is for those who prove who they are, or are this machine.
    if is_private(&uri) {
        config.auth_info.token.clone_from(&identity.token);
        config.auth_info.token_file.clone_from(&identity.token_file);
    }
    let client = Client::try_from(config).context("preparing to ask the scheduler")?;
    let request = Request::get(format!("/explain/{namespace}/{pod}?kind=pod")).body(Body::empty())?;
    let answer = answer(&client, request).await.with_context(|| format!("asking the scheduler at {url}"))?;
    let Some(answer) = answer else { return Ok(Answer::default()) };
    let held = answer.pods.into_iter().next().map(|held| held.reason);
    Ok(Answer { explanation: answer.explanation, held })
}

/// What it answers; nothing if it has not heard of the Pod, or not yet.
async fn answer(client: &Client, request: Request<Body>) -> Result<Option<Wire>, kube::Error> {
    let response = client.send(request).await?;
    // Read here and not by kube: that looks for the code in the body, and a scheduler is no API server.
    let code = response.status();
    let body = response.into_body().collect_bytes().await?;
    if code == StatusCode::NOT_FOUND {
        return Ok(None);
    }
    if !code.is_success() {
        let mut status: Status = serde_json::from_slice(&body).unwrap_or_default();
        status.code = code.as_u16();
        return Err(kube::Error::Api(status.boxed()));
    }
    serde_json::from_slice(&body).map(Some).map_err(kube::Error::SerdeError)
}

/// Whether nobody on the way can read what is sent there.
fn is_private(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let local =
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    uri.scheme() == Some(&Scheme::HTTPS) || local
}

#[cfg(test)]
mod tests {
    use axum::{Json, Router, routing::get};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_pod_that_is_not_known_yet_is_no_failure_and_a_refusal_keeps_its_code() {
        let refuse = |code| move || async move { (code, Json(json!({ "message": "not here" }))) };
        let router = Router::new()
            .route("/explain/n/new", get(refuse(StatusCode::NOT_FOUND)))
            .route("/explain/n/foreign", get(refuse(StatusCode::FORBIDDEN)))
            .route("/explain/n/waits", get(|| async { Json(json!({ "pods": [{ "reason": "a volume" }] })) }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let ask = async |pod| ask(&url, &AuthInfo::default(), "n", pod).await;
        let new = ask("new").await.unwrap();
        assert!(new.explanation.is_none() && new.held.is_none());
        assert_eq!(ask("waits").await.unwrap().held.as_deref(), Some("a volume"));
        let refused = ask("foreign").await.unwrap_err();
        let Some(kube::Error::Api(status)) = refused.downcast_ref() else { panic!("{refused:?}") };
        assert_eq!((status.code, status.message.as_str()), (403, "not here"));
    }

    #[test]
    fn tokens_go_only_where_nobody_listens() {
        let rows = [
            ("https://maar.example.com", true),
            ("http://maar.example.com", false),
            ("http://127.0.0.1:8082", true),
            ("http://[::1]:8082", true),
            ("http://localhost:8082", true),
            ("http://127.0.0.1.example.com", false),
        ];
        for (url, want) in rows {
            assert_eq!(is_private(&url.parse().unwrap()), want, "{url}");
        }
    }
}
