//! The public keys of people.

use jiff::Timestamp;
use maar_gateway::ssh::UserKey;
use maar_records::{Error, NewSshKey, SshKey, SshKeyId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    error::{ApiError, Code},
    identity::identifier,
    page::{Page, PageQuery},
    route::{Answer, Call},
};

/// Where SSH is, and how its host is known.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SshView {
    /// Whether there is SSH at all; without it everything else is empty.
    enabled: bool,
    host: String,
    port: u16,
    /// As in `known_hosts`.
    host_keys: Vec<String>,
    fingerprints: Vec<String>,
}

/// A key to be added.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewSshKeyRequest {
    /// What it is called; the comment of the key if it is not said.
    #[serde(default)]
    title: String,
    /// A line such as `ssh-ed25519 AAAA… name`.
    key: String,
    /// From when on it does not work.
    #[schemars(with = "Option<String>")]
    expires: Option<Timestamp>,
}

/// A key.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SshKeyView {
    id: String,
    title: String,
    kind: String,
    fingerprint: String,
    #[schemars(with = "String")]
    created: Timestamp,
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used: Option<Timestamp>,
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<Timestamp>,
}

fn view(key: SshKey) -> SshKeyView {
    SshKeyView {
        id: key.id.as_str().to_owned(),
        title: key.title,
        kind: key.kind,
        fingerprint: key.fingerprint,
        created: key.created_at,
        last_used: key.last_used_at,
        expires: key.expires_at,
    }
}

/// `GET /ssh`.
pub(super) fn about(call: &Call) -> Result<Answer, ApiError> {
    let found = call.portal.ssh.get();
    Answer::json(&SshView {
        enabled: found.is_some(),
        host: found.map(|ssh| ssh.settings.host.clone()).unwrap_or_default(),
        port: found.map(|ssh| ssh.settings.port).unwrap_or_default(),
        host_keys: found.iter().map(|ssh| ssh.host.public()).collect(),
        fingerprints: found.iter().map(|ssh| ssh.host.fingerprint()).collect(),
    })
}

/// `GET /me/ssh-keys`.
pub(super) async fn list(call: Call) -> Result<Answer, ApiError> {
    let page = call.query::<PageQuery>()?.records()?;
    let found = call.portal.records.ssh_keys_of(&UserId::new(&call.person()?.id), &page).await?;
    Answer::json(&Page::of_records(found, view))
}

/// `POST /me/ssh-keys`.
pub(super) async fn create(call: Call) -> Result<Answer, ApiError> {
    let asked: NewSshKeyRequest = call.body()?;
    let key = UserKey::read(&asked.key).map_err(|error| ApiError::invalid("key", error.to_string()))?;
    let title = match asked.title.trim() {
        "" => key.comment(),
        title => title.to_owned(),
    };
    let title = if title.trim().is_empty() { key.kind() } else { title };
    let (portal, now) = (&call.portal, call.now());
    let id = SshKeyId::new(identifier(&portal.entropy, "s")?);
    let new = NewSshKey {
        id: id.clone(),
        user: UserId::new(&call.person()?.id),
        title,
        kind: key.kind(),
        fingerprint: key.fingerprint(),
        line: key.line(),
        expires_at: asked.expires,
    };
    portal.records.create_ssh_key(&new, now).await.map_err(|error| match error {
        // Whose it is, if it is another's, is nobody's business.
        Error::Conflict { .. } => ApiError::new(Code::Conflict, "this key is in use already: make another"),
        other => other.into(),
    })?;
    let after = json!({ "title": new.title, "kind": new.kind, "fingerprint": new.fingerprint });
    let made = portal.records.ssh_key(&id).await?;
    Ok(Answer::created(&view(made))?.about(id.as_str()).change(None, Some(after)))
}

/// `DELETE /ssh-keys/{id}`.
pub(super) async fn revoke(call: Call) -> Result<Answer, ApiError> {
    let key = call.ssh_key()?;
    call.portal.records.revoke_ssh_key(&key.id, call.now()).await?;
    let before = json!({ "title": key.title, "user": key.user.as_str(), "fingerprint": key.fingerprint });
    Ok(Answer::done().change(Some(before), None))
}
