//! The roles of Maar that `maar up` runs in its own process.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use axum::Router;
use kube::Client;
use maar_controller::{Environment, Role, RoleConfig, lease::Timing, process::Process, role::Election};
use maar_jobs::{Entropy, JobsMetrics, NodeCards};
use maar_scheduler::{
    adapter::{Access, Settings},
    metrics::SchedulerMetrics,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::hold::NAMESPACE;

/// How long work has to end after Ctrl-C.
const DRAIN: Duration = Duration::from_secs(5);

/// Installs Maar's kinds and starts its roles; `identity` is theirs in elections, `portal` runs
/// beside them. If one of them ends by itself,
/// everything stops.
pub(super) async fn start(
    client: &Client,
    identity: String,
    portal: Role,
    stop: &CancellationToken,
) -> anyhow::Result<(JoinHandle<anyhow::Result<()>>, Router)> {
    maar_jobs::install(client).await.context("installing the kinds of Maar")?;
    // Others may join the cluster, with roles of the same kind: only one of them works at a time.
    let election = Election { namespace: NAMESPACE.to_owned(), timing: Timing::default() };
    let config = RoleConfig { identity, election: Some(election), drain: DRAIN };
    let environment = Environment::real();
    let metrics = SchedulerMetrics::register(&environment.metrics);
    let counted = JobsMetrics::register(&environment.metrics);
    // Simulated nodes tell how much their cards are used, so idle work is found without a Prometheus.
    let cards = Arc::new(NodeCards::new(client.clone()));
    let settings = maar_jobs::Settings { cards: Some(cards), ..maar_jobs::Settings::new(Entropy::system()) };
    // The page is on loopback.
    let (scheduler, pages) = maar_scheduler::adapter::role(Settings::default(), metrics, Access::Anybody);
    let process = |config: RoleConfig| Process {
        client: client.clone(),
        environment: environment.clone(),
        metrics_address: None,
        health_address: None,
        log_level: None,
        config,
    };
    // One for all: whichever ends takes the others with it.
    let work = stop.child_token();
    // Every portal serves and none leads: a second `maar up` on the same cluster has one too.
    let serving = process(RoleConfig { election: None, ..config.clone() }).run(vec![portal], work.clone());
    let leading = process(config).run(vec![maar_jobs::role(&settings, &counted), scheduler], work);
    let end = stop.clone();
    let running = tokio::spawn(async move {
        let (serving, leading) = tokio::join!(serving, leading);
        end.cancel();
        serving.and(leading).context("a role ended by itself")
    });
    Ok((running, pages))
}
