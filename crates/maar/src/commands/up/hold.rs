//! One process at a time runs a set of nodes: two would both be the kubelets of the same Nodes, and the second would delete
//! those that its profile has not. Whoever runs a set holds a Lease by its name.

use anyhow::Context as _;
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Namespace};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};
use maar_controller::{
    Environment,
    lease::{Elector, ElectorConfig, Leadership, Timing},
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::say;
use crate::commands::failure::Failure;

/// Namespace of the Leases, the one that roles of their own use too.
pub(super) const NAMESPACE: &str = "maar-system";

/// A set of nodes that is this process's own.
pub(super) struct Hold {
    /// Ends the election, which gives the Lease back.
    over: CancellationToken,
    electing: JoinHandle<()>,
    watching: JoinHandle<anyhow::Result<()>>,
}

impl Hold {
    /// Takes a set of nodes; fails if somebody else has it. If it is taken away later, `stop` is cancelled.
    pub(super) async fn take(
        client: &Client,
        set: &str,
        identity: &str,
        stop: &CancellationToken,
    ) -> anyhow::Result<Self> {
        make_namespace(client).await.context("making the namespace of the leases")?;
        let (name, timing) = (format!("maar-nodes-{set}"), Timing::default());
        let config = ElectorConfig {
            namespace: NAMESPACE.to_owned(),
            name: name.clone(),
            identity: identity.to_owned(),
            timing,
        };
        let (elector, leadership) = Elector::new(client.clone(), config, Environment::real())?;
        let rival = Rival { api: Api::namespaced(client.clone(), NAMESPACE), name, own: identity.to_owned() };
        let over = CancellationToken::new();
        let electing = tokio::spawn(elector.run(over.clone()));
        if let Err(error) = rival.wait(&leadership, set, timing).await {
            over.cancel();
            let _ = electing.await;
            return Err(error);
        }
        let watching = tokio::spawn(watch(leadership, rival, set.to_owned(), stop.clone()));
        Ok(Self { over, electing, watching })
    }

    /// Lets others have it, once the nodes have stopped. An error if somebody had taken it before.
    pub(super) async fn give_back(self) -> anyhow::Result<()> {
        let taken = self.watching.is_finished();
        self.watching.abort();
        self.over.cancel();
        let _ = self.electing.await;
        if taken { self.watching.await? } else { Ok(()) }
    }
}

/// Who else could have the Lease.
struct Rival {
    api: Api<Lease>,
    name: String,
    own: String,
}

impl Rival {
    /// Who has it, and in which version it is.
    async fn look(&self) -> Option<(String, Option<String>)> {
        let lease = self.api.get_opt(&self.name).await.ok()??;
        let holder = lease.spec?.holder_identity.filter(|holder| !holder.is_empty() && *holder != self.own);
        Some((holder?, lease.metadata.resource_version))
    }

    /// Waits for the Lease: until it is renewed by somebody who lives, or for as long as that of a dead one would stand.
    async fn wait(&self, leadership: &Leadership, set: &str, timing: Timing) -> anyhow::Result<()> {
        let deadline = tokio::time::Instant::now() + timing.lease_duration + 2 * timing.retry_period;
        let mut seen = None;
        loop {
            if tokio::time::timeout(timing.retry_period, leadership.acquired()).await.is_ok() {
                return Ok(());
            }
            let found = self.look().await;
            match &found {
                Some((holder, _)) if seen.is_some() && seen != found => return Err(self.has(holder, set)),
                Some((holder, _)) if seen.is_none() => {
                    say(&format!(
                        "the nodes of the set {set} were run by {holder}: seeing whether it still lives"
                    ));
                }
                _ => {}
            }
            if tokio::time::Instant::now() >= deadline {
                let lost = format!("no lease {NAMESPACE}/{} for the nodes was to be had in time", self.name);
                return Err(Failure::unreachable(lost).into());
            }
            seen = found.or(seen);
        }
    }

    fn has(&self, holder: &str, set: &str) -> anyhow::Error {
        let text = format!(
            "the nodes of the set {set} are run by another process, {holder} (lease {NAMESPACE}/{}): stop it, or choose \
             another set with --node-set, and a profile with other names with --profile",
            self.name
        );
        Failure::refused(text).into()
    }
}

/// Stops everything once somebody else has the set. That a server does not answer for a while ends nothing: kubelets live
/// through that, too.
async fn watch(
    leadership: Leadership,
    rival: Rival,
    set: String,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    loop {
        leadership.acquired().await.lost().cancelled().await;
        tracing::warn!(node.set = set, "the lease of the nodes could not be renewed in time");
        let taken = async {
            loop {
                if let Some((holder, _)) = rival.look().await {
                    return holder;
                }
                tokio::time::sleep(Timing::default().retry_period).await;
            }
        };
        tokio::select! {
            _ = leadership.acquired() => {}
            holder = taken => {
                stop.cancel();
                anyhow::bail!("the nodes of the set {set} are run by {holder} now");
            }
        }
    }
}

async fn make_namespace(client: &Client) -> kube::Result<()> {
    let namespace = Namespace {
        metadata: ObjectMeta { name: Some(NAMESPACE.to_owned()), ..ObjectMeta::default() },
        ..Namespace::default()
    };
    match Api::all(client.clone()).create(&PostParams::default(), &namespace).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        made => made.map(drop),
    }
}
