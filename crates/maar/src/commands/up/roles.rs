//! The roles of Maar that `maar up` runs in its own process.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use axum::Router;
use kube::Client;
use maar_controller::{Environment, RoleConfig, process::Process};
use maar_jobs::{Entropy, JobsMetrics, NodeCards};
use maar_scheduler::{
    adapter::{Access, Settings},
    metrics::SchedulerMetrics,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long work has to end after Ctrl-C.
const DRAIN: Duration = Duration::from_secs(5);

/// Installs Maar's kinds and starts its roles. If one of them ends by itself, everything stops.
pub(super) async fn start(
    client: &Client,
    stop: &CancellationToken,
) -> anyhow::Result<(JoinHandle<()>, Router)> {
    maar_jobs::install(client).await.context("installing the kinds of Maar")?;
    // One process, so there is nobody to elect against.
    let config = RoleConfig { identity: "maar-up".to_owned(), election: None, drain: DRAIN };
    let environment = Environment::real();
    let metrics = SchedulerMetrics::register(&environment.metrics);
    let counted = JobsMetrics::register(&environment.metrics);
    // Simulated nodes tell how much their cards are used, so idle work is found without a Prometheus.
    let cards = Arc::new(NodeCards::new(client.clone()));
    let settings = maar_jobs::Settings { cards: Some(cards), ..maar_jobs::Settings::new(Entropy::system()) };
    // The page is on loopback.
    let (scheduler, pages) = maar_scheduler::adapter::role(Settings::default(), metrics, Access::Anybody);
    let process = Process {
        client: client.clone(),
        environment,
        metrics_address: None,
        health_address: None,
        log_level: None,
        config,
    };
    let roles = vec![maar_jobs::role(&settings, &counted), scheduler];
    let (work, end) = (stop.child_token(), stop.clone());
    let running = tokio::spawn(async move {
        if let Err(error) = process.run(roles, work).await {
            tracing::error!("a role ended: {:#}", anyhow::Error::from(error));
        }
        end.cancel();
    });
    Ok((running, pages))
}
