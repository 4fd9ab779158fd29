//! One node that runs containers as processes of this machine, each in a bubblewrap sandbox.
//!
//! What a container is here: a program that is installed on this machine, with a root directory of its own, the
//! system's `/usr` and a few files of `/etc` to read, its volumes, its own process, IPC and host name space, no
//! capabilities, and the machine's network. The name of the image is recorded and otherwise ignored: there is no
//! image, so a container must say which command it runs. Memory limits are enforced by looking once a second, CPU limits
//! not at all (`limit`). Nothing outside the node's state directory and the allowed roots is written.
//!
//! Where bubblewrap is missing, or the kernel does not let it work, [`find_sandbox`] says why and there is no such
//! node.
//!
//! Read in this order: `runtime` (what the state machine's wishes turn into), `container` (one run of a container),
//! `sandbox` (how a sandbox looks; pure), then volumes, logs, probes and exec as needed.

mod console;
mod container;
mod erase;
mod exec;
mod hooks;
mod limit;
mod log;
mod machine;
mod mount;
mod plan;
mod probe;
mod process;
mod refresh;
mod runtime;
mod sandbox;
mod spawner;
mod terminal;
mod usage;
mod variables;
mod volume;

use std::{fmt, net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

use kube::Client;
use maar_streams::dial::Dial;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    clock::Clock,
    events::{EventPolicy, EventWriter, Recorder},
    fleet::{Fleet, FleetError, FleetSettings, PoolShape},
    kubelet::Kubelet,
    pods::PodLoop,
    simulated::KUBELET_PORT,
    table::Table,
};
use console::LocalConsole;
use runtime::LocalRuntime;

pub use sandbox::{Sandbox, Unavailable, find_sandbox};

/// Label and taint of the local node: nothing lands there that does not ask for it.
pub const LOCAL_LABEL: &str = "maar.io/local";

/// Annotation of the local node that says how far it enforces limits.
pub const LIMITS_ANNOTATION: &str = "maar.io/limits";

/// How the local node joins a cluster.
#[derive(Debug, Clone)]
pub struct LocalOptions {
    /// Name of the node.
    pub name: String,
    /// Name of the set it belongs to, distinct within a cluster.
    pub set: String,
    /// The time of the cluster; processes live in the machine's time, so this should be it.
    pub clock: Clock,
    /// Where Pods' files are kept. Made if missing; what is in it belongs to the node.
    pub state: PathBuf,
    /// Volumes (`hostPath`, and persistent ones that are directories) may use what is under these directories. Those
    /// that the embedded cluster makes for claims are kept in `state` and need none.
    pub volume_roots: Vec<PathBuf>,
    /// The address at which processes of this machine are reached.
    pub address: IpAddr,
    /// Host and port of the API server for containers (`KUBERNETES_SERVICE_HOST`, `…_PORT`).
    pub api_server: Option<(String, u16)>,
    /// Whether the node carries the taint that keeps Pods away which do not ask for it.
    pub tainted: bool,
}

/// Why there is no local node.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// The state directory cannot be used.
    #[error("the state directory {path} of the local node cannot be used")]
    State {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It could not join the cluster.
    #[error("the local node could not join the cluster")]
    Join(#[from] FleetError),
}

/// The running local node.
#[derive(Clone)]
pub struct LocalHandle {
    kubelet: Kubelet<LocalRuntime, LocalConsole>,
    tasks: TaskTracker,
    runtime: Arc<LocalRuntime>,
    shutdown: CancellationToken,
}

impl fmt::Debug for LocalHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LocalHandle").finish_non_exhaustive()
    }
}

/// Registers the node and runs it until `shutdown`; then every process it started is ended.
pub async fn run_local(
    client: Client,
    sandbox: Sandbox,
    options: LocalOptions,
    shutdown: CancellationToken,
) -> Result<LocalHandle, LocalError> {
    let unusable = |source| LocalError::State { path: options.state.clone(), source };
    // Sandboxes are made from other folders than the one we are in.
    let state = std::path::absolute(&options.state).map_err(unusable)?;
    let options = LocalOptions { state, ..options };
    let (bell, relist) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let runtime =
        LocalRuntime::new(client.clone(), sandbox.clone(), options.clone(), bell.clone(), shutdown.clone());
    let runtime =
        Arc::new(runtime.map_err(|source| LocalError::State { path: options.state.clone(), source })?);
    // One node with a hundred Pods at most tells everything.
    let (recorder, notes) = Recorder::new(EventPolicy::All);
    let events = EventWriter::new(client.clone(), notes, options.clock.now());
    let table = Arc::new(Mutex::new(Table::new(runtime.clone(), recorder)));
    let mut shape = PoolShape::new(machine::pool(&options), machine::info(&sandbox));
    shape.only = Some(options.name.clone());
    let settings = FleetSettings {
        heartbeat: Duration::from_secs(10),
        shapes: vec![Arc::new(shape)],
        set: options.set.clone(),
        clock: options.clock.clone(),
        seed: 0,
        address: Some(options.address),
        port: KUBELET_PORT,
        shared_network: true,
    };
    let mut fleet = Fleet::new(client.clone(), table.clone(), bell.clone(), relist.clone(), settings);
    fleet.register_all().await?;
    let kubelet = Kubelet {
        table: table.clone(),
        console: Arc::new(LocalConsole(runtime.clone())),
        clock: options.clock.clone(),
        client: client.clone(),
        seed: 0,
        shutdown: shutdown.clone(),
    };
    let fields = format!("spec.nodeName={}", options.name);
    let refreshed = table.clone();
    let pods = PodLoop { client, table, clock: options.clock, bell, relist, fields };
    // The fleet takes commands from nobody: there is one node and it stays.
    let (_, inbox) = mpsc::channel(1);
    let tasks = TaskTracker::new();
    tasks.spawn(fleet.run(inbox, shutdown.clone()));
    tasks.spawn(events.run(shutdown.clone()));
    tasks.spawn(refresh::run(runtime.0.clone(), refreshed));
    tasks.spawn(pods.run(shutdown.clone()));
    tasks.close();
    Ok(LocalHandle { kubelet, tasks, runtime, shutdown })
}

impl LocalHandle {
    /// Reaches the kubelet in process, for an embedded API server.
    pub fn dialer(&self) -> Arc<dyn Dial> {
        Arc::new(self.kubelet.clone())
    }

    /// Waits until nothing runs any more, after the shutdown token was cancelled.
    pub async fn stopped(&self) {
        self.shutdown.cancelled().await;
        self.tasks.wait().await;
        self.runtime.stopped().await;
    }
}
