//! Tokens of service accounts, bound to the Pod that carries them.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, ServiceAccountTokenProjection};
use kube::{Client, api::PostParams, core::Request};
use serde_json::{Value, json};

use crate::{local::plan::Problem, requests};

/// Kubelets ask for a new token when this share of the old one's life is over.
const USED_UP: f64 = 0.8;
/// Or when it is this old.
const LONGEST_USE_SECONDS: f64 = 24.0 * 3600.0;

/// Whether a token can be used for a good while yet. What it says about itself is believed: it only decides whether
/// we ask for another one.
pub(super) fn is_fresh(token: &str, now: Timestamp) -> bool {
    let claims = token.split('.').nth(1).and_then(|part| BASE64_URL_SAFE_NO_PAD.decode(part).ok());
    let Some(claims) = claims.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()) else {
        return false;
    };
    // Servers that let old clients be late write the time that was asked for beside a later one.
    let end = claims["kubernetes.io"]["warnafter"].as_f64().or_else(|| claims["exp"].as_f64());
    let (Some(issued), Some(end)) = (claims["iat"].as_f64(), end) else { return false };
    let age = now.duration_since(Timestamp::UNIX_EPOCH).as_secs_f64() - issued;
    age < ((end - issued) * USED_UP).min(LONGEST_USE_SECONDS)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn token(claims: &Value) -> String {
        format!("head.{}.signature", BASE64_URL_SAFE_NO_PAD.encode(claims.to_string()))
    }

    #[test]
    fn a_token_is_replaced_before_it_expires() {
        let hour = token(&json!({ "iat": 1000, "exp": 4600 }));
        let extended =
            token(&json!({ "iat": 1000, "exp": 31_537_000, "kubernetes.io": { "warnafter": 4607 } }));
        let year = token(&json!({ "iat": 1000, "exp": 31_537_000 }));
        let rows = [
            (&hour, 1000, true),
            (&hour, 1000 + 2879, true),
            (&hour, 1000 + 2881, false),
            (&extended, 1000 + 2880, true),
            (&extended, 1000 + 2900, false),
            (&year, 1000 + 86_000, true),
            (&year, 1000 + 87_000, false),
            (&"nonsense".to_owned(), 0, false),
            (&String::new(), 0, false),
        ];
        for (token, now, want) in rows {
            assert_eq!(is_fresh(token, Timestamp::from_second(now).unwrap()), want, "{token} at {now}");
        }
    }
}
