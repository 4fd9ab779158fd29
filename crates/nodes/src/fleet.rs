//! Being a node: registration, leases, status, failures on command; for all nodes of a set in one task.
//!
//! Beats are spread over the heartbeat interval by seed, so that thousands of nodes make an even stream of small
//! requests. A beat renews the lease; every five minutes, or when something changed, it also writes the status.

mod error;
mod member;
mod object;
mod register;
mod roll;
mod watched;
mod watching;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    net::IpAddr,
    sync::Arc,
    time::Duration,
};

use futures::{FutureExt, StreamExt, TryStreamExt, future::BoxFuture, stream::FuturesUnordered};
use jiff::Timestamp;
use kube::{
    Api, Client,
    runtime::{WatchStreamExt, watcher},
};
use rand::Rng;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{
    back_off::BackOff, clock::Clock, events::Recorder, ids, lifecycle::after, pods::SharedTable, requests,
    runtime::Runtime, table::NodeEntry,
};
use member::Member;
use object::{Health, NodePlan};
use roll::Roll;
use watched::NodeObject;

pub use error::FleetError;
pub(crate) use object::{NodeInfo, PoolShape};
pub use object::{POOL_LABEL, RACK_LABEL, SET_ANNOTATION};

pub(crate) const NODES: &str = "/api/v1/nodes";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
/// How often the status is written when nothing changes.
const STATUS_INTERVAL: Duration = Duration::from_mins(5);
/// Requests under way at a time.
const PARALLEL: usize = 32;

/// What all nodes of a set have in common.
#[derive(Debug)]
pub(crate) struct FleetSettings {
    pub(crate) heartbeat: Duration,
    pub(crate) shapes: Vec<Arc<PoolShape>>,
    /// Name of the set: nodes of other sets are left alone.
    pub(crate) set: String,
    pub(crate) clock: Clock,
    pub(crate) seed: u64,
    /// The address all nodes report; without it each gets one of its own.
    pub(crate) address: Option<IpAddr>,
    pub(crate) port: u16,
    /// Pods have the address of their node.
    pub(crate) shared_network: bool,
}

/// Something the handle asks for.
#[derive(Debug)]
pub(crate) enum Command {
    Add { pool: String, count: u32, reply: oneshot::Sender<Result<Vec<String>, FleetError>> },
    Remove { names: Vec<String>, reply: oneshot::Sender<Result<(), FleetError>> },
}

/// See the module.
pub(crate) struct Fleet<R> {
    client: Client,
    table: SharedTable<R>,
    bell: Arc<Notify>,
    /// Rung when all Pods must be looked at again.
    relist: Arc<Notify>,
    settings: FleetSettings,
    members: BTreeMap<Arc<str>, Member>,
    beats: BinaryHeap<Reverse<(Timestamp, Arc<str>)>>,
    /// Nodes made so far, for addresses.
    ordinal: u32,
    /// Next number of each pool.
    next_index: Vec<u32>,
    roll: Roll,
    events: Recorder,
}

/// How a beat went.
struct Beaten {
    name: Arc<str>,
    /// The lease was renewed, so it is there.
    has_lease: bool,
    /// The status was to be written and was not.
    status_failed: bool,
}

impl<R: Runtime> Fleet<R> {
    pub(crate) fn new(
        client: Client,
        table: SharedTable<R>,
        bell: Arc<Notify>,
        relist: Arc<Notify>,
        settings: FleetSettings,
    ) -> Self {
        let next_index = vec![0; settings.shapes.len()];
        let events = table.lock().events.clone();
        Self {
            client,
            table,
            bell,
            relist,
            settings,
            members: BTreeMap::new(),
            beats: BinaryHeap::new(),
            ordinal: 0,
            next_index,
            roll: Roll::default(),
            events,
        }
    }

    fn now(&self) -> Timestamp {
        self.settings.clock.now()
    }

    /// Registers what the profile asks for.
    pub(crate) async fn register_all(&mut self) -> Result<(), FleetError> {
        let mut plans = Vec::new();
        for pool in 0..self.settings.shapes.len() {
            plans.extend(self.plan(pool, self.settings.shapes[pool].pool.count));
        }
        self.register(plans).await
    }

    fn plan(&mut self, pool: usize, count: u32) -> Vec<NodePlan> {
        let shape = self.settings.shapes[pool].clone();
        let first = self.next_index[pool];
        self.next_index[pool] += count;
        let (address, port) = (self.settings.address, self.settings.port);
        (first..first + count)
            .map(|index| {
                let ordinal = self.ordinal;
                self.ordinal += 1;
                NodePlan {
                    name: shape.node_name(index).into(),
                    shape: shape.clone(),
                    index,
                    address: address.unwrap_or_else(|| object::address(ordinal).into()),
                    network: object::network(ordinal),
                    port,
                }
            })
            .collect()
    }

    async fn register(&mut self, plans: Vec<NodePlan>) -> Result<(), FleetError> {
        let (client, set, now) = (self.client.clone(), self.settings.set.clone(), self.now());
        let names: Vec<Arc<str>> = plans.iter().map(|plan| plan.name.clone()).collect();
        for plan in &plans {
            self.expect(plan);
        }
        let registered = futures::stream::iter(plans)
            .map(|plan| {
                let (client, set) = (&client, &set);
                async move {
                    register::register(client, &plan, set, now).await.map(|registered| (plan, registered))
                }
            })
            .buffered(PARALLEL);
        let mut registered = std::pin::pin!(registered);
        let mut adopted = false;
        let outcome = loop {
            match registered.try_next().await {
                Ok(Some((plan, registered))) => {
                    adopted |= registered.adopted;
                    self.join(plan, registered, now);
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        if adopted {
            // Pods were assigned to them before we looked after them.
            self.relist.notify_one();
        }
        for name in names.iter().filter(|name| !self.members.contains_key(*name)) {
            self.table.lock().node_removed(name);
        }
        outcome
    }

    /// A node about to be registered: a scheduler may assign Pods to it before we hear that it is there.
    fn expect(&self, plan: &NodePlan) {
        let (shape, name) = (&plan.shape, plan.name.clone());
        let (allocatable, cards) = (shape.allocatable.clone(), shape.cards.clone());
        let mut entry = NodeEntry::new(name.clone(), plan.address, plan.network, allocatable, cards);
        entry.shared_network = self.settings.shared_network;
        entry.labels = plan.labels();
        self.table.lock().nodes.insert(name, entry);
    }

    /// A registered node begins to live.
    fn join(&mut self, plan: NodePlan, registered: register::Registered, now: Timestamp) {
        let name = plan.name.clone();
        let seed = self.settings.seed.to_string();
        let spread = ids::random(&["heartbeat", &seed, &name]).random_range(0.0..1.0);
        let next_beat = after(now, self.settings.heartbeat.mul_f64(spread));
        let member = Member {
            plan,
            uid: registered.uid,
            health: Health::known(&registered.object, now),
            has_lease: false,
            status_due: registered.adopted,
            misjudged: false,
            next_status: after(now, STATUS_INTERVAL.mul_f64(1.0 - spread / 2.0)),
            next_beat,
        };
        self.members.insert(name.clone(), member);
        self.beats.push(Reverse((next_beat, name)));
        self.observe(&registered.object);
    }

    /// Runs until `shutdown`.
    pub(crate) async fn run(mut self, mut inbox: mpsc::Receiver<Command>, shutdown: CancellationToken) {
        let config = watcher::Config::default().labels(POOL_LABEL);
        let events = watcher(Api::<NodeObject>::all(self.client.clone()), config).backoff(BackOff::default());
        let mut events = std::pin::pin!(events);
        let clock = self.settings.clock.clone();
        let mut beating = FuturesUnordered::new();
        loop {
            let wake = self.start_beats(&mut beating);
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                Some(command) = inbox.recv() => self.obey(command).await,
                Some(beaten) = beating.next(), if !beating.is_empty() => self.enter(&beaten),
                event = events.next() => match event {
                    Some(event) => self.watched(event).await,
                    None => return tracing::error!("the watch on nodes ended for good"),
                },
                () = clock.sleep_until(wake) => {}
            }
        }
    }

    /// Starts the beats that are due; returns when the next one is, unless there are too many already.
    fn start_beats(
        &mut self,
        beating: &mut FuturesUnordered<BoxFuture<'static, Beaten>>,
    ) -> Option<Timestamp> {
        let now = self.now();
        while beating.len() < PARALLEL {
            let Reverse((time, name)) = self.beats.peek()?;
            if *time > now {
                return Some(*time);
            }
            let (time, name) = (*time, name.clone());
            self.beats.pop();
            if let Some(member) = self.members.get_mut(&name)
                && member.next_beat == time
            {
                member.next_beat = after(now, self.settings.heartbeat);
                self.beats.push(Reverse((member.next_beat, name.clone())));
                beating.extend(self.beat(&name, now));
            }
        }
        None
    }

    fn beat(&mut self, name: &Arc<str>, now: Timestamp) -> Option<BoxFuture<'static, Beaten>> {
        let member = self.members.get_mut(name)?;
        if member.health.failures.network || member.health.failures.lease_lost {
            return None;
        }
        let lease = lease_request(&self.client, member, self.settings.heartbeat, now);
        let status_due = std::mem::take(&mut member.status_due) || member.next_status <= now;
        let status = status_due.then(|| {
            member.next_status = after(now, STATUS_INTERVAL);
            member.speak_again(now);
            json!({ "status": member.plan.status(member.health, now) })
        });
        let (client, name) = (self.client.clone(), name.clone());
        let beating = async move {
            let status_failed = match status {
                Some(patch) => !logged(&name, &requests::merge_status(&client, NODES, &name, &patch).await),
                None => false,
            };
            Beaten { has_lease: lease.await, name, status_failed }
        };
        Some(beating.boxed())
    }

    fn enter(&mut self, beaten: &Beaten) {
        let Some(member) = self.members.get_mut(&beaten.name) else { return };
        member.has_lease = beaten.has_lease;
        member.status_due |= beaten.status_failed;
    }

    async fn obey(&mut self, command: Command) {
        // Whoever asked may have gone away meanwhile; that is no reason to stop.
        match command {
            Command::Add { pool, count, reply } => drop(reply.send(self.add(&pool, count).await)),
            Command::Remove { names, reply } => drop(reply.send(self.remove(&names).await)),
        }
    }

    async fn add(&mut self, pool: &str, count: u32) -> Result<Vec<String>, FleetError> {
        let shapes = &self.settings.shapes;
        let Some(position) = shapes.iter().position(|shape| shape.pool.name == pool) else {
            let known = shapes.iter().map(|shape| shape.pool.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(FleetError::UnknownPool { name: pool.into(), known });
        };
        let plans = self.plan(position, count);
        let names = plans.iter().map(|plan| plan.name.to_string()).collect();
        self.register(plans).await?;
        Ok(names)
    }

    async fn remove(&mut self, names: &[String]) -> Result<(), FleetError> {
        for name in names {
            let Some(member) = self.members.get(name.as_str()) else {
                return Err(FleetError::UnknownNode(name.clone()));
            };
            let uid = member.uid.clone();
            self.forget(name);
            delete_node(&self.client, name, &uid).await?;
        }
        Ok(())
    }
}

async fn delete_node(client: &Client, name: &str, uid: &str) -> Result<(), FleetError> {
    match requests::delete(client, NODES, name, uid).await {
        Ok(()) => Ok(()),
        // Somebody was faster, or it is another node by now.
        Err(error) if matches!(error.code(), Some(404 | 409)) => Ok(()),
        Err(error) => Err(FleetError::request(format!("deleting node {name}"), &error)),
    }
}

/// Renews the lease, or creates it the first time and when it was deleted.
fn lease_request(
    client: &Client,
    member: &Member,
    heartbeat: Duration,
    now: Timestamp,
) -> impl Future<Output = bool> + Send + use<> {
    let (client, name, has_lease) = (client.clone(), member.plan.name.clone(), member.has_lease);
    let create = if has_lease { Value::Null } else { member.plan.lease(&member.uid, heartbeat * 4, now) };
    async move {
        let renewal = object::renewal(&name, now);
        let outcome = if has_lease {
            requests::merge(&client, LEASES, &name, &renewal).await
        } else {
            match requests::create(&client, LEASES, &create).await {
                Err(error) if error.code() == Some(409) => {
                    requests::merge(&client, LEASES, &name, &renewal).await
                }
                other => other.map(drop),
            }
        };
        logged(&name, &outcome)
    }
}

fn logged(node: &str, outcome: &Result<(), requests::RequestError>) -> bool {
    if let Err(error) = outcome {
        tracing::warn!(node.name = node, "a heartbeat failed and is tried again with the next: {error}");
    }
    outcome.is_ok()
}
