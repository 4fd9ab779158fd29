//! `maar jobs`: the role that turns jobs and workspaces into Pods.

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use kube::Client;
use maar_controller::{Environment, config::RuntimeArgs, process::Process, signal};
use maar_jobs::{CardUse, Entropy, JobsMetrics, Nightly, NodeCards, Prometheus, Settings};
use maar_portal::CardSource;
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
    /// Suspend workspaces that nobody protected at these times, as a cron expression such as "0 23 * * *"
    #[arg(long, value_name = "CRON")]
    nightly: Option<String>,
    /// The time zone of --nightly
    #[arg(long, value_name = "ZONE", default_value = "UTC", requires = "nightly")]
    time_zone: String,
    #[command(flatten)]
    runtime: RuntimeArgs,
}

/// Where the use of cards is known from.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(multiple = false)]
pub(crate) struct CardArgs {
    /// Prometheus with the metrics of the cards, such as http://prometheus.monitoring:9090; clean-up of idle work and the heat map need it
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

    /// The same for what the portal shows.
    pub(crate) fn shown(&self) -> anyhow::Result<CardSource> {
        Ok(match &self.prometheus {
            Some(url) => CardSource::Prometheus(Prometheus::new(url)?),
            None if self.cards_from_nodes => CardSource::Nodes,
            None => CardSource::Nothing,
        })
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
    let nightly = arguments.nightly.as_deref().map(|cron| Nightly::parse(cron, &arguments.time_zone));
    let nightly = nightly.transpose().map_err(anyhow::Error::msg).context("reading --nightly")?;
    let cards = arguments.cards.source(&client)?;
    let settings = Settings { cards, nightly, ..Settings::new(Entropy::system()) };
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
