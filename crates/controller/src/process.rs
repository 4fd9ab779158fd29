//! A process: its servers, and the roles that run in it.

use std::{net::SocketAddr, time::Duration};

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

/// Settings of a process.
#[derive(Debug, Clone)]
pub struct ProcessConfig {
    /// Where /metrics is served; nowhere if absent.
    pub metrics_address: Option<SocketAddr>,
    /// Where /healthz, /readyz and /log-level are served; nowhere if absent.
    pub health_address: Option<SocketAddr>,
    /// For all roles.
    pub role: RoleConfig,
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

/// Runs `roles` until `shutdown` is cancelled or one of them ends. The servers answer until the roles have ended, so
/// that a probe sees a process that is stopping, not one that is gone.
pub async fn run(
    roles: Vec<Role>,
    client: Client,
    config: ProcessConfig,
    environment: Environment,
    log_level: Option<LogLevel>,
    shutdown: CancellationToken,
) -> Result<(), ProcessError> {
    let servers = servers(&config, &environment, log_level).await?;
    let last = servers.shutdown().clone();
    // Roles drain on their own; this is only for those that hang beyond that.
    let patience = config.role.drain + Duration::from_secs(15);
    let mut supervisor = Supervisor::new(shutdown.clone(), patience);
    for role in roles {
        let environment = environment.clone();
        supervisor
            .spawn(role.name(), role.run(client.clone(), config.role.clone(), environment, shutdown.clone()));
    }
    let serving = {
        let shutdown = shutdown.clone();
        tokio::spawn(async move {
            let ended = servers.run().await;
            shutdown.cancel();
            ended
        })
    };
    let worked = supervisor.run().await;
    last.cancel();
    let served = serving.await.unwrap_or(Ok(()));
    Ok(worked.and(served)?)
}

async fn servers(
    config: &ProcessConfig,
    environment: &Environment,
    log_level: Option<LogLevel>,
) -> Result<Supervisor, BindError> {
    let stop = CancellationToken::new();
    let mut servers = Supervisor::new(stop.clone(), LAST_ANSWERS);
    if let Some(address) = config.metrics_address {
        let listener = bind("metrics", address).await?;
        servers.spawn(
            "serve metrics",
            serve(listener, metrics_router(environment.metrics.clone()), stop.clone()),
        );
    }
    if let Some(address) = config.health_address {
        let listener = bind("health", address).await?;
        let health = environment.health.router();
        let router = log_level.map_or(health.clone(), |level| health.merge(level.router()));
        servers.spawn("serve health", serve(listener, router, stop.clone()));
    }
    Ok(servers)
}
