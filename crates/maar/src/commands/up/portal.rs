//! The portal that `maar up` runs.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use kube::Client;
use maar_controller::{Role, clock::SharedClock, clock::SystemClock};
use maar_portal::{CardSource, Entropy, FirstAdmin, KubeconfigSettings, Portal, Settings, install_user_role};
use maar_records::Records;
use tokio::net::TcpListener;

use super::{Arguments, say};
use crate::commands::{
    portal::origins,
    ways::{IssuerArgs, cluster_name},
};

/// A portal that is ready to run.
pub(super) struct Prepared {
    pub(super) role: Role,
    pub(super) address: Address,
}

/// Where the portal is, and who can sign in.
pub(super) struct Address {
    address: SocketAddr,
    first: FirstAdmin,
}

impl Address {
    pub(super) fn announce(&self) {
        say(&format!("Portal             http://{}", self.address));
        if let FirstAdmin::Made { name, password } = &self.first {
            say(&format!(
                "  first login      {name} with the password {password} (shown this once, to be changed)"
            ));
        }
        say("");
    }
}

/// Where kubectl reaches the cluster: its address, and the certificates that it is known by.
pub(super) type Reached = (String, Option<String>);

pub(super) async fn prepare(
    client: &Client,
    arguments: &Arguments,
    (server, authority): Reached,
) -> anyhow::Result<Prepared> {
    let port = arguments.portal_port();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.with_context(|| {
        format!("serving the portal on port {port}, two after --port (choose others with --port)")
    })?;
    let address = listener.local_addr()?;
    let mut settings = Settings::at(origins(None, address)?);
    // Simulated nodes tell how much their cards are used.
    settings.cards = CardSource::Nodes;
    settings.cards_every = Duration::from_secs(10);
    let url = records_url(arguments.data_dir.as_deref())?;
    if let Some(folder) = &arguments.data_dir {
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    IssuerArgs::default().apply(&mut settings, &url)?;
    let cluster = cluster_name(&settings);
    settings.kubeconfig = Some(KubeconfigSettings { cluster, ..KubeconfigSettings::at(server, authority) });
    install_user_role(client).await.context("installing the role of users")?;
    let records = Records::open(&url).await;
    let records = records.context("opening the records of the portal")?;
    let (entropy, clock) = (Entropy::system(), Arc::new(SystemClock) as SharedClock);
    let first = arguments.first.make(&records, &settings, &entropy, &clock).await?;
    let portal = Portal::new(settings, client.clone(), records, clock, entropy)?;
    Ok(Prepared { role: maar_portal::role(portal, listener), address: Address { address, first } })
}

/// Users are kept where the cluster's state is, and are gone with it otherwise.
fn records_url(data: Option<&Path>) -> anyhow::Result<String> {
    let Some(folder) = data else { return Ok("sqlite::memory:".to_owned()) };
    let file = std::path::absolute(folder)?.join("records.db");
    Ok(format!("sqlite://{}", file.display()))
}
