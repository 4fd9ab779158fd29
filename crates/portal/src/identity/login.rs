//! Signing in and out.

use maar_records::{Actor, ActorKind, Entry, NewSession, Outcome, SessionId, User};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::Instant;

use super::{
    cookie,
    handlers::me_of,
    token::{hash, identifier, secret},
};
use crate::{
    error::{ApiError, Code},
    route::{Answer, Call},
};

/// Who wants in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    /// The name.
    name: String,
    /// The password.
    password: String,
}

/// `POST /login`.
pub(super) async fn login(call: Call) -> Result<Answer, ApiError> {
    let asked: Login = call.body()?;
    let result = try_login(&call, &asked).await;
    let name: String = asked.name.chars().filter(|one| !one.is_control()).take(128).collect();
    let (user, outcome) = match &result {
        Ok((user, _)) => (Some(user), Outcome::Done),
        Err(error) if error.code == Code::Unavailable => return result.map(|(_, answer)| answer),
        Err(_) => (None, Outcome::Denied),
    };
    let actor = Actor {
        kind: if user.is_some() { ActorKind::User } else { ActorKind::Anonymous },
        id: user.map(|user| user.id.clone()),
        name: name.clone(),
        via: Some("password".to_owned()),
    };
    let entry = Entry {
        actor,
        action: "login".to_owned(),
        object_kind: "user".to_owned(),
        object_name: name,
        outcome,
        detail: result.as_ref().err().map(|error| error.message.clone()),
        ..call.entry()
    };
    call.portal.records.append_audit(&entry).await?;
    result.map(|(_, answer)| answer)
}

async fn try_login(call: &Call, asked: &Login) -> Result<(User, Answer), ApiError> {
    let portal = &call.portal;
    let now = Instant::now();
    // By name, so that one password is not guessed from everywhere; by address, so that not all names are from one.
    portal.logins.take(&asked.name.to_lowercase(), now).map_err(ApiError::too_many)?;
    if let Some(address) = call.address {
        portal.login_addresses.take(&address.to_string(), now).map_err(ApiError::too_many)?;
    }
    let found = portal.records.user_by_name(&asked.name).await?;
    let kept = found.as_ref().and_then(|user| user.password_hash.as_ref());
    let right = portal.passwords.verify(kept, &asked.password).await?;
    let moment = call.now();
    // One answer for every reason: who does not know the password learns nothing of the user.
    let refused = || ApiError::new(Code::WrongPassword, "name or password is wrong");
    let user = found.filter(|user| right && user.is_active(moment)).ok_or_else(refused)?;
    let answer = open_session(call, &user).await?;
    portal.records.note_login(&user.id, moment).await?;
    Ok((user, answer))
}

async fn open_session(call: &Call, user: &User) -> Result<Answer, ApiError> {
    let (portal, now) = (&call.portal, call.now());
    let token = secret(&portal.entropy)?;
    let life = portal.settings.session_life;
    let session = NewSession {
        id: SessionId::new(identifier(&portal.entropy, "s")?),
        token: hash(&token),
        user: user.id.clone(),
        generation: user.generation,
        provider: "local".to_owned(),
        address: call.address.map(|address| address.to_string()),
        agent: call.agent.clone(),
        expires_at: now.saturating_add(life).unwrap_or(now),
    };
    portal.records.create_session(&session, now).await?;
    let cookie = cookie::write(&token, life.as_secs(), portal.settings.secure())?;
    Ok(Answer::json(&me_of(call, user))?.header(http::header::SET_COOKIE, cookie))
}

/// `POST /logout`.
pub(super) async fn logout(call: Call) -> Result<Answer, ApiError> {
    if let Some(session) = call.session_id() {
        call.portal.records.revoke_session(session, call.now()).await?;
    }
    let forget = cookie::write("", 0, call.portal.settings.secure())?;
    Ok(Answer::done().header(http::header::SET_COOKIE, forget))
}
