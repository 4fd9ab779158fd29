//! Users, for platform administrators.

use jiff::Timestamp;
use maar_records::{NewUser, Standing, User, UserFilter, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{handlers::sessions_of, token::identifier};
use crate::{
    error::ApiError,
    page::{Page, PageQuery},
    route::{Answer, Call},
    rules::Wrong,
};

/// A user.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserView {
    id: String,
    name: String,
    display_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    platform_admin: bool,
    disabled: bool,
    must_change_password: bool,
    #[schemars(with = "String")]
    created: Timestamp,
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    last_login: Option<Timestamp>,
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<Timestamp>,
}

fn view(user: User) -> UserView {
    UserView {
        id: user.id.as_str().to_owned(),
        name: user.name,
        display_name: user.display_name,
        email: user.email,
        platform_admin: user.admin,
        disabled: user.disabled_at.is_some(),
        must_change_password: user.must_change_password,
        created: user.created_at,
        last_login: user.last_login_at,
        expires: user.expires_at,
    }
}

/// Which users.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct UserQuery {
    /// A part of the name, the display name or the address.
    search: Option<String>,
}

/// `GET /users`.
pub(super) async fn list(call: Call) -> Result<Answer, ApiError> {
    let filter = UserFilter { search: call.query::<UserQuery>()?.search, ..UserFilter::default() };
    let found = call.portal.records.users(&filter, &call.query::<PageQuery>()?.records()?).await?;
    Answer::json(&Page::of_records(found, view))
}

/// A user to be made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewUserRequest {
    /// Letters a-z, digits, dots, dashes and underscores, at most 63.
    name: String,
    display_name: Option<String>,
    email: Option<String>,
    #[serde(default)]
    platform_admin: bool,
    /// The account ends then.
    #[schemars(with = "Option<String>")]
    expires: Option<Timestamp>,
}

/// A password that was just made.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MadePassword {
    id: String,
    /// Shown this once; it has to be changed at the first login.
    password: String,
}

/// Names of users are values of labels: accounts and cards are counted by them.
pub(super) fn check_name(name: &str) -> Result<(), Wrong> {
    let end = |one: Option<char>| one.is_some_and(|one| one.is_ascii_lowercase() || one.is_ascii_digit());
    let inside = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || "._-".contains(one);
    if name.len() <= 63 && name.chars().all(inside) && end(name.chars().next()) && end(name.chars().last()) {
        return Ok(());
    }
    Err(Wrong::new(
        "name",
        "has letters a-z, digits, and dots, dashes or underscores between them, at most 63",
    ))
}

/// `POST /users`.
pub(super) async fn create(call: Call) -> Result<Answer, ApiError> {
    let asked: NewUserRequest = call.body()?;
    check_name(&asked.name)?;
    let portal = &call.portal;
    let password = portal.passwords.generate()?;
    let id = identifier(&portal.entropy, "u")?;
    let user = NewUser {
        display_name: asked.display_name.unwrap_or_else(|| asked.name.clone()),
        email: asked.email,
        password_hash: Some(portal.passwords.hash(&password).await?),
        must_change_password: true,
        admin: asked.platform_admin,
        expires_at: asked.expires,
        ..NewUser::named(UserId::new(&id), &asked.name)
    };
    portal.records.create_user(&user, call.now()).await?;
    let after = json!({ "name": asked.name, "platformAdmin": asked.platform_admin });
    let answer = Answer::created(&MadePassword { id, password })?;
    Ok(answer.about(asked.name).change(None, Some(after)))
}

/// `POST /users/{id}/password`: a new one, for those who have forgotten theirs. All sessions end.
pub(super) async fn reset_password(call: Call) -> Result<Answer, ApiError> {
    let (portal, user) = (&call.portal, call.user()?);
    let password = portal.passwords.generate()?;
    let hash = portal.passwords.hash(&password).await?;
    portal.records.set_password(&user.id, &hash, true, None, call.now()).await?;
    Ok(Answer::json(&MadePassword { id: user.id.as_str().to_owned(), password })?.about(&user.name))
}

/// A change of a user; what is not said stays.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct UserChangeRequest {
    platform_admin: Option<bool>,
    /// Disabling ends all sessions, and no API key works any more.
    disabled: Option<bool>,
    /// The account ends then; an empty text lets it go on. Kubeconfigs that would work longer are revoked.
    expires: Option<String>,
}

/// `PUT /users/{id}`.
pub(super) async fn change(call: Call) -> Result<Answer, ApiError> {
    let asked: UserChangeRequest = call.body()?;
    let (records, user, now) = (&call.portal.records, call.user()?, call.now());
    let unread = |_| ApiError::invalid("expires", "is no time, such as 2030-01-31T00:00:00Z");
    let expires = match asked.expires.as_deref() {
        None => None,
        Some("") => Some(None),
        Some(text) => Some(Some(text.parse().map_err(unread)?)),
    };
    let wanted = Standing { admin: asked.platform_admin, disabled: asked.disabled, expires };
    let changed = records.set_standing(&user.id, &wanted, now).await?;
    // Certificates are believed by the cluster until they end: what they may is taken away.
    if !changed.is_active(now) {
        crate::kubeconfig::revoke_all(&call.portal, user).await?;
    } else if let Some(end) = changed.expires_at {
        crate::kubeconfig::revoke_beyond(&call.portal, user, end).await?;
    }
    let answer = Answer::json(&view(changed.clone()))?;
    Ok(answer.about(&user.name).change(Some(facts(user)), Some(facts(&changed))))
}

fn facts(user: &User) -> Value {
    json!({
        "platformAdmin": user.admin,
        "disabled": user.disabled_at.is_some(),
        "expires": user.expires_at.map(|end| end.to_string()),
    })
}

/// `GET /users/{id}/sessions`.
pub(super) async fn sessions(call: Call) -> Result<Answer, ApiError> {
    let id = call.user()?.id.clone();
    sessions_of(&call, &id).await
}

/// `DELETE /users/{id}/sessions`: ends all of them.
pub(super) async fn revoke_sessions(call: Call) -> Result<Answer, ApiError> {
    let user = call.user()?;
    call.portal.records.revoke_sessions_of(&user.id, None, call.now()).await?;
    Ok(Answer::done().about(&user.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_users_are_values_of_labels() {
        for name in ["ada", "ada.lovelace", "a-b_c", "0x"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", "Ada", "ada@x", "-a", "a-", "a b", "../x", &"a".repeat(64)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
