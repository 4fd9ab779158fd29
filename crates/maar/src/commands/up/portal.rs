//! The portal that `maar up` runs.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use anyhow::Context as _;
use kube::Client;
use maar_controller::{Role, clock::SharedClock, clock::SystemClock};
use maar_portal::{
    Apps, CardSource, Entropy, FirstAdmin, KubeconfigSettings, PasswordCost, Portal, Settings, SshKeys,
    SshSettings, install_user_role, with_ssh,
};
use maar_records::Records;
use tokio::net::TcpListener;

use super::{Arguments, say};
use crate::commands::{
    portal::{FirstArgs, origins},
    ways::{IssuerArgs, cluster_name},
};

/// A portal that is ready to run.
pub(super) struct Prepared {
    pub(super) role: Role,
    pub(super) address: Address,
    pub(super) first: First,
}

/// What the first administrator is made with. Made last, so that no start that fails before it is told takes the password
/// with it: nobody could sign in any more.
pub(super) struct First {
    records: Records,
    cost: PasswordCost,
    entropy: Entropy,
    clock: SharedClock,
}

impl First {
    pub(super) async fn make(&self, told: &FirstArgs) -> anyhow::Result<FirstAdmin> {
        told.make(&self.records, self.cost, &self.entropy, &self.clock).await
    }
}

/// Where the portal is.
pub(super) struct Address {
    portal: SocketAddr,
    ssh: u16,
}

impl Address {
    pub(super) fn announce(&self, first: &FirstAdmin) {
        say(&format!("Portal             http://{}", self.portal));
        if let FirstAdmin::Made { name, password } = first {
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
    listener: TcpListener,
    ssh_listener: TcpListener,
) -> anyhow::Result<Prepared> {
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
    let first = First {
        records: records.clone(),
        cost: settings.password_cost,
        entropy: entropy.clone(),
        clock: Arc::clone(&clock),
    };
    let portal = Portal::new(settings, client.clone(), records, clock, entropy)?;
    let ssh = ssh_listener.local_addr()?.port();
    let ssh_settings =
        SshSettings { agent_forwarding: arguments.ssh_agent_forwarding, ..SshSettings::at("127.0.0.1", ssh) };
    portal.prepare_ssh(ssh_settings, SshKeys::default()).await?;
    let role = with_ssh(maar_portal::role(Arc::clone(&portal), listener), portal, ssh_listener);
    Ok(Prepared { role, address: Address { portal: address, ssh }, first })
}

/// Users are kept where the cluster's state is, and are gone with it otherwise.
fn records_url(data: Option<&Path>) -> anyhow::Result<String> {
    let Some(folder) = data else { return Ok("sqlite::memory:".to_owned()) };
    let file = std::path::absolute(folder)?.join("records.db");
    Ok(format!("sqlite://{}", file.display()))
}
