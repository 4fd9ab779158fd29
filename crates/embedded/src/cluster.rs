//! A whole cluster: server, built-in controllers and the ways to reach it.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use jiff::Timestamp;
use maar_streams::dial::Dial;
use serde_json::Value;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::admission;
use crate::controllers;
use crate::identity::{self, Identity};
use crate::resource::Registry;
use crate::server::{Server, UserInfo, router};
use crate::store::Store;
use crate::world::{Clock, World};

mod advertise;
mod bootstrap;
pub(crate) mod connect;
mod listen;
mod pace;

pub use listen::{ListenError, Listener};
pub(crate) use pace::Gather;

/// How a cluster is set up.
#[derive(Clone, Debug)]
pub struct Config {
    /// The cluster's time.
    pub clock: Clock,
    /// Decides every identifier and choice.
    pub seed: u64,
    /// Where state is kept; in memory if none.
    pub data_folder: Option<PathBuf>,
    /// How many events a table remembers for watches that fall behind.
    pub history: usize,
    /// Whether the built-in controllers run. Without them nobody makes service accounts, so Pods need none.
    pub controllers: bool,
}

impl Config {
    /// For tests: time follows tokio's clock from a fixed day on, everything else from the seed.
    pub fn simulated(seed: u64) -> Self {
        let epoch = Timestamp::constant(1_767_225_600, 0); // 2026-01-01T00:00:00Z
        Self { clock: Clock::simulated(epoch), seed, data_folder: None, history: 16_384, controllers: true }
    }

    /// For people: the wall clock and an unpredictable seed.
    pub fn wall() -> Self {
        let seed = rand::random();
        Self { clock: Clock::wall(), seed, data_folder: None, history: 16_384, controllers: true }
    }
}

/// Why a cluster could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data folder cannot be used.
    #[error("opening the data folder: {0}")]
    Data(String),
    /// The objects every cluster has could not be made.
    #[error("preparing the cluster: {0}")]
    Bootstrap(#[from] crate::status::ApiError),
}

/// A running cluster. Dropping it stops its controllers.
#[derive(Debug)]
pub struct Cluster {
    server: Arc<Server>,
    router: Router,
    advertised: advertise::Advertised,
    stop: CancellationToken,
    tasks: TaskTracker,
    _stop_on_drop: DropGuard,
}

impl Cluster {
    /// Starts a cluster. Must be called inside a tokio runtime.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let world = World::new(config.clock, config.seed);
        let store = match &config.data_folder {
            None => Store::new(config.history),
            Some(folder) => {
                let builtin = Registry::builtin();
                let fields = |table: &str, object: &Value| {
                    builtin.by_table(table).map(|resource| resource.fields_of(object))
                };
                Store::open(folder, config.history, fields)
                    .map_err(|error| StartError::Data(error.to_string()))?
            }
        };
        let admission = admission::Settings { service_accounts: config.controllers };
        let identity = Identity::new(&world, config.data_folder.as_deref());
        let server = Arc::new(Server::new(world, Arc::new(store), identity, admission));
        server.load_definitions();
        bootstrap::prepare(&server).await?;
        advertise::forget(&server).await;
        identity::prepare(&server).await?;
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        let mut running = controllers::of_api_server(&server);
        if config.controllers {
            running.extend(controllers::all(&server));
            running.extend([
                identity::signer(&server),
                identity::aggregation(&server),
                identity::token_secrets(&server),
            ]);
        }
        for controller in running {
            if let Some(recorder) = controller.recorder() {
                tasks.spawn(recorder.writer(stop.clone()));
            }
            tasks.spawn(controllers::run(Arc::clone(&server.store), controller, stop.clone()));
        }
        let router = router(Arc::clone(&server));
        let advertised = advertise::Advertised::default();
        Ok(Self { server, router, advertised, stop: stop.clone(), tasks, _stop_on_drop: stop.drop_guard() })
    }

    /// Tells the API server how kubelets are reached.
    pub fn set_kubelets(&self, kubelets: Arc<dyn Dial>) {
        *self.server.kubelets.write() = Some(kubelets);
    }

    /// Tells the API server how to reach webhooks without a network, by `host:port`; a Service is
    /// `name.namespace.svc:port`. What the dialer does not know is dialled over TCP. TLS is spoken either way.
    ///
    /// With a paused clock this is the only way: time does not wait for sockets.
    pub fn set_webhooks(&self, webhooks: Arc<dyn Dial>) {
        *self.server.webhooks.write() = Some(webhooks);
    }

    /// The clock and the randomness of this cluster.
    pub fn world(&self) -> &World {
        &self.server.world
    }

    /// The state behind the API.
    pub fn store(&self) -> &Arc<Store> {
        &self.server.store
    }

    /// The user the in-process clients act as unless they say otherwise.
    pub fn admin() -> UserInfo {
        UserInfo {
            username: "kubernetes-admin".into(),
            groups: vec!["system:masters".into(), "system:authenticated".into()],
            ..UserInfo::default()
        }
    }

    /// Stops the controllers and waits for them.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
