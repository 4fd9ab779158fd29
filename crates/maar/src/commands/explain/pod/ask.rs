//! Asking the scheduler.

use anyhow::Context as _;
use axum::http::{Request, Uri, uri::Scheme};
use kube::{Client, Config, config::AuthInfo};
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
    let request = Request::get(format!("/explain/{namespace}/{pod}?kind=pod")).body(Vec::new())?;
    let answer = match client.request::<Wire>(request).await {
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Answer::default()),
        answer => answer.with_context(|| format!("asking the scheduler at {url}"))?,
    };
    let held = answer.pods.into_iter().next().map(|held| held.reason);
    Ok(Answer { explanation: answer.explanation, held })
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
    use super::*;

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
