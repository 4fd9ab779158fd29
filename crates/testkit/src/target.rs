//! What a test can run against.

use anyhow::Context as _;
use kube::Client;
use maar_embedded::{Cluster, Config};

/// The variable by which `make real` offers clusters: kubeconfig files, separated by colons.
pub const REAL_KUBECONFIG: &str = "MAAR_REAL_KUBECONFIG";

/// A cluster under test.
#[derive(Debug)]
pub enum Target {
    /// The one in this process, without a socket.
    Embedded(Cluster),
    /// One that runs on its own.
    Real(Box<kube::Config>),
}

impl Target {
    /// A fresh embedded cluster whose time follows tokio's.
    pub async fn embedded(seed: u64) -> anyhow::Result<Self> {
        Ok(Self::Embedded(Cluster::start(Config::simulated(seed)).await?))
    }

    /// The first real cluster on offer, if there is one.
    pub async fn real() -> anyhow::Result<Option<Self>> {
        let files = real_kubeconfigs();
        let Some(file) = files.first() else { return Ok(None) };
        let kubeconfig = kube::config::Kubeconfig::read_from(file)
            .with_context(|| format!("reading {REAL_KUBECONFIG}={file}"))?;
        let options = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        Ok(Some(Self::Real(Box::new(config))))
    }

    /// A client with all rights.
    pub fn client(&self) -> anyhow::Result<Client> {
        match self {
            Self::Embedded(cluster) => Ok(cluster.client()),
            Self::Real(config) => Ok(Client::try_from((**config).clone())?),
        }
    }

    /// The same, but one that never asks twice: a refusal is an answer too.
    pub fn blunt_client(&self) -> anyhow::Result<Client> {
        match self {
            Self::Embedded(cluster) => Ok(cluster.client()),
            Self::Real(config) => {
                let mut config = (**config).clone();
                config.default_retry = false;
                Ok(Client::try_from(config)?)
            }
        }
    }
}

/// The kubeconfig files of the real clusters on offer.
pub fn real_kubeconfigs() -> Vec<String> {
    #[expect(clippy::disallowed_methods, reason = "the one place where tests learn of real clusters")]
    let files = std::env::var(REAL_KUBECONFIG).unwrap_or_default();
    files.split(':').filter(|file| !file.is_empty()).map(ToOwned::to_owned).collect()
}
