//! A process: its servers, and the roles that run in it.

use std::{fmt, net::SocketAddr, time::Duration};

use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::{
    environment::Environment,
    http::{BindError, bind, metrics_router, serve},
    role::{Role, RoleConfig},
    supervisor::{Ended, Supervisor},
    telemetry::LogLevel,
};

/// How long answers to probes and scrapers may take after everything else has ended.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// A process, before it runs.
pub struct Process {
    /// Talks to the cluster.
    pub client: Client,
    /// Time, chance, numbers, health.
    pub environment: Environment,
    /// Where /metrics is served; nowhere if absent.
    pub metrics_address: Option<SocketAddr>,
    /// Where /healthz, /readyz and /log-level are served; nowhere if absent.
    pub health_address: Option<SocketAddr>,
    /// Lets /log-level change the level.
    pub log_level: Option<LogLevel>,
    /// For all roles.
    pub config: RoleConfig,
}

impl fmt::Debug for Process {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Process").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Why a process ended.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// A port is taken.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A role or a server ended.
    #[error(transparent)]
    Ended(#[from] Ended),
}

impl Process {
    /// Runs `roles` until `shutdown` is cancelled or one of them ends. The servers answer until the roles have ended,
    /// so that a probe sees a process that is stopping, not one that is gone.
    pub async fn run(self, roles: Vec<Role>, shutdown: CancellationToken) -> Result<(), ProcessError> {
        let servers = self.servers().await?;
        let last = servers.shutdown().clone();
        // Roles drain on their own; this is only for those that hang beyond that.
        let patience = self.config.drain + Duration::from_secs(15);
        let mut supervisor = Supervisor::new(shutdown.clone(), patience);
        for role in roles {
            let (client, environment) = (self.client.clone(), self.environment.clone());
            supervisor
                .spawn(role.name(), role.run(client, self.config.clone(), environment, shutdown.clone()));
        }
        let serving = tokio::spawn(async move {
            let ended = servers.run().await;
            shutdown.cancel();
            ended
        });
        let worked = supervisor.run().await;
        last.cancel();
        let served = serving.await.unwrap_or(Ok(()));
        Ok(worked.and(served)?)
    }

    async fn servers(&self) -> Result<Supervisor, BindError> {
        let stop = CancellationToken::new();
        let mut servers = Supervisor::new(stop.clone(), LAST_ANSWERS);
        if let Some(address) = self.metrics_address {
            let listener = bind("metrics", address).await?;
            let router = metrics_router(self.environment.metrics.clone());
            servers.spawn("serve metrics", serve(listener, router, stop.clone()));
        }
        if let Some(address) = self.health_address {
            let listener = bind("health", address).await?;
            let health = self.environment.health.router();
            let router = self.log_level.as_ref().map_or(health.clone(), |level| health.merge(level.router()));
            servers.spawn("serve health", serve(listener, router, stop.clone()));
        }
        Ok(servers)
    }
}
