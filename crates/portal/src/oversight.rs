//! Sessions and keys of everybody, for platform administrators. Ending one is the same call as for one's own.

use std::collections::HashMap;

use jiff::Timestamp;
use maar_records::UserId;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    access::{Kind, Verb},
    error::ApiError,
    page::{Page, PageQuery},
    route::{Answer, Call, Method::Get, Route, Target},
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Get,
            "/sessions",
            "listAllSessions",
            (Verb::See, Target::Cluster(Kind::Session)),
            sessions,
        )
        .says("Sessions of all users, newest first")
        .query::<PageQuery>()
        .answers::<Page<AnySession>>(),
        Route::new(Get, "/keys", "listAllKeys", (Verb::See, Target::Cluster(Kind::Key)), keys)
            .says("API keys of all users, without their secrets")
            .query::<PageQuery>()
            .answers::<Page<AnyKey>>(),
    ]
}

/// A session of somebody.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AnySession {
    id: String,
    /// Whose it is.
    user: String,
    user_id: String,
    provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[schemars(with = "String")]
    created: Timestamp,
    #[schemars(with = "String")]
    last_seen: Timestamp,
    #[schemars(with = "String")]
    expires: Timestamp,
    /// It was ended.
    revoked: bool,
}

/// A key of somebody.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AnyKey {
    id: String,
    name: String,
    /// Whose it is.
    user: String,
    user_id: String,
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

/// Names of users; their identifiers where there is none any more.
async fn names<'a>(
    call: &Call,
    ids: impl Iterator<Item = &'a UserId>,
) -> Result<HashMap<String, String>, ApiError> {
    let mut names = HashMap::new();
    for id in ids {
        if !names.contains_key(id.as_str()) {
            let name = match call.portal.records.user(id).await {
                Ok(user) => user.name,
                Err(maar_records::Error::NotFound { .. }) => id.as_str().to_owned(),
                Err(error) => return Err(error.into()),
            };
            names.insert(id.as_str().to_owned(), name);
        }
    }
    Ok(names)
}

async fn sessions(call: Call) -> Result<Answer, ApiError> {
    let found = call.portal.records.sessions(&call.query::<PageQuery>()?.records()?).await?;
    let names = names(&call, found.items.iter().map(|one| &one.user)).await?;
    Answer::json(&Page::of_records(found, |one| AnySession {
        id: one.id.as_str().to_owned(),
        user: names.get(one.user.as_str()).cloned().unwrap_or_default(),
        user_id: one.user.as_str().to_owned(),
        provider: one.provider,
        address: one.address,
        agent: one.agent,
        created: one.created_at,
        last_seen: one.last_seen_at,
        expires: one.expires_at,
        revoked: one.revoked_at.is_some(),
    }))
}

async fn keys(call: Call) -> Result<Answer, ApiError> {
    let found = call.portal.records.keys(&call.query::<PageQuery>()?.records()?).await?;
    let names = names(&call, found.items.iter().map(|one| &one.user)).await?;
    Answer::json(&Page::of_records(found, |one| AnyKey {
        id: one.id.as_str().to_owned(),
        name: one.name,
        user: names.get(one.user.as_str()).cloned().unwrap_or_default(),
        user_id: one.user.as_str().to_owned(),
        scopes: one.scopes,
        created: one.created_at,
        expires: one.expires_at,
        last_used: one.last_used_at,
        revoked: one.revoked_at.is_some(),
    }))
}
