//! A proxy that has asked people already who they are, and says it in headers.
//!
//! Headers can be sent by anybody. They are believed from the addresses of the proxy only, and only beside a secret that
//! the proxy alone knows: who can reach the portal past the proxy, from a Pod on its node for instance, has not both.

use std::{net::IpAddr, path::PathBuf};

use http::{HeaderMap, HeaderName, header};
use jiff::SignedDuration;
use maar_records::{Actor, ActorKind, AuditId, Entry, Identity, Outcome, User};
use serde::Deserialize;

use super::{
    Admission, Way,
    admit::admit,
    profile::Profile,
    secret::{Files, Secret},
};
use crate::{
    error::{ApiError, Code},
    identity::{Network, UnknownNetwork, caller::Whence, token::identifier},
    portal::Portal,
    rules::Wrong,
};

/// Who comes by a proxy never signs in; that he is here is written down this often.
const NOTED: SignedDuration = SignedDuration::from_hours(1);
/// A shorter secret can be guessed.
const SHORTEST_SECRET: usize = 16;

/// What an operator writes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ProxyConfig {
    pub(super) id: String,
    pub(super) title: Option<String>,
    peers: Vec<String>,
    #[serde(default = "usual_secret")]
    secret_header: String,
    secret_file: PathBuf,
    subject_header: String,
    name_header: Option<String>,
    display_name_header: Option<String>,
    email_header: Option<String>,
    /// Groups with commas between them.
    groups_header: Option<String>,
    #[serde(default)]
    admin_groups: Vec<String>,
    #[serde(default)]
    trust_names: bool,
}

fn usual_secret() -> String {
    "X-Maar-Proxy-Secret".to_owned()
}

/// A proxy.
#[derive(Debug)]
pub(super) struct Proxy {
    provider: String,
    peers: Vec<Network>,
    secret: (HeaderName, Secret),
    subject: HeaderName,
    name: Option<HeaderName>,
    display_name: Option<HeaderName>,
    email: Option<HeaderName>,
    groups: Option<HeaderName>,
}

impl Proxy {
    /// Headers that are for the portal alone.
    pub(super) fn headers(&self) -> Vec<HeaderName> {
        let optional = [&self.name, &self.display_name, &self.email, &self.groups].into_iter().flatten();
        [&self.secret.0, &self.subject].into_iter().chain(optional).cloned().collect()
    }
}

impl ProxyConfig {
    pub(super) fn build(self, files: &Files<'_>) -> Result<(Admission, Proxy), Wrong> {
        let network = |text: &String| {
            text.parse().map_err(|wrong: UnknownNetwork| Wrong::new("peers", wrong.to_string()))
        };
        let peers = self.peers.iter().map(network).collect::<Result<Vec<_>, _>>()?;
        if peers.is_empty() {
            return Err(Wrong::new("peers", "names the addresses of the proxy, at least one"));
        }
        let secret = files.secret("secretFile", &self.secret_file)?;
        if secret.reveal().len() < SHORTEST_SECRET {
            return Err(Wrong::new("secretFile", format!("holds at least {SHORTEST_SECRET} characters")));
        }
        let mut seen = Vec::new();
        let mut name = |field: &str, text: &str| header_name(field, text, &mut seen);
        let mut optional =
            |field: &str, text: &Option<String>| text.as_deref().map(|text| name(field, text)).transpose();
        let proxy = Proxy {
            provider: format!("proxy:{}", self.id),
            peers,
            name: optional("nameHeader", &self.name_header)?,
            display_name: optional("displayNameHeader", &self.display_name_header)?,
            email: optional("emailHeader", &self.email_header)?,
            groups: optional("groupsHeader", &self.groups_header)?,
            subject: name("subjectHeader", &self.subject_header)?,
            secret: (name("secretHeader", &self.secret_header)?, secret),
        };
        if !self.admin_groups.is_empty() && proxy.groups.is_none() {
            return Err(Wrong::new("adminGroups", "needs groupsHeader"));
        }
        Ok((Admission { admin_groups: self.admin_groups, trust_names: self.trust_names }, proxy))
    }
}

fn header_name(field: &str, text: &str, seen: &mut Vec<HeaderName>) -> Result<HeaderName, Wrong> {
    let name = HeaderName::try_from(text)
        .map_err(|_| Wrong::new(field, format!("{text:?} is no name of a header")))?;
    let ours = [header::COOKIE, header::AUTHORIZATION, header::ORIGIN, header::HOST];
    // Only what names a person may be named twice, such as one header for the subject and the name.
    if ours.contains(&name) || field == "secretHeader" && seen.contains(&name) {
        return Err(Wrong::new(field, format!("{text:?} means something else already")));
    }
    seen.push(name.clone());
    Ok(name)
}

impl Proxy {
    /// Whom the headers of a request name, if they are the proxy's.
    fn read(&self, headers: &HeaderMap, peer: Option<IpAddr>) -> Option<Profile> {
        let peer = peer?;
        if !self.peers.iter().any(|network| network.holds(peer)) {
            return None;
        }
        let (name, secret) = &self.secret;
        if !secret.is(only(headers, name)?.as_bytes()) {
            return None;
        }
        let subject = only(headers, &self.subject).filter(|subject| !subject.is_empty())?;
        let said = |name: &Option<HeaderName>| only(headers, name.as_ref()?).map(str::to_owned);
        let groups = said(&self.groups).unwrap_or_default();
        let groups = groups.split(',').map(str::trim).filter(|group| !group.is_empty());
        Some(Profile {
            name: said(&self.name),
            display_name: said(&self.display_name),
            email: said(&self.email),
            groups: groups.map(str::to_owned).collect(),
            ..Profile::of(Identity::new(&self.provider, subject))
        })
    }
}

/// The value of a header that is there once: which of two would the proxy have meant?
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).into_iter();
    let one = all.next()?;
    all.next().is_none().then_some(one)?;
    std::str::from_utf8(one.as_bytes()).ok()
}

/// Whom a proxy vouches for, and which. Who is disabled or expired is nobody.
pub(in crate::identity) async fn vouched(
    portal: &Portal,
    headers: &HeaderMap,
    from: Whence,
) -> Result<Option<(String, User)>, ApiError> {
    for provider in portal.settings.providers.iter() {
        let Way::Proxy(proxy) = &provider.way else { continue };
        let Some(profile) = proxy.read(headers, from.peer) else { continue };
        let user = match admit(portal, &profile, &provider.admission).await {
            Ok(user) => user,
            Err(refusal) if refusal.told.code == Code::Unavailable => return Err(refusal.told),
            Err(refusal) => {
                tracing::warn!(
                    provider = provider.id,
                    why = refusal.why,
                    "somebody whom a proxy names is not let in"
                );
                return Ok(None);
            }
        };
        let now = portal.clock.now();
        if !user.is_active(now) {
            return Ok(None);
        }
        if user.last_login_at.is_none_or(|last| now.duration_since(last) >= NOTED) {
            note(portal, &provider.id, &user, from.address).await?;
        }
        return Ok(Some((provider.id.clone(), user)));
    }
    Ok(None)
}

async fn note(portal: &Portal, provider: &str, user: &User, address: Option<IpAddr>) -> Result<(), ApiError> {
    let now = portal.clock.now();
    portal.records.note_login(&user.id, now).await?;
    let entry = Entry {
        id: AuditId::new(identifier(&portal.entropy, "a")?),
        at: now,
        actor: Actor {
            kind: ActorKind::User,
            id: Some(user.id.clone()),
            name: user.name.clone(),
            via: Some(provider.to_owned()),
        },
        action: "login".to_owned(),
        object_kind: "user".to_owned(),
        object_name: user.name.clone(),
        account: None,
        outcome: Outcome::Done,
        detail: None,
        before: None,
        after: None,
        address: address.map(|address| address.to_string()),
        request_id: None,
    };
    portal.records.append_audit(&entry).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn proxy() -> Proxy {
        Proxy {
            provider: "proxy:gate".to_owned(),
            peers: vec!["10.0.0.0/24".parse().unwrap()],
            secret: (HeaderName::from_static("x-secret"), Secret::new("a long enough secret")),
            subject: HeaderName::from_static("x-subject"),
            name: Some(HeaderName::from_static("x-name")),
            display_name: None,
            email: None,
            groups: Some(HeaderName::from_static("x-groups")),
        }
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut all = HeaderMap::new();
        for (name, value) in pairs {
            all.append(*name, value.parse().unwrap());
        }
        all
    }

    #[test]
    fn headers_are_believed_from_the_proxy_with_its_secret_and_from_nobody_else() {
        let (secret, subject) = (("x-secret", "a long enough secret"), ("x-subject", "7"));
        let inside = Some("10.0.0.9".parse().unwrap());
        let read = |pairs: &[(&'static str, &str)], peer| proxy().read(&headers(pairs), peer);
        let found = read(&[secret, subject, ("x-name", "ada"), ("x-groups", "a, b,,")], inside).unwrap();
        assert_eq!((found.identity.subject.as_str(), found.name.as_deref()), ("7", Some("ada")));
        assert_eq!(found.groups.len(), 2);
        assert_eq!(read(&[secret, subject], Some("10.0.1.9".parse().unwrap())), None, "from elsewhere");
        assert_eq!(read(&[secret, subject], None), None, "from nobody knows where");
        assert_eq!(read(&[subject], inside), None, "without the secret");
        assert_eq!(read(&[("x-secret", "a wrong, long secret"), subject], inside), None);
        assert_eq!(read(&[secret], inside), None, "nobody is named");
        assert_eq!(read(&[secret, ("x-subject", "")], inside), None);
        assert_eq!(read(&[secret, subject, ("x-subject", "1")], inside), None, "named twice");
        assert_eq!(read(&[secret, ("x-secret", "x"), subject], inside), None);
    }

    proptest! {
        #[test]
        fn nothing_but_the_secret_is_the_secret(given in "[ -~]{0,30}") {
            prop_assume!(given.trim() != "a long enough secret");
            let all = headers(&[("x-secret", given.as_str()), ("x-subject", "7")]);
            prop_assert!(proxy().read(&all, Some("10.0.0.9".parse().unwrap())).is_none());
        }
    }
}
