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
use maar_portal::{
    Apps, CardSource, Entropy, FirstAdmin, KubeconfigSettings, Portal, Settings, SshKeys, SshSettings,
    install_user_role, with_ssh,
};
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
    portal: SocketAddr,
    ssh: u16,
    first: FirstAdmin,
}

impl Address {
    pub(super) fn announce(&self) {
        say(&format!("Portal             http://{}", self.portal));
        if let FirstAdmin::Made { name, password } = &self.first {
            say(&format!(
                "  first login      {name} with the password {password} (shown this once, to be changed)"
            ));
        }
        say(&format!(
            "  SSH              ssh -p {} WORKSPACE@127.0.0.1 (add a key in the portal), or maar ssh WORKSPACE",
            self.ssh
        ));
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
    // Browsers know that everything below localhost is this machine.
    settings.apps = Some(Apps::below("apps.localhost", &settings.origins)?);
    // Simulated nodes fetch nothing and the local one runs programs of this machine, so any names do: those that people know.
    let images = [("debian:12", "Debian 12"), ("pytorch/pytorch:latest", "PyTorch")];
    settings.images = images.map(|(image, title)| (image.to_owned(), title.to_owned())).into();
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
    let ssh_listener = bind_ssh(arguments.ssh_port, arguments.port == 0).await?;
    let ssh = ssh_listener.local_addr()?.port();
    let ssh_settings =
        SshSettings { agent_forwarding: arguments.ssh_agent_forwarding, ..SshSettings::at("127.0.0.1", ssh) };
    portal.prepare_ssh(ssh_settings, SshKeys::default()).await?;
    let role = with_ssh(maar_portal::role(Arc::clone(&portal), listener), portal, ssh_listener);
    Ok(Prepared { role, address: Address { portal: address, ssh, first } })
}

/// The port that is asked for; else the usual one if it is free.
async fn bind_ssh(asked: Option<u16>, any: bool) -> anyhow::Result<TcpListener> {
    let usual = if any { 0 } else { 2222 };
    let port = asked.unwrap_or(usual);
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
        Err(_) if asked.is_none() => Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?),
        bound => {
            bound.with_context(|| format!("serving SSH on port {port} (choose another with --ssh-port)"))
        }
    }
}

/// Users are kept where the cluster's state is, and are gone with it otherwise.
fn records_url(data: Option<&Path>) -> anyhow::Result<String> {
    let Some(folder) = data else { return Ok("sqlite::memory:".to_owned()) };
    let file = std::path::absolute(folder)?.join("records.db");
    Ok(format!("sqlite://{}", file.display()))
}
