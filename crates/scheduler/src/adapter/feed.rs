//! What the watches saw, on its way to the one task that decides.
//!
//! Each kind has a task that follows it and hands on what it saw, in batches: a burst of a thousand Pods wakes the
//! scheduler a few times. The channel is bounded, so a scheduler that is busy slows the watches down and not the
//! other way round. Kinds that a cluster may not serve are looked for until they are there.

use std::{convert::Infallible, future::Future, time::Duration};

use futures::StreamExt as _;
use kube::{Api, Client, runtime::watcher::Event};
use maar_api::names;
use maar_controller::{
    Environment,
    backoff::Backoff,
    error::chain,
    watch::{Received, Selection, Watch},
};
use tokio::{sync::mpsc, time::sleep};

use super::wire::{self, Lean, Wire};

/// Most changes handed on at a time.
const BATCH: usize = 256;
/// How often a kind of others that is not served is looked for.
const LOOK_AGAIN: Duration = Duration::from_secs(20);
/// The same for our own: they are missing only until Maar is installed, and Pods of jobs wait for them.
const LOOK_SOON: Duration = Duration::from_secs(2);

/// Kinds that are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Namespaces,
    Nodes,
    CsiNodes,
    Classes,
    Volumes,
    Claims,
    Budgets,
    Volcano,
    Upstream,
    Accounts,
    Jobs,
    Pods,
}

impl Kind {
    pub(crate) const ALL: [Self; 12] = [
        Self::Namespaces,
        Self::Nodes,
        Self::CsiNodes,
        Self::Classes,
        Self::Volumes,
        Self::Claims,
        Self::Budgets,
        Self::Volcano,
        Self::Upstream,
        Self::Accounts,
        Self::Jobs,
        Self::Pods,
    ];
}

/// Something seen.
#[derive(Debug)]
pub(crate) enum Change {
    Pod(Event<Lean<wire::Pod>>),
    Node(Event<Lean<wire::Node>>),
    Namespace(Event<Lean<wire::Namespace>>),
    CsiNode(Event<Lean<wire::CsiNode>>),
    Class(Event<Lean<wire::StorageClass>>),
    Volume(Event<Lean<wire::Volume>>),
    Claim(Event<Lean<wire::Claim>>),
    Budget(Event<Lean<wire::Budget>>),
    Volcano(Event<Lean<wire::VolcanoPodGroup>>),
    Upstream(Event<Lean<wire::UpstreamPodGroup>>),
    Account(Event<Lean<wire::Account>>),
    Job(Event<Lean<wire::Job>>),
    /// The cluster does not serve this kind, for now.
    Absent(Kind),
}

/// Where changes go.
pub(crate) type Sender = mpsc::Sender<Vec<Change>>;

/// Follows everything; each task ends when nobody listens any more.
pub(crate) struct Feeds {
    client: Client,
    environment: Environment,
    sender: Sender,
}

impl Feeds {
    pub(crate) fn new(client: Client, environment: Environment, sender: Sender) -> Self {
        Self { client, environment, sender }
    }

    /// One future per kind, to be run side by side.
    pub(crate) fn tasks(&self) -> Vec<futures::future::BoxFuture<'static, Result<(), Infallible>>> {
        vec![
            Box::pin(self.follow("namespaces", Change::Namespace)),
            Box::pin(self.follow("nodes", Change::Node)),
            Box::pin(self.follow("csinodes", Change::CsiNode)),
            Box::pin(self.follow("storageclasses", Change::Class)),
            Box::pin(self.follow("persistentvolumes", Change::Volume)),
            Box::pin(self.follow("persistentvolumeclaims", Change::Claim)),
            Box::pin(self.follow("poddisruptionbudgets", Change::Budget)),
            Box::pin(self.follow_if_served(
                "podgroups.scheduling.volcano.sh",
                Kind::Volcano,
                Change::Volcano,
            )),
            Box::pin(self.follow_if_served("podgroups.scheduling.k8s.io", Kind::Upstream, Change::Upstream)),
            Box::pin(self.follow_if_served("accounts", Kind::Accounts, Change::Account)),
            Box::pin(self.follow_if_served("aijobs", Kind::Jobs, Change::Job)),
            Box::pin(self.follow("pods", Change::Pod)),
        ]
    }

    fn follow<K: Wire>(
        &self,
        name: &'static str,
        change: fn(Event<Lean<K>>) -> Change,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + use<K> {
        let api: Api<Lean<K>> = Api::all(self.client.clone());
        hand_on(name, api, self.environment.clone(), self.sender.clone(), change)
    }

    fn follow_if_served<K: Wire>(
        &self,
        name: &'static str,
        kind: Kind,
        change: fn(Event<Lean<K>>) -> Change,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + use<K> {
        let following = self.follow(name, change);
        let (client, environment, sender) =
            (self.client.clone(), self.environment.clone(), self.sender.clone());
        async move {
            let mut told = false;
            let mut failures = 0;
            loop {
                match is_served::<K>(&client).await {
                    Ok(true) => break,
                    Ok(false) => {
                        if !told && sender.send(vec![Change::Absent(kind)]).await.is_err() {
                            return Ok(());
                        }
                        told = true;
                        failures = 0;
                        sleep(if K::GROUP == names::GROUP { LOOK_SOON } else { LOOK_AGAIN }).await;
                    }
                    Err(error) => {
                        failures += 1;
                        tracing::warn!("looking for {name}: {}", chain(&error));
                        sleep(Backoff::CONNECTION.delay(failures, &environment.dice)).await;
                    }
                }
            }
            following.await
        }
    }
}

async fn is_served<K: Wire>(client: &Client) -> Result<bool, kube::Error> {
    let version = format!("{}/{}", K::GROUP, K::VERSION);
    match client.list_api_group_resources(&version).await {
        Ok(list) => Ok(list.resources.iter().any(|resource| resource.name == K::PLURAL)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}

async fn hand_on<K: Received>(
    name: &'static str,
    api: Api<K>,
    environment: Environment,
    sender: Sender,
    change: fn(Event<K>) -> Change,
) -> Result<(), Infallible> {
    let events = Watch::new(name, api, Selection::default(), environment).stream().ready_chunks(BATCH);
    let mut events = std::pin::pin!(events);
    while let Some(batch) = events.next().await {
        if sender.send(batch.into_iter().map(change).collect()).await.is_err() {
            break;
        }
    }
    Ok(())
}
