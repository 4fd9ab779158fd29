//! Certificates for minutes, for `maar ssh` and whoever wants to keep no key here.

use jiff::{SignedDuration, Timestamp};
use maar_gateway::ssh::UserKey;
use maar_records::UserId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    error::{ApiError, Code},
    identity::{CertificateId, identifier},
    route::{Answer, Call},
};

/// How long one is valid if nothing is said.
const USUAL: i64 = 15 * 60;
/// And at most.
const LONGEST: i64 = 12 * 3600;

/// A certificate to be made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewCertificate {
    /// The public key it is for: a line such as `ssh-ed25519 AAAA…`.
    key: String,
    /// How long it is valid, up to 43200 and as long as the key or session that asks; 900 if it is not said. A connection
    /// outlives it, and ends with that key or session.
    seconds: Option<i64>,
}

/// A certificate.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CertificateView {
    /// For the file that ends in `-cert.pub`.
    certificate: String,
    #[schemars(with = "String")]
    expires: Timestamp,
}

/// `POST /me/ssh-certificates`.
pub(super) async fn create(call: Call) -> Result<Answer, ApiError> {
    let asked: NewCertificate = call.body()?;
    let key = UserKey::read(&asked.key).map_err(|error| ApiError::invalid("key", error.to_string()))?;
    let seconds = asked.seconds.unwrap_or(USUAL);
    if !(1..=LONGEST).contains(&seconds) {
        return Err(ApiError::invalid("seconds", format!("is between 1 and {LONGEST}")));
    }
    let portal = &call.portal;
    let ssh = portal.ssh.get().ok_or_else(|| {
        ApiError::new(Code::NotFound, "there is no SSH here: start the portal with --ssh-listen")
    })?;
    let (person, now) = (call.person()?, call.now());
    let user = portal.records.user(&UserId::new(&person.id)).await?;
    let nothing = || ApiError::new(Code::Forbidden, "sign in, or use an API key");
    let (maker, end) = call.caller.certifies(portal).await?.ok_or_else(nothing)?;
    let asked_until = now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(now);
    let until = [end, user.expires_at].into_iter().flatten().fold(asked_until, Ord::min);
    let exhausted = || ApiError::new(Code::Unavailable, "the system has no randomness");
    let nonce = portal.entropy.bytes().ok_or_else(exhausted)?;
    let id = identifier(&portal.entropy, "c")?;
    let written = CertificateId { id: id.clone(), generation: user.generation, maker }.to_string();
    let made = ssh.authority.sign(&key, &person.id, &written, &nonce, (now, until));
    let certificate = made.map_err(|error| ApiError::unavailable("the authority for certificates", error))?;
    let after = json!({ "fingerprint": key.fingerprint(), "expires": until });
    let view = CertificateView { certificate, expires: until };
    Ok(Answer::created(&view)?.about(id).change(None, Some(after)))
}
