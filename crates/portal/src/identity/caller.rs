//! From a request to who asks.

use std::{collections::BTreeSet, net::IpAddr};

use http::{HeaderMap, header};
use jiff::Timestamp;
use maar_records::{KeyId, SessionId, SshKeyId, TokenHash, User, UserId};

use super::{
    certificate::{CertificateId, Maker},
    cookie,
    network::{Network, origin},
    provider,
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
    proof: Proof,
}

/// By what somebody is known, to look it up again.
#[derive(Debug, Clone)]
enum Proof {
    None,
    Session(TokenHash),
    Key(KeyId, TokenHash),
    /// A proxy of this name vouches for the user.
    Proxy(String, UserId),
    /// An SSH key, by its fingerprint.
    SshKey(SshKeyId, String),
    /// An SSH certificate of ours for a user.
    SshCertificate(CertificateId, UserId),
}

impl Caller {
    pub(crate) const NOBODY: Self = Self { subject: Subject::Nobody, session: None, proof: Proof::None };

    pub(crate) const fn by_key(&self) -> bool {
        matches!(self.proof, Proof::Key(..))
    }

    /// By what, to be looked up again later by [`by_proof`]. It holds hashes, and lets nobody in who does not reach the
    /// records.
    pub(crate) fn proof_text(&self) -> Option<String> {
        match &self.proof {
            // Who comes by SSH opens no pages.
            Proof::None | Proof::SshKey(..) | Proof::SshCertificate(..) => None,
            Proof::Session(hash) => Some(format!("session {}", hash.as_str())),
            Proof::Key(id, hash) => Some(format!("key {} {id}", hash.as_str())),
            Proof::Proxy(provider, user) => Some(format!("proxy {user} {provider}")),
        }
    }

    /// What an SSH certificate ends with that this caller makes, and until when it holds at most; nothing for who has none
    /// to make one by.
    pub(crate) async fn certifies(
        &self,
        portal: &Portal,
    ) -> Result<Option<(Maker, Option<Timestamp>)>, ApiError> {
        Ok(match &self.proof {
            Proof::None | Proof::SshKey(..) | Proof::SshCertificate(..) => None,
            Proof::Key(id, _) => {
                Some((Maker::Key(id.clone()), portal.records.key_by_id(id).await?.expires_at))
            }
            Proof::Session(_) => match &self.session {
                Some(id) => {
                    let session = portal.records.session_by_id(id).await?;
                    Some((Maker::Session(id.clone()), Some(session.expires_at)))
                }
                None => None,
            },
            Proof::Proxy(..) => Some((Maker::Proxy, None)),
        })
    }

    /// By what, for the audit log.
    pub(crate) fn via(&self) -> Option<String> {
        match &self.proof {
            Proof::None => None,
            Proof::Session(_) => self.session.as_ref().map(ToString::to_string),
            Proof::Key(id, _) => Some(id.to_string()),
            Proof::Proxy(provider, _) => Some(provider.clone()),
            Proof::SshKey(id, _) => Some(id.to_string()),
            Proof::SshCertificate(id, _) => Some(id.id.clone()),
        }
    }
}

/// From where somebody asks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Whence {
    /// Who has connected; the only one who can be believed to be who he is.
    pub(crate) peer: Option<IpAddr>,
    /// For whom, if it is a proxy that says so.
    pub(crate) address: Option<IpAddr>,
}

impl Whence {
    /// Of a request with these headers on a connection of `peer`.
    pub(crate) fn of(peer: Option<IpAddr>, headers: &HeaderMap, trusted: &[Network]) -> Self {
        Self { peer, address: peer.map(|peer| origin(peer, headers, trusted)) }
    }
}

/// Who asks. A cookie that is not valid any more is nobody's; an API key that is not valid is an error, since a program
/// has no other way to learn it. What a proxy says comes last: who has signed in here himself wants to be that.
pub(crate) async fn authenticate(
    portal: &Portal,
    headers: &HeaderMap,
    from: Whence,
) -> Result<Caller, ApiError> {
    if let Some(secret) = api_key(headers) {
        let wrong = || ApiError::new(Code::SignedOut, "the API key is not valid");
        return by_key(portal, hash(secret), from.address).await?.ok_or_else(wrong);
    }
    if let Some(token) = cookie::SESSION.read(headers, portal.settings.secure())
        && let Some(caller) = by_session(portal, hash(&token)).await?
    {
        return Ok(caller);
    }
    let vouched = provider::vouched(portal, headers, from).await?;
    Ok(vouched.map_or(Caller::NOBODY, |(provider, user)| by_proxy(portal, provider, &user)))
}

/// The API key of a request. `Authorization` may hold other things, which proxies and browsers send along: only what begins
/// as our keys do is meant for us.
fn api_key(headers: &HeaderMap) -> Option<&str> {
    const SCHEME: &str = "Bearer ";
    let all = headers.get_all(header::AUTHORIZATION).into_iter().filter_map(|value| value.to_str().ok());
    let keys =
        all.filter(|text| text.get(..SCHEME.len()).is_some_and(|one| one.eq_ignore_ascii_case(SCHEME)));
    keys.map(|text| text[SCHEME.len()..].trim_end()).find(|secret| secret.starts_with(KEY_PREFIX))
}

/// The caller as he is now, if he still is one: for streams that outlive the moment they were allowed in.
pub(crate) async fn still_valid(portal: &Portal, caller: &Caller) -> Result<Option<Caller>, ApiError> {
    match caller.proof.clone() {
        Proof::None => Ok(None),
        Proof::Key(_, proof) => by_key(portal, proof, None).await,
        Proof::Session(proof) => by_session(portal, proof).await,
        Proof::Proxy(provider, id) => {
            let user = portal.records.user(&id).await?;
            let active = user.is_active(portal.clock.now());
            Ok(active.then(|| by_proxy(portal, provider, &user)))
        }
        Proof::SshKey(_, fingerprint) => by_ssh_key(portal, &fingerprint).await,
        Proof::SshCertificate(id, user) => by_ssh_certificate(portal, &user, &id).await,
    }
}

/// Who it was by a text of [`Caller::proof_text`], as he is now, if he still is one.
pub(crate) async fn by_proof(portal: &Portal, text: &str) -> Result<Option<Caller>, ApiError> {
    let mut words = text.splitn(3, ' ');
    let proof = match (words.next(), words.next(), words.next()) {
        (Some("session"), Some(hash), None) => Proof::Session(TokenHash::new(hash)),
        (Some("key"), Some(hash), Some(id)) => Proof::Key(KeyId::new(id), TokenHash::new(hash)),
        (Some("proxy"), Some(user), Some(provider)) => Proof::Proxy(provider.to_owned(), UserId::new(user)),
        _ => return Ok(None),
    };
    still_valid(portal, &Caller { proof, ..Caller::NOBODY }).await
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
    Ok(Some(Caller { subject, session: Some(session.id), proof: Proof::Session(proof) }))
}

async fn by_key(
    portal: &Portal,
    proof: TokenHash,
    address: Option<IpAddr>,
) -> Result<Option<Caller>, ApiError> {
    let now = portal.clock.now();
    let Some((key, user)) = portal.records.authenticate_key(&proof, now).await? else { return Ok(None) };
    // Streams that look again come from where they came from.
    let address = address.map(|address| address.to_string()).or_else(|| key.last_used_address.clone());
    if key.wants_touch(address.as_deref(), now) {
        portal.records.touch_key(&key.id, address.as_deref(), now).await?;
    }
    let scopes = key.scopes.iter().filter_map(|scope| Scope::parse(scope)).collect();
    let subject = Subject::Person(Box::new(person(portal, &user, Some(scopes))));
    Ok(Some(Caller { subject, session: None, proof: Proof::Key(key.id, proof) }))
}

fn by_proxy(portal: &Portal, provider: String, user: &User) -> Caller {
    let subject = Subject::Person(Box::new(person(portal, user, None)));
    Caller { subject, session: None, proof: Proof::Proxy(provider, user.id.clone()) }
}

/// Who has an SSH key, if it works now. That it is his, the server has seen.
pub(crate) async fn by_ssh_key(portal: &Portal, fingerprint: &str) -> Result<Option<Caller>, ApiError> {
    let now = portal.clock.now();
    let Some((key, user)) = portal.records.authenticate_ssh_key(fingerprint, now).await? else {
        return Ok(None);
    };
    if key.wants_touch(now) {
        portal.records.touch_ssh_key(&key.id, now).await?;
    }
    let subject = Subject::Person(Box::new(person(portal, &user, None)));
    Ok(Some(Caller { subject, session: None, proof: Proof::SshKey(key.id, key.fingerprint) }))
}

/// Whom an SSH certificate of ours names, if he may be here now. That it is valid, the server has seen. It ends with the
/// key or the session that made it, and with all sessions of its user.
pub(crate) async fn by_ssh_certificate(
    portal: &Portal,
    user: &UserId,
    id: &CertificateId,
) -> Result<Option<Caller>, ApiError> {
    let now = portal.clock.now();
    let Some(user) = found(portal.records.user(user).await)? else { return Ok(None) };
    if !user.is_active(now) || user.generation != id.generation {
        return Ok(None);
    }
    let holds = match &id.maker {
        Maker::Key(key) => found(portal.records.key_by_id(key).await)?.is_some_and(|key| {
            key.user == user.id && key.revoked_at.is_none() && key.expires_at.is_none_or(|end| end > now)
        }),
        Maker::Session(session) => {
            found(portal.records.session_by_id(session).await)?.is_some_and(|session| {
                session.user == user.id && session.revoked_at.is_none() && session.expires_at > now
            })
        }
        Maker::Proxy => true,
    };
    if !holds {
        return Ok(None);
    }
    let subject = Subject::Person(Box::new(person(portal, &user, None)));
    let proof = Proof::SshCertificate(id.clone(), user.id);
    Ok(Some(Caller { subject, session: None, proof }))
}

fn found<T>(looked_up: Result<T, maar_records::Error>) -> Result<Option<T>, ApiError> {
    match looked_up {
        Err(maar_records::Error::NotFound { .. }) => Ok(None),
        found => Ok(Some(found?)),
    }
}

/// Somebody as the portal knows him now.
pub(crate) fn person(portal: &Portal, user: &User, scopes: Option<BTreeSet<Scope>>) -> Person {
    Person {
        id: user.id.as_str().to_owned(),
        name: user.name.clone(),
        namespace: namespace_of(&user.name, user.id.as_str()),
        platform_admin: user.admin,
        accounts: portal.live.roles(&user.name),
        must_change_password: user.must_change_password,
        // They were read when they were set.
        limits: user
            .limits
            .iter()
            .filter_map(|(what, text)| Some((what.clone(), text.parse().ok()?)))
            .collect(),
        scopes,
    }
}
