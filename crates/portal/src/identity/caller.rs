//! From a request to who asks.

use std::{collections::BTreeSet, net::IpAddr};

use http::{HeaderMap, header};
use maar_records::{KeyId, SessionId, TokenHash, User};

use super::{
    cookie,
    token::{KEY_PREFIX, hash},
};
use crate::{
    access::{Person, Scope, Subject},
    error::{ApiError, Code},
    namespace::namespace_of,
    portal::Portal,
};

/// Who asks, and by what.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) subject: Subject,
    pub(crate) session: Option<SessionId>,
    key: Option<KeyId>,
    /// What was shown, to look it up again.
    proof: Option<TokenHash>,
}

impl Caller {
    pub(super) const NOBODY: Self = Self { subject: Subject::Nobody, session: None, key: None, proof: None };

    pub(crate) const fn by_key(&self) -> bool {
        self.key.is_some()
    }

    /// By what, for the audit log.
    pub(crate) fn via(&self) -> Option<String> {
        let session = self.session.as_ref().map(ToString::to_string);
        session.or_else(|| self.key.as_ref().map(ToString::to_string))
    }
}

/// Who asks. A cookie that is not valid any more is nobody's; an API key that is not valid is an error, since a program
/// has no other way to learn it.
pub(crate) async fn authenticate(
    portal: &Portal,
    headers: &HeaderMap,
    address: Option<IpAddr>,
) -> Result<Caller, ApiError> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let wrong = || ApiError::new(Code::SignedOut, "the API key is not valid");
        let text = value.to_str().map_err(|_| wrong())?;
        let secret = text.strip_prefix("Bearer ").map(str::trim).ok_or_else(wrong)?;
        if !secret.starts_with(KEY_PREFIX) {
            return Err(wrong());
        }
        return by_key(portal, hash(secret), address).await?.ok_or_else(wrong);
    }
    match cookie::read(headers, portal.settings.secure()) {
        Some(token) => Ok(by_session(portal, hash(&token)).await?.unwrap_or(Caller::NOBODY)),
        None => Ok(Caller::NOBODY),
    }
}

/// The caller as he is now, if he still is one: for streams that outlive the moment they were allowed in.
pub(crate) async fn still_valid(portal: &Portal, caller: &Caller) -> Result<Option<Caller>, ApiError> {
    match (&caller.proof, caller.by_key()) {
        (None, _) => Ok(None),
        (Some(proof), true) => by_key(portal, proof.clone(), None).await,
        (Some(proof), false) => by_session(portal, proof.clone()).await,
    }
}

async fn by_session(portal: &Portal, proof: TokenHash) -> Result<Option<Caller>, ApiError> {
    let now = portal.clock.now();
    let Some((session, user)) = portal.records.authenticate_session(&proof, now).await? else {
        return Ok(None);
    };
    // However long a session may be, one that nobody has used for long is over.
    let idle = now.duration_since(session.last_seen_at);
    if idle > portal.settings.session_idle {
        return Ok(None);
    }
    // Most requests need no write.
    if session.wants_touch(now) {
        portal.records.touch_session(&session.id, None, now).await?;
    }
    let subject = Subject::Person(Box::new(person(portal, &user, None)));
    Ok(Some(Caller { subject, session: Some(session.id), key: None, proof: Some(proof) }))
}

async fn by_key(
    portal: &Portal,
    proof: TokenHash,
    address: Option<IpAddr>,
) -> Result<Option<Caller>, ApiError> {
    let now = portal.clock.now();
    let Some((key, user)) = portal.records.authenticate_key(&proof, now).await? else { return Ok(None) };
    let address = address.map(|address| address.to_string());
    if key.wants_touch(address.as_deref(), now) {
        portal.records.touch_key(&key.id, address.as_deref(), now).await?;
    }
    let scopes = key.scopes.iter().filter_map(|scope| Scope::parse(scope)).collect();
    let subject = Subject::Person(Box::new(person(portal, &user, Some(scopes))));
    Ok(Some(Caller { subject, session: None, key: Some(key.id), proof: Some(proof) }))
}

fn person(portal: &Portal, user: &User, scopes: Option<BTreeSet<Scope>>) -> Person {
    Person {
        id: user.id.as_str().to_owned(),
        name: user.name.clone(),
        namespace: namespace_of(&user.name, user.id.as_str()),
        platform_admin: user.admin,
        accounts: portal.live.roles(&user.name),
        must_change_password: user.must_change_password,
        scopes,
    }
}
