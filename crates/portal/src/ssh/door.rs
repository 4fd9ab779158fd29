//! Who comes in by SSH.

use std::{net::IpAddr, sync::Arc};

use futures::{FutureExt as _, future::BoxFuture};
use jiff::Timestamp;
use kube::ResourceExt as _;
use maar_api::v1alpha1::{Workspace, WorkspacePhase};
use maar_gateway::{
    pod::Place,
    ssh::{Door, Knock, Proof, Report, Visit},
};
use maar_records::{Actor, ActorKind, AuditId, Entry, Outcome, UserId};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use super::name::parse;
use crate::{
    access::{Object, Verb, decide},
    error::ApiError,
    identity::{Caller, CertificateId, by_ssh_certificate, by_ssh_key, counted},
    portal::Portal,
    stream::until_denied,
    terminal::Seat,
    workspace::{CONTAINER, object_of, pod_of},
};

/// The door of the portal.
#[derive(Debug)]
pub(crate) struct SshDoor(Arc<Portal>);

/// Why somebody is not let in. Nobody outside is told.
struct Refused {
    why: String,
    /// Who it is, if that is known: then it is written down where administrators look.
    caller: Option<Box<Caller>>,
}

impl Refused {
    fn stranger(why: impl Into<String>) -> Self {
        Self { why: why.into(), caller: None }
    }
}

impl SshDoor {
    pub(crate) fn new(portal: Arc<Portal>) -> Self {
        Self(portal)
    }

    async fn known(&self, knock: &Knock) -> Result<Caller, Refused> {
        let broken = |error: ApiError| Refused::stranger(format!("the records do not answer: {error}"));
        match &knock.proof {
            Proof::Key(fingerprint) => {
                let found = by_ssh_key(&self.0, fingerprint).await.map_err(broken)?;
                found.ok_or_else(|| Refused::stranger(format!("nobody has the key {fingerprint}")))
            }
            Proof::Certificate { user, id } => {
                let ended =
                    || Refused::stranger(format!("the certificate {id} names nobody who may be here"));
                let read = CertificateId::parse(id).ok_or_else(ended)?;
                let found = by_ssh_certificate(&self.0, &UserId::new(user), &read).await.map_err(broken)?;
                found.ok_or_else(ended)
            }
        }
    }

    async fn find(&self, knock: &Knock) -> Result<SshVisit, Refused> {
        let portal = &self.0;
        if portal.rates.take(&counter(knock.address), Instant::now()).is_err() {
            return Err(Refused::stranger("there are too many tries from there"));
        }
        let caller = self.known(knock).await?;
        let refuse = |why: &str| Err(Refused { why: why.to_owned(), caller: Some(Box::new(caller.clone())) });
        let Some(person) = caller.subject.person() else { return refuse("nobody is signed in") };
        let Some((namespace, name)) = parse(&knock.wanted) else { return refuse("this names no workspace") };
        let namespace = namespace.unwrap_or(&person.namespace).to_owned();
        let Some(workspace) = portal.live.workspaces.get(&namespace, name) else {
            return refuse("there is no such workspace");
        };
        let object = object_of(&workspace);
        if decide(&caller.subject, Verb::Enter, &object).is_err() {
            return refuse("he may not be in this workspace");
        }
        let most = portal.ssh.get().map_or(0, |ssh| ssh.settings.most);
        let Some(seat) = portal.ssh_seats.take(&person.id, most) else {
            return refuse("he has as many connections as one may have");
        };
        let entry = entry(portal, &caller, knock, &object);
        Ok(SshVisit {
            portal: Arc::clone(portal),
            caller: caller.clone(),
            object,
            namespace,
            name: name.to_owned(),
            entry,
            seat: Mutex::new(Some(seat)),
        })
    }
}

/// As whom somebody is counted who knocks.
fn counter(address: IpAddr) -> String {
    format!("ssh {}", counted(address))
}

/// What the audit log says of it.
fn entry(portal: &Portal, caller: &Caller, knock: &Knock, object: &Object) -> Entry {
    let person = caller.subject.person();
    let id = portal.request_id();
    Entry {
        id: AuditId::new(id.clone()),
        at: portal.clock.now(),
        actor: Actor {
            kind: ActorKind::User,
            id: person.map(|person| UserId::new(&person.id)),
            name: person.map_or_else(|| "nobody".to_owned(), |person| person.name.clone()),
            via: caller.via(),
        },
        action: "openSsh".to_owned(),
        object_kind: "workspace".to_owned(),
        object_name: knock.wanted.clone(),
        account: object.account.clone(),
        outcome: Outcome::Done,
        detail: None,
        before: None,
        after: None,
        address: Some(knock.address.to_string()),
        request_id: Some(id),
    }
}

impl Door for SshDoor {
    fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    fn enter(&self, knock: Knock) -> BoxFuture<'_, Option<Arc<dyn Visit>>> {
        async move {
            let found = self.find(&knock).await;
            match found {
                Ok(visit) => visit.begin().await,
                Err(refused) => {
                    self.refused(&knock.wanted, knock.address, &refused.why);
                    if let Some(caller) = &refused.caller {
                        let object = Object::of_cluster(crate::access::Kind::Workspace);
                        let entry = entry(&self.0, caller, &knock, &object);
                        let entry = Entry { outcome: Outcome::Denied, detail: Some(refused.why), ..entry };
                        if let Err(error) = self.0.records.append_audit(&entry).await {
                            tracing::error!(%error, "a refusal by SSH cannot be written down");
                        }
                    }
                    None
                }
            }
        }
        .boxed()
    }

    fn refused(&self, wanted: &str, address: IpAddr, why: &str) {
        self.0.metrics.ssh_login("refused");
        tracing::info!(ssh.wanted = wanted, client.address = %address, why, "refused by SSH");
    }
}

/// Somebody in a workspace.
pub(super) struct SshVisit {
    portal: Arc<Portal>,
    caller: Caller,
    object: Object,
    namespace: String,
    name: String,
    /// How it began, in the audit log.
    entry: Entry,
    seat: Mutex<Option<Seat>>,
}

impl SshVisit {
    /// Writes the beginning down; what cannot be written down does not begin.
    async fn begin(mut self) -> Option<Arc<dyn Visit>> {
        self.entry.object_name = format!("{}/{}", self.namespace, self.name);
        if let Err(error) = self.portal.records.append_audit(&self.entry).await {
            tracing::error!(%error, "a connection by SSH cannot be written down, and does not begin");
            return None;
        }
        self.portal.metrics.ssh_login("accepted");
        self.portal.metrics.ssh_connections.inc();
        let user = self.caller.subject.person().map_or("-", |person| &person.name);
        tracing::info!(
            request.id = self.entry.request_id,
            user,
            workspace = self.entry.object_name,
            "somebody came by SSH"
        );
        Some(Arc::new(self))
    }
}

/// What somebody is told who comes to a workspace that does not run.
fn not_running(workspace: &Workspace) -> Option<String> {
    let name = workspace.name_any();
    match workspace.status.as_ref().map(|status| status.phase).unwrap_or_default() {
        WorkspacePhase::Running => None,
        WorkspacePhase::Suspended => {
            Some(format!("workspace {name} is suspended: resume it with `maar workspace resume {name}`"))
        }
        phase => Some(format!("workspace {name} does not run yet: it is {phase:?}")),
    }
}

impl Visit for SshVisit {
    fn place(&self) -> Result<Place, String> {
        let gone = || format!("workspace {} is gone", self.name);
        let workspace = self.portal.live.workspaces.get(&self.namespace, &self.name).ok_or_else(gone)?;
        if let Some(why) = not_running(&workspace) {
            return Err(why);
        }
        let pod = pod_of(&workspace);
        let (client, namespace) = (self.portal.client.clone(), self.namespace.clone());
        let helpers = self.portal.ssh.get().map(|ssh| ssh.settings.helpers.clone()).unwrap_or_default();
        // Others may put containers beside it.
        Ok(Place { client, namespace, pod, container: Some(CONTAINER.to_owned()), helpers })
    }

    fn agent(&self) -> bool {
        self.portal.ssh.get().is_some_and(|ssh| ssh.settings.agent_forwarding)
    }

    fn denied(&self) -> BoxFuture<'static, String> {
        let (portal, caller, object) = (Arc::clone(&self.portal), self.caller.clone(), self.object.clone());
        async move {
            until_denied(portal, caller, Verb::Enter, object).await;
            "you may no longer be here: what you came by was taken away, or the account has ended".to_owned()
        }
        .boxed()
    }

    fn left(&self, report: Report) -> BoxFuture<'static, ()> {
        drop(self.seat.lock().take());
        let portal = Arc::clone(&self.portal);
        portal.metrics.ssh_connections.dec();
        portal.metrics.ssh_bytes("received", report.received);
        portal.metrics.ssh_bytes("sent", report.sent);
        let mut entry = self.entry.clone();
        entry.id = AuditId::new(format!("{}-end", entry.id));
        entry.at = portal.clock.now();
        "closeSsh".clone_into(&mut entry.action);
        entry.detail = Some(report.why);
        entry.after = Some(json!({
            "seconds": report.lasted.as_secs(), "receivedBytes": report.received, "sentBytes": report.sent,
            "channels": report.channels, "code": report.code, "agentForwarded": report.agent,
        }));
        async move {
            if let Err(error) = portal.records.append_audit(&entry).await {
                tracing::error!(%error, "the end of a connection by SSH cannot be written down");
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_ipv6_is_counted_once_and_not_as_often_as_he_has_addresses() {
        let counter = |text: &str| counter(text.parse().unwrap());
        assert_eq!(counter("2001:db8:1:2::3"), counter("2001:db8:1:2:ffff::4"));
        assert_ne!(counter("2001:db8:1:2::3"), counter("2001:db8:1:3::3"));
        assert_ne!(counter("203.0.113.9"), counter("203.0.113.8"));
    }
}
