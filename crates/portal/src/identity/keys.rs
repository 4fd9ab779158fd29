//! API keys.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use maar_records::{Key, KeyId, NewKey, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::token::{KEY_PREFIX, hash, identifier, secret};
use crate::{
    access::Scope,
    error::ApiError,
    page::{Page, PageQuery},
    route::{Answer, Call},
};

/// The longest life of a key.
const LONGEST: i64 = 366;

/// A key to be made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewKeyRequest {
    /// What it is for.
    name: String,
    /// What it may do, at most what its owner may.
    scopes: BTreeSet<Scope>,
    /// How many days it is valid, up to 366.
    days: i64,
}

/// A key, without its secret.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeyView {
    id: String,
    name: String,
    scopes: Vec<String>,
    #[schemars(with = "String")]
    created: Timestamp,
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<Timestamp>,
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used: Option<Timestamp>,
    /// It was ended.
    revoked: bool,
}

/// A key that was just made.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MadeKey {
    id: String,
    /// Shown this once; send it as `Authorization: Bearer …`.
    secret: String,
}

fn view(key: Key) -> KeyView {
    KeyView {
        id: key.id.as_str().to_owned(),
        name: key.name,
        scopes: key.scopes,
        created: key.created_at,
        expires: key.expires_at,
        last_used: key.last_used_at,
        revoked: key.revoked_at.is_some(),
    }
}

/// `GET /me/keys`.
pub(super) async fn list(call: Call) -> Result<Answer, ApiError> {
    let page = call.query::<PageQuery>()?.records()?;
    let found = call.portal.records.keys_of(&UserId::new(&call.person()?.id), &page).await?;
    Answer::json(&Page::of_records(found, view))
}

/// `POST /me/keys`.
pub(super) async fn create(call: Call) -> Result<Answer, ApiError> {
    let asked: NewKeyRequest = call.body()?;
    let (portal, person, now) = (&call.portal, call.person()?, call.now());
    if asked.scopes.is_empty() {
        return Err(ApiError::invalid("scopes", "names at least one"));
    }
    if asked.scopes.contains(&Scope::Admin) && !person.platform_admin {
        return Err(ApiError::invalid("scopes", "admin is for platform administrators"));
    }
    if !(1..=LONGEST).contains(&asked.days) {
        return Err(ApiError::invalid("days", format!("is between 1 and {LONGEST}")));
    }
    let secret = format!("{KEY_PREFIX}{}", secret(&portal.entropy)?);
    let id = identifier(&portal.entropy, "k")?;
    let scopes: Vec<String> = asked.scopes.iter().map(ToString::to_string).collect();
    let key = NewKey {
        id: KeyId::new(&id),
        token: hash(&secret),
        user: UserId::new(&person.id),
        name: asked.name.clone(),
        scopes: scopes.clone(),
        expires_at: now.saturating_add(SignedDuration::from_hours(24 * asked.days)).ok(),
    };
    portal.records.create_key(&key, now).await?;
    let after = json!({ "name": asked.name, "scopes": scopes, "days": asked.days });
    Ok(Answer::created(&MadeKey { id: id.clone(), secret })?.about(id).change(None, Some(after)))
}

/// `DELETE /keys/{id}`.
pub(super) async fn revoke(call: Call) -> Result<Answer, ApiError> {
    let key = call.key()?;
    call.portal.records.revoke_key(&key.id, call.now()).await?;
    let before = json!({ "name": key.name, "user": key.user.as_str(), "scopes": key.scopes });
    Ok(Answer::done().change(Some(before), None))
}
