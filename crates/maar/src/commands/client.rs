//! How commands for people reach a cluster.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

/// Where `maar up` writes its kubeconfig.
const BESIDE: &str = ".maar/kubeconfig";

/// Which cluster, and where in it.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterArgs {
    /// Kubeconfig of the cluster; without it the one that maar up wrote here (.maar/kubeconfig), else the usual ones
    #[arg(long, value_name = "FILE", global = true)]
    kubeconfig: Option<PathBuf>,
    /// Namespace; without it the one of the kubeconfig
    #[arg(long, short, value_name = "NAME", global = true)]
    namespace: Option<String>,
}

/// A client and the namespace to use.
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

impl ClusterArgs {
    pub(crate) async fn connect(&self) -> anyhow::Result<Connection> {
        let config = config(self.kubeconfig.as_deref()).await?;
        let namespace = self.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let client = Client::try_from(config).context("preparing to talk to the cluster")?;
        Ok(Connection { client, namespace })
    }
}

/// The settings of a kubeconfig, or of the first that is found.
pub(crate) async fn config(file: Option<&Path>) -> anyhow::Result<Config> {
    let beside = Path::new(BESIDE);
    let file = file.or_else(|| beside.exists().then_some(beside));
    let Some(file) = file else {
        return Config::infer().await.context("finding a cluster (say which with --kubeconfig)");
    };
    let read =
        Kubeconfig::read_from(file).with_context(|| format!("reading the kubeconfig {}", file.display()))?;
    Ok(Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?)
}
