//! Asking a provider over HTTP: with an end in time and size, and without following it elsewhere.

use std::{collections::BTreeMap, fmt, time::Duration};

use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Limited};
use kube::{Client, Config, client::Body};
use maar_controller::error::chain;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

use super::url::origin;
use crate::{error::ApiError, identity::login::Refusal};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most an answer may hold.
const MOST: usize = 1 << 20;

/// Asks, and trusts the certificates it was told to, or those of the system.
pub(super) struct Fetcher {
    roots: Option<Vec<Vec<u8>>>,
    /// A Kubernetes client is also a client for any other server; one for each.
    clients: Mutex<BTreeMap<String, Client>>,
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Fetcher")
    }
}

/// Why there is no answer that can be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("{host} does not answer: {why}")]
    Unavailable { host: String, why: String },
    #[error("{host} answers {status}: {said}")]
    Refused { host: String, status: u16, said: String },
    #[error("{host} answers with what cannot be read: {why}")]
    Unreadable { host: String, why: String },
}

impl From<FetchError> for Refusal {
    fn from(error: FetchError) -> Self {
        let why = error.to_string();
        match error {
            FetchError::Refused { .. } => Self::refused(why),
            other => Self { told: ApiError::unavailable("the provider", other), why },
        }
    }
}

impl Fetcher {
    pub(super) fn new(roots: Option<Vec<Vec<u8>>>) -> Self {
        Self { roots, clients: Mutex::default() }
    }

    /// A document.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        uri: &Uri,
        bearer: Option<&str>,
    ) -> Result<T, FetchError> {
        let mut request = Request::get(uri.path_and_query().map_or("/", |path| path.as_str()));
        if let Some(token) = bearer {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        self.ask(uri, request, Vec::new()).await
    }

    /// The answer to a form.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        uri: &Uri,
        form: String,
        authorization: Option<String>,
    ) -> Result<T, FetchError> {
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request =
            Request::post(path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(value) = authorization {
            request = request.header(header::AUTHORIZATION, value);
        }
        self.ask(uri, request, form.into_bytes()).await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        uri: &Uri,
        request: http::request::Builder,
        body: Vec<u8>,
    ) -> Result<T, FetchError> {
        let host = origin(uri);
        let unavailable = |why: String| FetchError::Unavailable { host: host.clone(), why };
        let request = request
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, "maar")
            .body(Body::from(body))
            .map_err(|error| unavailable(error.to_string()))?;
        let client = self.client(&host).map_err(|error| unavailable(chain(&error)))?;
        let answering = async {
            let response = client.send(request).await.map_err(|error| unavailable(chain(&error)))?;
            let (parts, body) = response.into_parts();
            let body = Limited::new(body, MOST).collect().await;
            let bytes =
                body.map_err(|error| FetchError::Unreadable { host: host.clone(), why: error.to_string() })?;
            read(&host, parts.status, &bytes.to_bytes())
        };
        timeout(PATIENCE, answering)
            .await
            .unwrap_or_else(|_| Err(unavailable("no answer in time".to_owned())))
    }

    fn client(&self, host: &str) -> Result<Client, kube::Error> {
        if let Some(client) = self.clients.lock().get(host) {
            return Ok(client.clone());
        }
        let address =
            host.parse().map_err(|error: http::uri::InvalidUri| kube::Error::HttpError(error.into()))?;
        let mut config = Config::new(address);
        config.root_cert.clone_from(&self.roots);
        config.connect_timeout = Some(PATIENCE);
        config.read_timeout = Some(PATIENCE);
        config.default_retry = false;
        let client = Client::try_from(config)?;
        self.clients.lock().insert(host.to_owned(), client.clone());
        Ok(client)
    }
}

fn read<T: DeserializeOwned>(host: &str, status: StatusCode, bytes: &[u8]) -> Result<T, FetchError> {
    let host = host.to_owned();
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return Err(FetchError::Unavailable { host, why: format!("it says {status}") });
    }
    if !status.is_success() {
        // The word of the standard for why, and nothing else of it: it goes to the audit log.
        let said = serde_json::from_slice::<Value>(bytes).ok();
        let said = said.as_ref().and_then(|said| said.get("error")?.as_str()).map(word).unwrap_or_default();
        return Err(FetchError::Refused { host, status: status.as_u16(), said });
    }
    serde_json::from_slice(bytes).map_err(|error| FetchError::Unreadable { host, why: error.to_string() })
}

/// What others say for why, as far as it can be kept.
pub(super) fn word(text: &str) -> String {
    text.chars().filter(|one| one.is_ascii_alphanumeric() || "_-.".contains(*one)).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_apart() {
        let of = |status: u16, body: &str| {
            read::<Value>("https://id.example", StatusCode::from_u16(status).unwrap(), body.as_bytes())
                .map_or_else(|error| error.to_string(), |value| value.to_string())
        };
        assert_eq!(of(200, "{}"), "{}");
        assert_eq!(
            of(400, r#"{"error":"invalid_grant","error_description":"secret"}"#),
            "https://id.example answers 400: invalid_grant"
        );
        assert_eq!(of(302, ""), "https://id.example answers 302: ", "it is not followed");
        assert_eq!(of(503, ""), "https://id.example does not answer: it says 503 Service Unavailable");
        assert!(of(200, "<html>").starts_with("https://id.example answers with what cannot be read"));
        assert_eq!(word("a\nb<script>"), "abscript");
    }
}
