//! `maar scheduler`: places the Pods of a cluster.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use maar_controller::Environment;
use maar_controller::config::RuntimeArgs;
use maar_controller::http;
use maar_controller::process::Process;
use maar_scheduler::adapter::{Access, CardSettings, Settings, role};
use maar_scheduler::core::Config;
use maar_scheduler::metrics::SchedulerMetrics;
use tokio_util::sync::CancellationToken;

/// What `maar scheduler` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The kubeconfig of the cluster; without it $KUBECONFIG, ~/.kube/config or the Pod's own account is used
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Place the Pods whose spec.schedulerName is this
    #[arg(long, value_name = "NAME", default_value = maar_api::names::SCHEDULER_NAME)]
    scheduler_name: String,

    /// Who pays for Pods that name no account, in a namespace that names none
    #[arg(long, value_name = "ACCOUNT", default_value = maar_api::names::DEFAULT_ACCOUNT)]
    default_account: String,

    /// A kind of card, as RESOURCE[,NODE-LABEL-WITH-MEMORY-IN-MIB][,MOST-PODS-ON-ONE-CARD]; given once or more, it
    /// replaces the kinds of makers that are known
    #[arg(long = "cards", value_name = "KIND", value_parser = card)]
    cards: Vec<CardSettings>,

    /// Binds under way at a time
    #[arg(long, value_name = "COUNT", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1000))]
    binds: u16,

    /// Seconds between the notice and the stop of Pods that give way, unless their job says otherwise
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    notice_seconds: u32,

    /// Where /explain/NAMESPACE/NAME is served. On a loopback address whoever reaches it may ask; elsewhere those who
    /// bring a token of the cluster and may get the object
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "MAAR_EXPLAIN_ADDRESS",
        hide_env_values = true,
        default_value = "127.0.0.1:8082"
    )]
    explain_address: SocketAddr,

    #[command(flatten)]
    runtime: RuntimeArgs,
}

/// Reads `RESOURCE[,LABEL][,COUNT]`.
fn card(text: &str) -> Result<CardSettings, String> {
    let mut parts = text.split(',').map(str::trim);
    let resource = parts
        .next()
        .filter(|name| name.contains('/'))
        .ok_or("begin with a resource such as nvidia.com/gpu")?;
    let mut card = CardSettings { resource: resource.to_owned(), memory_label: None, sharers: 10 };
    for part in parts {
        match part.parse() {
            Ok(0) => return Err("a card has at least one Pod".to_owned()),
            Ok(sharers) => card.sharers = sharers,
            Err(_) if part.is_empty() => {}
            Err(_) => card.memory_label = Some(part.to_owned()),
        }
    }
    Ok(card)
}

impl Arguments {
    fn settings(&self) -> Settings {
        let built_in = Settings::default();
        Settings {
            scheduler_name: self.scheduler_name.clone(),
            default_account: self.default_account.clone(),
            cards: if self.cards.is_empty() { built_in.cards } else { self.cards.clone() },
            binds: usize::from(self.binds),
            core: Config { grace: i64::from(self.notice_seconds) * 1000, ..Config::default() },
            ..Settings::default()
        }
    }

    /// Who may ask why something waits.
    fn access(&self, client: &Client) -> Access {
        if self.explain_address.ip().is_loopback() {
            Access::Anybody
        } else {
            Access::Reviewed(client.clone())
        }
    }
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let log_level = arguments.runtime.log.install()?;
    let client = connect(arguments.kubeconfig.as_deref()).await?;
    let environment = Environment::real();
    let metrics = SchedulerMetrics::register(&environment.metrics);
    let (role, router) = role(arguments.settings(), metrics, arguments.access(&client));
    let stop = CancellationToken::new();
    let explain = http::bind("explanations", arguments.explain_address).await?;
    let explaining = tokio::spawn(http::serve(explain, router, stop.clone()));
    let config = arguments.runtime.role_config(&environment.dice);
    let process = Process {
        client,
        environment,
        metrics_address: Some(arguments.runtime.metrics_address),
        health_address: Some(arguments.runtime.health_address),
        log_level: Some(log_level),
        config,
    };
    maar_controller::signal::shutdown_on_signal(stop.clone())?;
    let ended = process.run(vec![role], stop.clone()).await;
    stop.cancel();
    explaining.await??;
    Ok(ended?)
}

/// A client of the cluster that leaves retries to us: a bind whose answer was lost is not simply sent again.
async fn connect(kubeconfig: Option<&std::path::Path>) -> anyhow::Result<Client> {
    let mut config = match kubeconfig {
        None => kube::Config::infer().await.context("finding a cluster")?,
        Some(file) => {
            let read = Kubeconfig::read_from(file)
                .with_context(|| format!("reading the kubeconfig {}", file.display()))?;
            kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?
        }
    };
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_cards_are_read() {
        let full = card("nvidia.com/gpu,nvidia.com/gpu.memory,4").unwrap();
        assert_eq!(
            (full.resource.as_str(), full.memory_label.as_deref(), full.sharers),
            ("nvidia.com/gpu", Some("nvidia.com/gpu.memory"), 4)
        );
        assert_eq!(card("a.com/x").unwrap().sharers, 10);
        assert!(card("gpu").is_err() && card("a.com/x,0").is_err());
    }
}
