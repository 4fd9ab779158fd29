//! Whether an ID token is what it says. Pure: the keys and the time are given.

use jiff::Timestamp;
use jsonwebtoken::{
    Algorithm, DecodingKey, Validation, decode, decode_header,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm, PublicKeyUse},
};
use serde_json::{Map, Value};

use crate::identity::login::Refusal;

/// Clocks may differ by so much, in seconds.
const LEEWAY: f64 = 60.0;
/// The standard allows no longer ones.
const LONGEST_SUBJECT: usize = 255;

/// What a token has to say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client: &'a str,
    pub(super) nonce: &'a str,
}

/// Why a token is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum TokenError {
    #[error("the ID token is none")]
    Malformed,
    #[error("the ID token is not signed by RS256, ES256 or EdDSA")]
    Algorithm,
    #[error("the ID token is signed with a key that the provider does not show")]
    UnknownKey,
    #[error("the signature of the ID token is wrong")]
    Signature,
    #[error("the claim {0} of the ID token is wrong")]
    Claim(&'static str),
    #[error("the ID token has expired, or is not valid yet")]
    Time,
}

impl From<TokenError> for Refusal {
    fn from(error: TokenError) -> Self {
        Self::refused(error.to_string())
    }
}

/// The claims of a token, if it is signed by the provider, for us, for this login, and valid now.
pub(super) fn verify(
    token: &str,
    keys: &JwkSet,
    expected: &Expected<'_>,
    now: Timestamp,
) -> Result<Map<String, Value>, TokenError> {
    let algorithm = algorithm(token)?;
    let kid = decode_header(token).map_err(|_| TokenError::Malformed)?.kid;
    let key = find(keys, kid.as_deref(), algorithm).ok_or(TokenError::UnknownKey)?;
    let key = DecodingKey::from_jwk(key).map_err(|_| TokenError::UnknownKey)?;
    let mut only_signature = Validation::new(algorithm);
    // Claims are looked at below, at the time that is given.
    only_signature.required_spec_claims.clear();
    only_signature.validate_exp = false;
    only_signature.validate_aud = false;
    let claims = decode::<Map<String, Value>>(token, &key, &only_signature);
    let claims = claims.map_err(|_| TokenError::Signature)?.claims;
    check(&claims, expected, now)?;
    Ok(claims)
}

/// The algorithm that a token names, if it is one of ours: never `none`, and never one whose key is a shared secret, as
/// which the public key could be used.
fn algorithm(token: &str) -> Result<Algorithm, TokenError> {
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
    let head = token.split('.').next().unwrap_or_default();
    let head = BASE64_URL_SAFE_NO_PAD.decode(head).map_err(|_| TokenError::Malformed)?;
    let head: Map<String, Value> = serde_json::from_slice(&head).map_err(|_| TokenError::Malformed)?;
    match head.get("alg").and_then(Value::as_str) {
        Some("RS256") => Ok(Algorithm::RS256),
        Some("ES256") => Ok(Algorithm::ES256),
        Some("EdDSA") => Ok(Algorithm::EdDSA),
        _ => Err(TokenError::Algorithm),
    }
}

/// The key that a token was signed with: of the name it gives, or the only one that fits.
fn find<'a>(keys: &'a JwkSet, kid: Option<&str>, algorithm: Algorithm) -> Option<&'a Jwk> {
    let mut fitting = keys.keys.iter().filter(|key| fits(key, algorithm));
    match kid {
        Some(kid) => fitting.find(|key| key.common.key_id.as_deref() == Some(kid)),
        None => fitting.next().filter(|_| fitting.next().is_none()),
    }
}

/// Whether a key is for this algorithm, and for signing.
fn fits(key: &Jwk, algorithm: Algorithm) -> bool {
    let (same_kind, word) = match (&key.algorithm, algorithm) {
        (AlgorithmParameters::RSA(_), Algorithm::RS256) => (true, KeyAlgorithm::RS256),
        (AlgorithmParameters::EllipticCurve(ec), Algorithm::ES256) => {
            (ec.curve == EllipticCurve::P256, KeyAlgorithm::ES256)
        }
        (AlgorithmParameters::OctetKeyPair(okp), Algorithm::EdDSA) => {
            (okp.curve == EllipticCurve::Ed25519, KeyAlgorithm::EdDSA)
        }
        _ => return false,
    };
    let signs = key.common.public_key_use.as_ref().is_none_or(|used| *used == PublicKeyUse::Signature);
    same_kind && signs && key.common.key_algorithm.is_none_or(|named| named == word)
}

/// Whether the claims are for us, for this login, and valid now.
fn check(claims: &Map<String, Value>, expected: &Expected<'_>, now: Timestamp) -> Result<(), TokenError> {
    let word = |name: &str| claims.get(name).and_then(Value::as_str);
    if word("iss") != Some(expected.issuer) {
        return Err(TokenError::Claim("iss"));
    }
    let audiences: Vec<&str> = match claims.get("aud") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !audiences.contains(&expected.client) {
        return Err(TokenError::Claim("aud"));
    }
    // A token for several says for whom it was made.
    let party = claims.get("azp").map(Value::as_str);
    if party.is_some_and(|party| party != Some(expected.client)) || party.is_none() && audiences.len() > 1 {
        return Err(TokenError::Claim("azp"));
    }
    if word("nonce") != Some(expected.nonce) {
        return Err(TokenError::Claim("nonce"));
    }
    subject_of(claims)?;
    in_time(claims, now)
}

fn in_time(claims: &Map<String, Value>, now: Timestamp) -> Result<(), TokenError> {
    #[expect(clippy::cast_precision_loss, reason = "seconds of centuries are exact in a double")]
    let now = now.as_second() as f64;
    let time = |name: &'static str| match claims.get(name) {
        None => Ok(None),
        Some(value) => value.as_f64().map(Some).ok_or(TokenError::Claim(name)),
    };
    let end = time("exp")?.ok_or(TokenError::Claim("exp"))?;
    let begin = time("nbf")?;
    let made = time("iat")?;
    let early = |begin: f64| begin > now + LEEWAY;
    if end + LEEWAY <= now || begin.is_some_and(early) || made.is_some_and(early) {
        return Err(TokenError::Time);
    }
    Ok(())
}

/// The subject of claims.
pub(super) fn subject(claims: &Map<String, Value>) -> Result<String, TokenError> {
    subject_of(claims).map(str::to_owned)
}

fn subject_of(claims: &Map<String, Value>) -> Result<&str, TokenError> {
    let fine = |text: &&str| {
        !text.is_empty() && text.len() <= LONGEST_SUBJECT && !text.chars().any(char::is_control)
    };
    claims.get("sub").and_then(Value::as_str).filter(fine).ok_or(TokenError::Claim("sub"))
}

#[cfg(test)]
mod tests;
