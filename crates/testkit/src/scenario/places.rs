//! The three kinds of clusters a scenario runs on.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context as _, bail};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use maar_embedded::{Clock, Cluster, Config, Listener};

use crate::target;

/// Where a scenario runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// Embedded, without a socket, in paused time.
    InProcess,
    /// Embedded, over TLS on a socket, in real time.
    Tls,
    /// A real API server, in real time.
    Real,
}

impl fmt::Display for On {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::InProcess => "an embedded cluster in process",
            Self::Tls => "an embedded cluster over TLS",
            Self::Real => "a real cluster",
        })
    }
}

impl On {
    /// How long a scenario waits for anything before it gives up.
    pub(super) fn patience(self) -> Duration {
        match self {
            Self::InProcess => Duration::from_mins(40),
            Self::Tls => Duration::from_secs(40),
            Self::Real => Duration::from_secs(90),
        }
    }

    /// How often it looks.
    pub(super) fn pace(self) -> Duration {
        match self {
            Self::InProcess => Duration::from_millis(250),
            Self::Tls => Duration::from_millis(50),
            Self::Real => Duration::from_millis(200),
        }
    }
}

/// A cluster, kept alive for as long as this is.
pub(super) struct Place {
    pub(super) client: Client,
    pub(super) clock: Clock,
    pub(super) embedded: Option<Cluster>,
    _listener: Option<Listener>,
}

impl fmt::Debug for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Place").field("embedded", &self.embedded).finish_non_exhaustive()
    }
}

impl Place {
    /// The cluster of that number.
    pub(super) async fn find(on: On, number: usize) -> anyhow::Result<Self> {
        match on {
            On::InProcess => {
                let seed = 1 + u64::try_from(number)?;
                let config = Config::simulated(seed);
                let clock = config.clock.clone();
                let cluster = Cluster::start(config).await?;
                Ok(Self { client: cluster.client(), clock, embedded: Some(cluster), _listener: None })
            }
            On::Tls => Self::over_tls().await,
            On::Real => Self::real(number).await,
        }
    }

    async fn over_tls() -> anyhow::Result<Self> {
        let cluster = Cluster::start(Config::wall()).await?;
        let listener = cluster.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let kubeconfig = Kubeconfig::from_yaml(&cluster.kubeconfig(&listener)?)?;
        let client = connect(kubeconfig).await?;
        Ok(Self { client, clock: Clock::wall(), embedded: Some(cluster), _listener: Some(listener) })
    }

    async fn real(number: usize) -> anyhow::Result<Self> {
        let files = target::real_kubeconfigs();
        let Some(file) = files.get(number) else {
            bail!(
                "it asks for real cluster number {} and {} names {}: run it by `make real`",
                number + 1,
                target::REAL_KUBECONFIG,
                files.len()
            );
        };
        let kubeconfig = Kubeconfig::read_from(file).with_context(|| format!("reading {file}"))?;
        let client = connect(kubeconfig).await?;
        Ok(Self { client, clock: Clock::wall(), embedded: None, _listener: None })
    }
}

async fn connect(kubeconfig: Kubeconfig) -> anyhow::Result<Client> {
    // Another test of this process may have installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    // In process nothing is asked twice either, and scenarios want to see refusals.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}
