//! `maar jobs`: the role that turns jobs and workspaces into Pods.

use std::path::PathBuf;

use anyhow::Context as _;
use kube::Client;
use maar_controller::{Environment, config::RuntimeArgs, process::Process, signal};
use maar_jobs::Entropy;
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
    runtime: RuntimeArgs,
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let log_level = arguments.runtime.log.install()?;
    let client = Client::try_from(config(arguments.kubeconfig.as_deref()).await?)?;
    if arguments.install_definitions {
        maar_jobs::install(&client).await.context("installing definitions")?;
    }
    let environment = Environment::real();
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
    process.run(vec![maar_jobs::role(&Entropy::system())], stop).await?;
    Ok(())
}
