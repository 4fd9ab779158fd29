//! Nodes that exist only in the API: what their containers do is written in the annotations of the Pods.
//!
//! [`simulate`] registers the nodes of a profile and starts two tasks for all of them together: one for the Pods
//! (`pods`) and one for the nodes themselves (`fleet`: leases, status, failures).

pub(crate) mod console;
mod interact;
mod log;
pub(crate) mod runtime;
mod shell;

use std::{fmt, sync::Arc, time::Duration};

use kube::Client;
use maar_streams::dial::Dial;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    clock::Clock,
    events::{EventPolicy, EventWriter, Recorder},
    failure::{FAIL_ANNOTATION, Failures},
    fleet::{Command, Fleet, FleetError, FleetSettings, NODES, NodeInfo, PoolShape},
    kubelet::{
        Kubelet,
        access::Access,
        tls::{self, Listen},
    },
    pods::{PodLoop, SharedTable},
    profile::Profile,
    requests,
    table::Table,
};
use console::SimulatedConsole;
use runtime::Simulation;

/// The port that kubelets report when they do not listen on one.
pub(crate) const KUBELET_PORT: u16 = 10250;

/// How simulated nodes join a cluster.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name of this set of nodes, distinct within a cluster: nodes of other sets are left alone.
    pub set: String,
    /// The time of the cluster.
    pub clock: Clock,
    /// Decides when each node renews its lease and how loads go up and down.
    pub seed: u64,
    /// Where the kubelets are reached over the network. All nodes report this address; without it each gets one of
    /// its own, and kubelets are reached in process only.
    pub listen: Option<Listen>,
}

impl Options {
    /// Nodes that are reached in process.
    pub fn in_process(set: impl Into<String>, clock: Clock, seed: u64) -> Self {
        Self { set: set.into(), clock, seed, listen: None }
    }
}

/// What a simulated node says about its software.
pub(crate) fn node_info() -> NodeInfo {
    NodeInfo {
        scheme: "sim",
        runtime_version: concat!("sim://", env!("CARGO_PKG_VERSION")).into(),
        kernel_version: "6.12.0-sim".into(),
        os_image: "Maar simulated node".into(),
    }
}

/// A running set of simulated nodes. Dropping it changes nothing: the shutdown token ends the nodes.
#[derive(Clone)]
pub struct Handle {
    client: Client,
    commands: mpsc::Sender<Command>,
    table: SharedTable<Simulation>,
    tasks: TaskTracker,
    kubelet: Kubelet<Simulation, SimulatedConsole>,
}

impl fmt::Debug for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Handle").field("nodes", &self.nodes().len()).finish_non_exhaustive()
    }
}

/// Registers the nodes of `profile` and runs them until `shutdown`. Node objects stay when the nodes stop, as they do
/// when a machine goes down; the same set takes them up again, and deletes those that its profile has no more.
pub async fn simulate(
    client: Client,
    profile: Profile,
    options: Options,
    shutdown: CancellationToken,
) -> Result<Handle, FleetError> {
    let bound = match &options.listen {
        Some(listen) => {
            let access = Access::new(client.clone(), options.clock.clone(), listen.client_ca.is_some());
            Some(tls::bind(listen, access).await?)
        }
        None => None,
    };
    let runtime = Arc::new(Simulation { start_delay: profile.start_delay });
    let policy = profile.events.unwrap_or_else(|| EventPolicy::usual(profile.total()));
    let (recorder, notes) = Recorder::new(policy);
    let events = EventWriter::new(client.clone(), notes, options.clock.now());
    let table = Arc::new(Mutex::new(Table::new(runtime, recorder)));
    let (bell, relist) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let settings = FleetSettings {
        heartbeat: profile.heartbeat.unwrap_or_else(|| usual_heartbeat(profile.total())),
        shapes: profile.pools.into_iter().map(|pool| Arc::new(PoolShape::new(pool, node_info()))).collect(),
        set: options.set.clone(),
        clock: options.clock.clone(),
        seed: options.seed,
        address: bound.as_ref().map(|bound| bound.address.ip()),
        port: bound.as_ref().map_or(KUBELET_PORT, |bound| bound.address.port()),
        shared_network: false,
    };
    let mut fleet = Fleet::new(client.clone(), table.clone(), bell.clone(), relist.clone(), settings);
    fleet.register_all().await?;
    let console = SimulatedConsole {
        client: client.clone(),
        clock: options.clock.clone(),
        table: table.clone(),
        seed: options.seed,
    };
    let kubelet = Kubelet {
        table: table.clone(),
        console: Arc::new(console),
        clock: options.clock.clone(),
        client: client.clone(),
        seed: options.seed,
        shutdown: shutdown.clone(),
    };
    let (commands, inbox) = mpsc::channel(16);
    let pods = PodLoop {
        client: client.clone(),
        table: table.clone(),
        clock: options.clock,
        bell,
        relist,
        fields: "spec.nodeName!=".into(),
    };
    let tasks = TaskTracker::new();
    if let Some(bound) = bound {
        tasks.spawn(kubelet.clone().listen(bound));
    }
    tasks.spawn(fleet.run(inbox, shutdown.clone()));
    tasks.spawn(events.run(shutdown.clone()));
    tasks.spawn(pods.run(shutdown));
    tasks.close();
    Ok(Handle { client, commands, table, tasks, kubelet })
}

/// Kubelets renew every ten seconds; a large set does it half as often, which is still twice before a node is
/// given up.
fn usual_heartbeat(nodes: u32) -> Duration {
    Duration::from_secs(if nodes <= 1000 { 10 } else { 20 })
}

impl Handle {
    /// Names of the nodes, in order.
    pub fn nodes(&self) -> Vec<String> {
        self.table.lock().nodes.keys().map(ToString::to_string).collect()
    }

    /// How many Pods are on the nodes.
    pub fn pods(&self) -> usize {
        self.table.lock().len()
    }

    /// Whether every status is written; what is due later does not count.
    pub fn quiet(&self) -> bool {
        self.table.lock().is_quiet()
    }

    /// Adds nodes to a pool of the profile and returns their names.
    pub async fn add_nodes(&self, pool: &str, count: u32) -> Result<Vec<String>, FleetError> {
        let (reply, answer) = oneshot::channel();
        self.command(Command::Add { pool: pool.into(), count, reply }).await?;
        answer.await.map_err(|_| FleetError::Stopped)?
    }

    /// Stops nodes and deletes their objects.
    pub async fn remove_nodes(&self, names: &[String]) -> Result<(), FleetError> {
        let (reply, answer) = oneshot::channel();
        self.command(Command::Remove { names: names.to_vec(), reply }).await?;
        answer.await.map_err(|_| FleetError::Stopped)?
    }

    async fn command(&self, command: Command) -> Result<(), FleetError> {
        self.commands.send(command).await.map_err(|_| FleetError::Stopped)
    }

    /// Breaks a node, by the annotation that anybody could set.
    pub async fn fail(&self, node: &str, failures: Failures) -> Result<(), FleetError> {
        if !self.table.lock().nodes.contains_key(node) {
            return Err(FleetError::UnknownNode(node.into()));
        }
        let text = if failures == Failures::NONE { None } else { Some(failures.to_string()) };
        let patch = serde_json::json!({ "metadata": { "annotations": { FAIL_ANNOTATION: text } } });
        requests::merge(&self.client, NODES, node, &patch)
            .await
            .map_err(|error| FleetError::request(format!("breaking node {node}"), &error))
    }

    /// Repairs a node.
    pub async fn heal(&self, node: &str) -> Result<(), FleetError> {
        self.fail(node, Failures::NONE).await
    }

    /// Reaches the kubelets in process, for an embedded API server.
    pub fn dialer(&self) -> Arc<dyn Dial> {
        Arc::new(self.kubelet.clone())
    }

    /// Waits until the nodes have stopped, after the shutdown token was cancelled.
    pub async fn stopped(&self) {
        self.tasks.wait().await;
    }
}
