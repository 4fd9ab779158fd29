//! `maar jobs`: the role that turns jobs and workspaces into Pods.

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use kube::Client;
use maar_controller::{Environment, config::RuntimeArgs, process::Process, signal};
use maar_jobs::{CardUse, Entropy, JobsMetrics, NodeCards, Prometheus, Settings};
use tokio_util::sync::CancellationToken;

use super::client::config;

/// What `maar jobs` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Kubeconfig of the cluster; without it the usual ones, or that of the Pod it runs in
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Install the definitions of Account, AIJob and Workspace first, or bring them up to date
    #[arg(long)]
    install_definitions: bool,
    #[command(flatten)]
    cards: CardArgs,
    #[command(flatten)]
    runtime: RuntimeArgs,
}

/// Where the use of cards is known from.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(multiple = false)]
pub(crate) struct CardArgs {
    /// Prometheus with the metrics of the cards, such as http://prometheus.monitoring:9090; needed by clean-up of idle work
    #[arg(long, value_name = "URL")]
    prometheus: Option<String>,
    /// Read the metrics of the cards from the nodes themselves, as simulated nodes show them
    #[arg(long)]
    cards_from_nodes: bool,
}

impl CardArgs {
    pub(crate) fn source(&self, client: &Client) -> anyhow::Result<Option<Arc<dyn CardUse>>> {
        if let Some(url) = &self.prometheus {
            return Ok(Some(Arc::new(Prometheus::new(url)?)));
        }
        Ok(self.cards_from_nodes.then(|| Arc::new(NodeCards::new(client.clone())) as Arc<dyn CardUse>))
    }
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let log_level = arguments.runtime.log.install()?;
    let client = Client::try_from(config(arguments.kubeconfig.as_deref()).await?)?;
    if arguments.install_definitions {
        maar_jobs::install(&client).await.context("installing definitions")?;
    }
    let environment = Environment::real();
    let metrics = JobsMetrics::register(&environment.metrics);
    let settings = Settings { cards: arguments.cards.source(&client)?, ..Settings::new(Entropy::system()) };
    let stop = CancellationToken::new();
    signal::shutdown_on_signal(stop.clone())?;
    let process = Process {
        client,
        config: arguments.runtime.role_config(&environment.dice),
        environment,
        metrics_address: Some(arguments.runtime.metrics_address),
        health_address: Some(arguments.runtime.health_address),
        log_level: Some(log_level),
    };
    process.run(vec![maar_jobs::role(&settings, &metrics)], stop).await?;
    Ok(())
}
