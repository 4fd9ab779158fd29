//! Asking the scheduler that leads, at the address on the command line or in the kubeconfig.

use anyhow::Context as _;
use axum::http::{Request, StatusCode, Uri};
use kube::{Client, Config, client::Body, config::AuthInfo, core::Status};
use maar_controller::{Categorized, Category};
use maar_scheduler::explain::Explanation;
use serde::{Deserialize, Serialize};

use crate::commands::{address::is_private, client::Connection, failure::Failure};

/// Where the scheduler answers.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct UrlArgs {
    /// Where the scheduler answers (its --explain-address); without it what the kubeconfig says, and if that says nothing,
    /// what stands in the cluster is all there is
    #[arg(long, value_name = "URL", env = "MAAR_EXPLAIN_URL", hide_env_values = true)]
    explain_url: Option<String>,
}

/// What is asked about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject<'a> {
    /// A job, or another group of Pods.
    Group(&'a str),
    Pod(&'a str),
}

/// What the scheduler said, if it was there to be asked.
#[derive(Debug)]
pub(crate) enum Heard {
    Said {
        url: String,
        answer: Box<Answer>,
    },
    /// Nobody says where it answers.
    NobodyToAsk,
    /// It does not answer where the kubeconfig says.
    NoAnswer {
        url: String,
        why: String,
    },
}

impl Heard {
    /// The answer, and who it is from: for people who wonder how old it is.
    pub(crate) fn parts(self, else_by: &str) -> (Answer, String) {
        match self {
            Self::Said { url, answer } => (*answer, format!("by the scheduler at {url}")),
            Self::NobodyToAsk => (Answer::default(), format!("by {else_by}")),
            Self::NoAnswer { url, why } => {
                (Answer::default(), format!("by {else_by}: the scheduler at {url} does not answer ({why})"))
            }
        }
    }
}

/// What the scheduler said.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Answer {
    #[serde(default)]
    pub(crate) explanation: Option<Explanation>,
    /// Pods that wait for something that is not a place.
    #[serde(default)]
    pub(crate) pods: Vec<Held>,
}

/// A Pod that waits for something that is not a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Held {
    #[serde(default)]
    pub(crate) pod: String,
    #[serde(rename(serialize = "message"))]
    pub(crate) reason: String,
}

impl UrlArgs {
    /// Asks the scheduler, if anything says where. An address on the command line has to answer; one in the kubeconfig may be
    /// out of reach from here.
    pub(crate) async fn ask(&self, connection: &Connection, subject: Subject<'_>) -> anyhow::Result<Heard> {
        let Some(url) = self.explain_url.as_ref().or(connection.explain_url.as_ref()) else {
            return Ok(Heard::NobodyToAsk);
        };
        let url = url.clone();
        match ask(&url, &connection.identity, &connection.namespace, subject).await {
            Ok(answer) => Ok(Heard::Said { url, answer: Box::new(answer) }),
            Err(error) if self.explain_url.is_none() && is_out_of_reach(&error) => {
                Ok(Heard::NoAnswer { url, why: error.root_cause().to_string() })
            }
            Err(error) => Err(error),
        }
    }
}

fn is_out_of_reach(error: &anyhow::Error) -> bool {
    let category =
        error.chain().find_map(|cause| cause.downcast_ref::<kube::Error>()).map(Categorized::category);
    category == Some(Category::Transient)
}

/// Asks the scheduler at this address; it knows nothing about Pods of other schedulers.
async fn ask(
    url: &str,
    identity: &AuthInfo,
    namespace: &str,
    subject: Subject<'_>,
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
    let path = match subject {
        Subject::Group(name) => format!("/explain/{namespace}/{name}"),
        Subject::Pod(name) => format!("/explain/{namespace}/{name}?kind=pod"),
    };
    let answer = answer(&client, Request::get(path).body(Body::empty())?).await;
    Ok(answer.with_context(|| format!("asking the scheduler at {url}"))?.unwrap_or_default())
}

/// What it answers; nothing if it has not heard of what is asked about, or not yet.
async fn answer(client: &Client, request: Request<Body>) -> Result<Option<Answer>, kube::Error> {
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
        let ask = async |pod| ask(&url, &AuthInfo::default(), "n", Subject::Pod(pod)).await;
        let new = ask("new").await.unwrap();
        assert!(new.explanation.is_none() && new.pods.is_empty());
        assert_eq!(ask("waits").await.unwrap().pods[0].reason, "a volume");
        let refused = ask("foreign").await.unwrap_err();
        let Some(kube::Error::Api(status)) = refused.downcast_ref() else { panic!("{refused:?}") };
        assert_eq!((status.code, status.message.as_str()), (403, "not here"));
        assert!(!is_out_of_reach(&refused), "a refusal is an answer");
    }

    #[tokio::test]
    async fn a_scheduler_that_is_out_of_reach_is_told_from_one_that_refuses() {
        // A port that was free a moment ago, and at which nobody listens.
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let error = ask(&url, &AuthInfo::default(), "n", Subject::Group("train")).await.unwrap_err();
        assert!(is_out_of_reach(&error), "{error:?}");
    }
}
