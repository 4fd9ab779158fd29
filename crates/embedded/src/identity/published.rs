//! What others need to believe service-account tokens without asking: who issues them, and the key (OpenID Connect Discovery).

use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderValue, header};
use rcgen::{KeyPair, PublicKeyData as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::token::ISSUER;
use crate::server::Server;
use crate::status::ApiError;

/// Where the issuer describes itself.
pub(crate) const CONFIGURATION: &str = "/.well-known/openid-configuration";
/// Where its key is.
pub(crate) const KEYS: &str = "/openid/v1/jwks";

/// The name of a key, in tokens and where it is published.
pub(super) fn key_id(key: &KeyPair) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(key.subject_public_key_info()))
}

impl Server {
    pub(crate) fn issuer_configuration() -> Response {
        let value = json!({
            "issuer": ISSUER,
            "jwks_uri": format!("{ISSUER}{KEYS}"),
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        });
        answer("application/json", &value)
    }

    pub(crate) fn issuer_keys(&self) -> Result<Response, ApiError> {
        let key = self.identity.pki.token_key().map_err(ApiError::internal)?;
        Ok(answer("application/jwk-set+json", &json!({"keys": [public(key)]})))
    }
}

/// The public half: a point of P-256, which is a byte that says so and two numbers of 32.
fn public(key: &KeyPair) -> Value {
    let (x, y) = key.public_key_raw()[1..].split_at(32);
    let text = |number: &[u8]| URL_SAFE_NO_PAD.encode(number);
    json!({"use": "sig", "kty": "EC", "kid": key_id(key), "crv": "P-256", "alg": "ES256", "x": text(x), "y": text(y)})
}

fn answer(form: &'static str, value: &Value) -> Response {
    let mut response = Response::new(Body::from(value.to_string()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(form));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    response
}
