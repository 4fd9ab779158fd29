//! Signing in and out.
//!
//! However somebody shows who he is, it ends in [`conclude`]: one place that opens sessions, refuses who is disabled or
//! expired, and writes everything down.

use http::HeaderValue;
use maar_records::{Actor, ActorKind, Entry, NewSession, Outcome, SessionId, User};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    attempt, cookie,
    handlers::me_of,
    token::{hash, identifier, secret},
};
use crate::{
    error::{ApiError, Code},
    route::{Answer, Call},
};

/// How sessions by a password of ours are called.
pub(super) const PASSWORD: &str = "password";

/// Who wants in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    /// The name.
    pub(super) name: String,
    /// The password.
    pub(super) password: String,
}

/// Why somebody is not let in: what he is told, and what the audit log keeps, which may be more.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) told: ApiError,
    pub(super) why: String,
}

impl Refusal {
    /// One answer for every reason: who does not know the password learns nothing of the user.
    pub(super) fn wrong(why: impl Into<String>) -> Self {
        Self { told: ApiError::new(Code::WrongPassword, "name or password is wrong"), why: why.into() }
    }

    /// What a provider says is not believed.
    pub(super) fn refused(why: impl Into<String>) -> Self {
        let told =
            "signing in failed: try again, and tell an administrator the request's identifier if it stays so";
        Self { told: ApiError::new(Code::LoginRefused, told), why: why.into() }
    }
}

impl From<ApiError> for Refusal {
    fn from(told: ApiError) -> Self {
        Self { why: told.detail(), told }
    }
}

impl From<maar_records::Error> for Refusal {
    fn from(error: maar_records::Error) -> Self {
        ApiError::from(error).into()
    }
}

/// Somebody who is in.
pub(super) struct SignedIn {
    pub(super) user: User,
    pub(super) cookie: HeaderValue,
}

/// `POST /login`.
pub(super) async fn login(call: Call) -> Result<Answer, ApiError> {
    let asked: Login = call.body()?;
    let shown = by_password(&call, &asked).await;
    welcome(&call, conclude(&call, PASSWORD, &asked.name, shown).await?)
}

async fn by_password(call: &Call, asked: &Login) -> Result<User, Refusal> {
    let portal = &call.portal;
    attempt::count_name(portal, PASSWORD, &asked.name).await?;
    attempt::count_address(portal, call.address).await?;
    let found = portal.records.user_by_name(&asked.name).await?;
    let kept = found.as_ref().and_then(|user| user.password_hash.as_ref());
    let right = portal.passwords.verify(kept, &asked.password).await?;
    let user = found.filter(|_| right).ok_or_else(|| Refusal::wrong("name or password is wrong"))?;
    if !user.is_active(call.now()) {
        return Err(Refusal::wrong("the user is disabled or expired"));
    }
    attempt::forgive_name(portal, PASSWORD, &asked.name).await?;
    Ok(user)
}

/// The answer to a page that has signed somebody in.
pub(super) fn welcome(call: &Call, signed_in: SignedIn) -> Result<Answer, ApiError> {
    let answer = Answer::json(&me_of(call, &signed_in.user))?;
    Ok(answer.header(http::header::SET_COOKIE, signed_in.cookie))
}

/// Lets in whom `provider` has shown to be a user, or not, and writes it down.
pub(super) async fn conclude(
    call: &Call,
    provider: &str,
    name: &str,
    shown: Result<User, Refusal>,
) -> Result<SignedIn, ApiError> {
    let result = match shown {
        Ok(user) if user.is_active(call.now()) => open_session(call, provider, user).await,
        Ok(_) => Err(Refusal::refused("the user is disabled or expired")),
        Err(refusal) => Err(refusal),
    };
    match result {
        Ok(signed_in) => {
            // A login that cannot be written down is none.
            call.portal.records.append_audit(&entry(call, provider, name, Some(&signed_in.user))).await?;
            Ok(signed_in)
        }
        Err(refusal) => {
            // Who is not let in is not let in, also if that cannot be written down.
            let _ = call.portal.records.append_audit(&refused(call, provider, name, &refusal)).await;
            Err(refusal.told)
        }
    }
}

/// Writes down that a login at `provider` could not begin; what its asker is told.
pub(super) async fn not_begun(call: &Call, provider: &str, refusal: Refusal) -> ApiError {
    tracing::warn!(request.id = call.request_id, provider, why = refusal.why, "a login cannot begin");
    let _ = call.portal.records.append_audit(&refused(call, provider, "", &refusal)).await;
    refusal.told
}

fn refused(call: &Call, provider: &str, name: &str, refusal: &Refusal) -> Entry {
    // What does not answer has neither let in nor refused.
    let failed = refusal.told.code == Code::Unavailable;
    Entry {
        outcome: if failed { Outcome::Failed } else { Outcome::Denied },
        detail: Some(refusal.why.chars().take(256).collect()),
        ..entry(call, provider, name, None)
    }
}

fn entry(call: &Call, provider: &str, name: &str, user: Option<&User>) -> Entry {
    let typed: String = name.chars().filter(|one| !one.is_control()).take(128).collect();
    let name = user.map_or(typed, |user| user.name.clone());
    let actor = Actor {
        kind: if user.is_some() { ActorKind::User } else { ActorKind::Anonymous },
        id: user.map(|user| user.id.clone()),
        name: if name.is_empty() { "nobody".to_owned() } else { name.clone() },
        via: Some(provider.to_owned()),
    };
    let object_name = if name.is_empty() { "unknown".to_owned() } else { name };
    Entry { actor, action: "login".to_owned(), object_kind: "user".to_owned(), object_name, ..call.entry() }
}

async fn open_session(call: &Call, provider: &str, user: User) -> Result<SignedIn, Refusal> {
    let (portal, now) = (&call.portal, call.now());
    let token = secret(&portal.entropy)?;
    let life = portal.settings.session_life;
    let session = NewSession {
        id: SessionId::new(identifier(&portal.entropy, "s")?),
        token: hash(&token),
        user: user.id.clone(),
        generation: user.generation,
        provider: provider.to_owned(),
        address: call.address.map(|address| address.to_string()),
        agent: call.agent.clone(),
        expires_at: now.saturating_add(life).unwrap_or(now),
    };
    portal.records.create_session(&session, now).await?;
    portal.records.note_login(&user.id, now).await?;
    // The browser forgets the one that it came with.
    if let Some(before) = call.session_id() {
        portal.records.revoke_session(before, now).await?;
    }
    let cookie = cookie::SESSION.write(&token, life.as_secs(), portal.settings.secure())?;
    Ok(SignedIn { user, cookie })
}

/// `POST /logout`.
pub(super) async fn logout(call: Call) -> Result<Answer, ApiError> {
    if let Some(session) = call.session_id() {
        call.portal.records.revoke_session(session, call.now()).await?;
    }
    let forgotten = cookie::SESSION.write("", 0, call.portal.settings.secure())?;
    Ok(Answer::done().header(http::header::SET_COOKIE, forgotten))
}
