//! What the proxy of apps asks: who comes, whether he may, and where his Pod is.

use std::{collections::HashMap, net::IpAddr, sync::Arc, time::Duration};

use futures::{FutureExt as _, future::BoxFuture};
use jiff::Timestamp;
use maar_gateway::ports::{AppLabel, Entry, Gate, Io, Pass, Proof, Refusal, Visit};
use maar_records::{Actor, ActorKind, AuditId, Outcome, PortPlace, PortVisit, TokenHash, UserId};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::{
    behind::{Behind, about, label_of},
    reach::connect,
    sharing::{Comes, admits},
};
use crate::{
    access::{Verb, may},
    error::ApiError,
    identity::{Caller, by_proof, counted, hash, identifier, secret},
    portal::Portal,
};

/// How proofs of links begin; those of users begin otherwise.
const LINK: &str = "link ";
/// How many visits are remembered before those that were not looked at for long are forgotten.
const MANY: usize = 4096;

/// The gate of a portal. Clones remember together.
#[derive(Clone)]
pub(super) struct PortGate {
    portal: Arc<Portal>,
    /// When it was last looked whether somebody may.
    seen: Arc<Mutex<HashMap<String, (PortVisit, Instant)>>>,
}

impl PortGate {
    pub(super) fn new(portal: Arc<Portal>) -> Self {
        Self { portal, seen: Arc::default() }
    }

    fn now(&self) -> Timestamp {
        self.portal.clock.now()
    }

    /// What is behind a label that somebody was let in to.
    fn behind(&self, place: &PortPlace) -> Result<Behind, Refusal> {
        Behind::find(&self.portal, place).ok_or(Refusal::SignedOut)
    }

    /// Who came by a proof, if he still may.
    async fn check(&self, visit: &PortVisit) -> Result<Option<Caller>, Refusal> {
        let behind = self.behind(&visit.place)?;
        let share = self.portal.records.shared_port(&visit.place, self.now()).await.map_err(broken)?;
        if let Some(secret) = visit.proof.strip_prefix(LINK) {
            let comes = TokenHash::new(secret);
            return if admits(share.as_ref(), Comes::Link(&comes)) { Ok(None) } else { Err(Refusal::Stale) };
        }
        let caller = by_proof(&self.portal, &visit.proof).await.map_err(broken)?.ok_or(Refusal::SignedOut)?;
        let object = behind.object();
        let enter = may(&caller.subject, Verb::Enter, &object);
        let comes = Comes::User { enter, visit: may(&caller.subject, Verb::Visit, &object) };
        if admits(share.as_ref(), comes) { Ok(Some(caller)) } else { Err(Refusal::Denied) }
    }

    async fn let_in(&self, entry: &Entry) -> Result<(Pass, PortVisit, Option<Caller>), Refusal> {
        let (now, records) = (self.now(), &self.portal.records);
        let (proof, place, end) = match &entry.proof {
            Proof::Ticket(text) => {
                let taken = records.take_port_ticket(&hash(text), now).await.map_err(broken)?;
                let taken = taken.ok_or(Refusal::Stale)?;
                let end = now.checked_add(self.portal.settings.session_life).map_err(broken)?;
                (taken.proof, taken.place, end)
            }
            Proof::Link(text) => self.by_link(&hash(text), now).await?,
        };
        if label_of(&place) != entry.label {
            return Err(Refusal::Stale);
        }
        let key = secret(&self.portal.entropy).map_err(broken)?;
        let cookie = secret(&self.portal.entropy).map_err(broken)?;
        let visit = PortVisit {
            token: token(&key_of(&self.portal, &key), &cookie),
            ticket: false,
            proof,
            place,
            created_at: now,
            expires_at: end,
        };
        let caller = self.check(&visit).await?;
        records.create_port_visit(&visit).await.map_err(broken)?;
        Ok((Pass { key, cookie, seconds: end.duration_since(now).as_secs() }, visit, caller))
    }

    /// The port that a link leads to.
    async fn by_link(
        &self,
        secret: &TokenHash,
        now: Timestamp,
    ) -> Result<(String, PortPlace, Timestamp), Refusal> {
        let share = self.portal.records.port_shared_by(secret, now).await.map_err(broken)?;
        let share = share.ok_or(Refusal::Stale)?;
        let end = now.checked_add(self.portal.settings.session_life).map_err(broken)?;
        let end = share.expires_at.map_or(end, |own| own.min(end));
        Ok((format!("{LINK}{}", secret.as_str()), share.place, end))
    }

    /// That somebody came, or was turned away, by a link or a ticket.
    async fn write_down(
        &self,
        entry: &Entry,
        result: &Result<(Pass, PortVisit, Option<Caller>), Refusal>,
    ) -> Result<(), ApiError> {
        let caller = result.as_ref().ok().and_then(|(_, _, caller)| caller.as_ref());
        let person = caller.and_then(|caller| caller.subject.person());
        let actor = match person {
            Some(person) => Actor {
                kind: ActorKind::User,
                id: Some(UserId::new(&person.id)),
                name: person.name.clone(),
                via: caller.and_then(Caller::via),
            },
            None => Actor { kind: ActorKind::Anonymous, id: None, name: "nobody".to_owned(), via: None },
        };
        let (kind, name) = match result {
            Ok((_, visit, _)) => about(&visit.place),
            Err(_) => ("workspace", entry.label.to_string()),
        };
        let id = AuditId::new(identifier(&self.portal.entropy, "visit")?);
        let mut written = maar_records::Entry::new(id, self.now(), actor, "visitPort", (kind, name.as_str()));
        written.address = entry.address.map(|address| address.to_string());
        written.after = Some(serde_json::json!({ "port": entry.label.port() }));
        let how = if matches!(entry.proof, Proof::Link(_)) { "by a link" } else { "by a ticket" };
        written.detail = Some(how.to_owned());
        if let Err(refusal) = result {
            written.outcome = Outcome::Denied;
            written.detail = Some(format!("{how}: {refusal:?}"));
        }
        Ok(self.portal.records.append_audit(&written).await?)
    }

    async fn visited(&self, label: &AppLabel, key: &str, cookie: &str) -> Result<Visit, Refusal> {
        let id = token(key, cookie);
        let known = self.seen.lock().get(id.as_str()).cloned();
        let fresh = self.portal.settings.look_again;
        let visit = match known {
            Some((visit, since)) if since.elapsed() < fresh => visit,
            _ => {
                let found = self.portal.records.port_visit(&id, self.now()).await.map_err(broken)?;
                let found = found.ok_or(Refusal::SignedOut)?;
                self.check(&found).await?;
                self.remember(&id, &found);
                found
            }
        };
        // A cookie of one app opens no other.
        if label_of(&visit.place) != *label {
            return Err(Refusal::SignedOut);
        }
        let pod = self.behind(&visit.place)?.pod(&self.portal).ok_or(Refusal::Asleep)?;
        let (namespace, port) = (visit.place.namespace, visit.place.port);
        Ok(Visit { id: id.as_str().to_owned(), namespace, pod, port })
    }

    fn remember(&self, id: &TokenHash, visit: &PortVisit) {
        let mut seen = self.seen.lock();
        if seen.len() >= MANY {
            let fresh = self.portal.settings.look_again;
            seen.retain(|_, (_, since)| since.elapsed() < fresh);
        }
        seen.insert(id.as_str().to_owned(), (visit.clone(), Instant::now()));
    }

    /// Looks every so often, until he may no longer.
    async fn until_denied(self, id: String) {
        let pace = self.portal.settings.look_again;
        loop {
            sleep(pace.max(Duration::from_millis(10))).await;
            let (gate, id) = (self.clone(), TokenHash::new(&*id));
            // In a task of its own: who reads slowly must not hold a connection to the records for as long.
            let looked = tokio::spawn(async move {
                let found = gate.portal.records.port_visit(&id, gate.now()).await;
                let Ok(Some(visit)) = found else { return false };
                gate.check(&visit).await.is_ok()
            });
            if !looked.await.unwrap_or(false) {
                return;
            }
        }
    }
}

/// As whom somebody is counted who comes to an app.
fn counter(address: Option<IpAddr>) -> String {
    format!("app {}", address.map(counted).unwrap_or_default())
}

/// Of what the browser holds: the word of the path, where there is one, and the cookie. Each alone is nothing.
fn token(key: &str, cookie: &str) -> TokenHash {
    hash(&format!("{key}.{cookie}"))
}

/// Apps on origins of their own have no word in their paths.
fn key_of(portal: &Portal, key: &str) -> String {
    match portal.settings.apps {
        Some(maar_gateway::ports::Apps::Path { .. }) => key.to_owned(),
        _ => String::new(),
    }
}

fn broken(error: impl std::fmt::Display) -> Refusal {
    tracing::warn!(%error, "it cannot be looked whether somebody may visit an app");
    Refusal::Unreachable
}

impl Gate for PortGate {
    fn enter(&self, entry: Entry) -> BoxFuture<'_, Result<Pass, Refusal>> {
        async move {
            // Nobody fills the audit log by trying.
            if self.portal.rates.take(&counter(entry.address), Instant::now()).is_err() {
                return Err(Refusal::Unreachable);
            }
            let result = self.let_in(&entry).await;
            // Nobody comes in who is not written down.
            self.write_down(&entry, &result).await.map_err(broken)?;
            result.map(|(pass, _, _)| pass)
        }
        .boxed()
    }

    fn visit<'a>(
        &'a self,
        label: &'a AppLabel,
        key: &'a str,
        cookie: &'a str,
    ) -> BoxFuture<'a, Result<Visit, Refusal>> {
        self.visited(label, key, cookie).boxed()
    }

    fn ended(&self, visit: &Visit) -> BoxFuture<'static, ()> {
        self.clone().until_denied(visit.id.clone()).boxed()
    }

    fn connect(&self, visit: &Visit) -> BoxFuture<'static, Result<Io, Refusal>> {
        let (portal, visit) = (Arc::clone(&self.portal), visit.clone());
        async move { connect(&portal, &visit.namespace, &visit.pod, visit.port).await }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_ipv6_is_counted_once_and_not_as_often_as_he_has_addresses() {
        let counter = |text: &str| counter(Some(text.parse().unwrap()));
        assert_eq!(counter("2001:db8:1:2::3"), counter("2001:db8:1:2:ffff::4"));
        assert_ne!(counter("2001:db8:1:2::3"), counter("2001:db8:1:3::3"));
        assert_ne!(counter("203.0.113.9"), counter("203.0.113.8"));
    }
}
