//! Oneself: name, password, sessions.

use std::collections::BTreeMap;

use jiff::Timestamp;
use maar_records::{Session, User, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{attempt, password::check_choice};
use crate::{
    access::AccountRole,
    error::ApiError,
    namespace::namespace_of,
    page::{Page, PageQuery},
    route::{Answer, Call},
};

/// Who is signed in.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Me {
    id: String,
    name: String,
    display_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    /// Where his work is.
    namespace: String,
    platform_admin: bool,
    /// His part in each account.
    accounts: BTreeMap<String, AccountRole>,
    /// Nothing else works before.
    must_change_password: bool,
}

pub(super) fn me_of(call: &Call, user: &User) -> Me {
    Me {
        id: user.id.as_str().to_owned(),
        name: user.name.clone(),
        display_name: user.display_name.clone(),
        email: user.email.clone(),
        namespace: namespace_of(&user.name, user.id.as_str()),
        platform_admin: user.admin,
        accounts: call.portal.live.roles(&user.name),
        must_change_password: user.must_change_password,
    }
}

/// `GET /me`.
pub(super) async fn me(call: Call) -> Result<Answer, ApiError> {
    let user = call.portal.records.user(&UserId::new(&call.person()?.id)).await?;
    Answer::json(&me_of(&call, &user))
}

/// A change of the own password.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PasswordChange {
    /// The present one.
    current: String,
    /// The new one, of 10 to 256 characters.
    new: String,
}

/// `PUT /me/password`. All other sessions end.
pub(super) async fn change_password(call: Call) -> Result<Answer, ApiError> {
    let asked: PasswordChange = call.body()?;
    let portal = &call.portal;
    let person = call.person()?;
    // As a login: a stolen session must not be good for guessing the password.
    attempt::count_name(portal, "change", &person.id).await?;
    let user = portal.records.user(&UserId::new(&person.id)).await?;
    if !portal.passwords.verify(user.password_hash.as_ref(), &asked.current).await? {
        return Err(ApiError::invalid("current", "is wrong"));
    }
    check_choice("new", &asked.new, &user.name)?;
    if asked.new == asked.current {
        return Err(ApiError::invalid("new", "is the present one"));
    }
    let hash = portal.passwords.hash(&asked.new).await?;
    portal.records.set_password(&user.id, &hash, false, call.session_id(), call.now()).await?;
    Ok(Answer::done().about(user.name))
}

/// A session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionView {
    id: String,
    /// How it began.
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
    /// It is the one that asks.
    current: bool,
}

fn session_view(session: Session, current: bool) -> SessionView {
    SessionView {
        id: session.id.as_str().to_owned(),
        provider: session.provider,
        address: session.address,
        agent: session.agent,
        created: session.created_at,
        last_seen: session.last_seen_at,
        expires: session.expires_at,
        revoked: session.revoked_at.is_some(),
        current,
    }
}

/// `GET /me/sessions`.
pub(super) async fn sessions(call: Call) -> Result<Answer, ApiError> {
    let id = UserId::new(&call.person()?.id);
    sessions_of(&call, &id).await
}

pub(super) async fn sessions_of(call: &Call, user: &UserId) -> Result<Answer, ApiError> {
    let page = call.query::<PageQuery>()?.records()?;
    let found = call.portal.records.sessions_of(user, &page).await?;
    let own = |session: &Session| call.session_id() == Some(&session.id);
    Answer::json(&Page::of_records(found, |session| {
        let current = own(&session);
        session_view(session, current)
    }))
}

/// `DELETE /sessions/{id}`.
pub(super) async fn revoke_session(call: Call) -> Result<Answer, ApiError> {
    let session = call.session()?;
    call.portal.records.revoke_session(&session.id, call.now()).await?;
    Ok(Answer::done().change(Some(json!({ "user": session.user.as_str() })), None))
}
