//! `maar portal`: the role that serves people.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context as _;
use jiff::SignedDuration;
use maar_controller::{
    Environment, Role, RoleConfig, clock::SharedClock, config::RuntimeArgs, process::Process, signal,
};
use maar_portal::{
    Apps, Clients, Entropy, FirstAdmin, Network, PasswordCost, Portal, Providers, Settings, SshHelpers,
    SshKeys, SshSettings, first_admin, with_ssh,
};
use maar_records::{Keep, Records};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{
    client::config,
    grant::GrantArgs,
    jobs::CardArgs,
    namespaces::NamespaceArgs,
    output::print,
    ways::{IssuerArgs, KubeconfigArgs},
};

/// What `maar portal` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Kubeconfig of the cluster; without it the usual ones, or that of the Pod it runs in
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Where it listens; TLS is left to what stands before it
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// Where browsers find it, such as https://gpu.example; with https, cookies are never sent without
    #[arg(long, value_name = "URL")]
    external_url: Option<String>,
    /// Database: sqlite:///path/to/file.db or postgres://…; several portals need one PostgreSQL
    #[arg(long, value_name = "URL", env = "MAAR_RECORDS", hide_env_values = true)]
    records: String,
    /// Hide from users who is on a card, unless they may see the work
    #[arg(long)]
    hide_names: bool,
    #[command(flatten)]
    cards: CardArgs,
    /// What the exporter of cards calls something, such as nvidia.utilisation=DCGM_FI_DEV_GPU_UTIL, ascend.index=id or
    /// node=Hostname; may be repeated
    #[arg(long, value_name = "WHAT=NAME")]
    card_metric: Vec<String>,
    /// A resource that counts cards, beside those of makers that are known; may be repeated
    #[arg(long, value_name = "RESOURCE")]
    card_resource: Vec<String>,
    /// Keep audit entries for so many days; without it, for ever
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    audit_days: Option<u32>,
    /// Keep sessions that ended for so many days
    #[arg(long, value_name = "DAYS", default_value = "30", value_parser = clap::value_parser!(u32).range(..=36_500))]
    session_days: u32,
    #[command(flatten)]
    namespaces: NamespaceArgs,
    #[command(flatten)]
    first: FirstArgs,
    #[command(flatten)]
    grants: GrantArgs,
    #[command(flatten)]
    apps: AppArgs,
    #[command(flatten)]
    identity: IdentityArgs,
    #[command(flatten)]
    issuer: IssuerArgs,
    #[command(flatten)]
    kubeconfigs: KubeconfigArgs,
    #[command(flatten)]
    ssh: SshArgs,
    #[command(flatten)]
    runtime: RuntimeArgs,
}

/// The password of the first administrator.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Users")]
pub(crate) struct FirstArgs {
    /// File with the password of the first administrator, called admin, who has to change it; without it one is made
    /// and printed once
    #[arg(long, value_name = "FILE")]
    admin_password_file: Option<PathBuf>,
}

impl FirstArgs {
    /// Makes the first administrator unless there is one.
    pub(crate) async fn make(
        &self,
        records: &Records,
        cost: PasswordCost,
        entropy: &Entropy,
        clock: &SharedClock,
    ) -> anyhow::Result<FirstAdmin> {
        let given = match &self.admin_password_file {
            None => None,
            Some(file) => {
                let text = std::fs::read_to_string(file)
                    .with_context(|| format!("reading the password file {}", file.display()))?;
                let password = text.trim_end_matches(['\r', '\n']).to_owned();
                anyhow::ensure!(!password.is_empty(), "the password file {} is empty", file.display());
                Some(password)
            }
        };
        let told = given.is_some();
        let made = first_admin(records, given, cost, entropy, clock.now()).await?;
        if told && matches!(made, FirstAdmin::Exists) {
            tracing::warn!("--admin-password-file is not used: there is an administrator already");
        }
        // Who wrote the password down knows it.
        Ok(if told { FirstAdmin::Exists } else { made })
    }
}

/// Where programs of workspaces are seen as pages.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Apps of workspaces")]
pub(crate) struct AppArgs {
    /// Show ports of workspaces as pages below this domain, such as apps.example: *.apps.example has to lead to the
    /// portal; a port may follow if it is another than that of --external-url
    #[arg(long = "apps-domain", id = "apps_domain", value_name = "DOMAIN")]
    domain: Option<String>,
    /// Where there is no such domain: show them below paths that nobody guesses, on this address besides --listen
    #[arg(
        long = "apps-listen",
        id = "apps_listen",
        value_name = "ADDRESS",
        conflicts_with = "apps_domain",
        requires = "apps_url"
    )]
    listen: Option<SocketAddr>,
    /// Where browsers find --apps-listen, such as https://gpu-apps.example; on another host than --external-url, since
    /// cookies know no ports
    #[arg(long = "apps-url", id = "apps_url", value_name = "URL", requires = "apps_listen")]
    url: Option<String>,
}

impl AppArgs {
    /// Settings with what was told, and the listener that apps have to themselves.
    async fn apply(&self, settings: &mut Settings) -> anyhow::Result<Option<TcpListener>> {
        if let Some(domain) = &self.domain {
            settings.apps =
                Some(Apps::below(domain, &settings.origins).context("understanding --apps-domain")?);
        }
        let (Some(address), Some(url)) = (self.listen, &self.url) else { return Ok(None) };
        settings.apps = Some(Apps::by_path(url, &settings.origins).context("understanding --apps-url")?);
        let listener = TcpListener::bind(address).await;
        listener
            .map(Some)
            .with_context(|| format!("serving apps on {address} (choose another with --apps-listen)"))
    }
}

/// Who else says who somebody is.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Signing in")]
pub(crate) struct IdentityArgs {
    /// File in YAML with the providers of logins: OIDC, OAuth2, LDAP, trusted proxies
    #[arg(long, value_name = "FILE")]
    providers: Option<PathBuf>,
    /// Addresses of proxies before the portal, such as 10.0.0.0/24, whose X-Forwarded-For is believed: limits, the audit log
    /// and sessions then know from where people come; may be repeated
    #[arg(long, value_name = "NETWORK")]
    trusted_proxy: Vec<Network>,
    /// Let everybody sign in as anybody, without a password; only if it listens on a loopback address
    #[arg(long)]
    development: bool,
}

impl IdentityArgs {
    /// Settings with what was told, for a portal that listens on `address`.
    fn apply(&self, settings: &mut Settings, address: SocketAddr) -> anyhow::Result<()> {
        anyhow::ensure!(
            !self.development || address.ip().is_loopback(),
            "--development lets everybody in: it needs --listen on a loopback address such as 127.0.0.1:8090, \
             and {address} is none"
        );
        settings.development = self.development;
        settings.trusted_proxies.clone_from(&self.trusted_proxy);
        if let Some(file) = &self.providers {
            settings.providers = Providers::load(file)?;
        }
        Ok(())
    }
}

/// SSH into workspaces.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "SSH")]
#[expect(clippy::struct_field_names, reason = "they are called as their options are")]
pub(crate) struct SshArgs {
    /// Serve SSH into workspaces here, such as 0.0.0.0:2222
    #[arg(long, value_name = "ADDRESS")]
    ssh_listen: Option<SocketAddr>,
    /// Where people find it, HOST or HOST:PORT; without it the host of --external-url and the port it listens on
    #[arg(long, value_name = "HOST[:PORT]", requires = "ssh_listen")]
    ssh_address: Option<String>,
    /// File with the private key of the SSH host, as ssh-keygen writes it; without it the records keep one
    #[arg(long, value_name = "FILE", requires = "ssh_listen")]
    ssh_host_key: Option<PathBuf>,
    /// File with the private key that signs SSH certificates; without it the records keep one
    #[arg(long, value_name = "FILE", requires = "ssh_listen")]
    ssh_authority_key: Option<PathBuf>,
    /// Folder with helpers for containers on other processors than the portal's, called maar-helper-arm64 and the like, as
    /// maar ssh-helper writes them; without it SFTP and remote ports work on nodes like the portal's only
    #[arg(long, value_name = "FOLDER", requires = "ssh_listen")]
    ssh_helpers: Option<PathBuf>,
    /// Let people forward their SSH agent into workspaces (ssh -A). Whoever is root in the container, and whoever administers
    /// the cluster, can use its keys meanwhile
    #[arg(long, requires = "ssh_listen")]
    ssh_agent_forwarding: bool,
    /// How long a connection by SSH lasts on which nothing is carried
    #[arg(long, value_name = "MINUTES", default_value_t = 480, value_parser = clap::value_parser!(u64).range(1..=10_080), requires = "ssh_listen")]
    ssh_idle: u64,
    /// How long a connection by SSH lasts at all
    #[arg(long, value_name = "HOURS", default_value_t = 168, value_parser = clap::value_parser!(u64).range(1..=720), requires = "ssh_listen")]
    ssh_longest: u64,
}

impl SshArgs {
    /// The role, with SSH if it is asked for.
    async fn serve(&self, role: Role, portal: &Arc<Portal>, origin: &str) -> anyhow::Result<Role> {
        let Some(listen) = self.ssh_listen else { return Ok(role) };
        let listener = TcpListener::bind(listen)
            .await
            .with_context(|| format!("serving SSH on {listen} (choose another with --ssh-listen)"))?;
        let found = found_at(self.ssh_address.as_deref(), origin, listener.local_addr()?)?;
        let read = |file: &PathBuf| {
            std::fs::read_to_string(file).with_context(|| format!("reading the key in {}", file.display()))
        };
        let keys = SshKeys {
            host: self.ssh_host_key.as_ref().map(read).transpose()?,
            authority: self.ssh_authority_key.as_ref().map(read).transpose()?,
        };
        let mut settings = SshSettings::at(found.0, found.1);
        if let Some(folder) = &self.ssh_helpers {
            settings.helpers = SshHelpers::with_folder(folder).context("understanding --ssh-helpers")?;
        }
        settings.agent_forwarding = self.ssh_agent_forwarding;
        settings.limits.idle = Duration::from_mins(self.ssh_idle);
        settings.limits.absolute = Duration::from_hours(self.ssh_longest);
        portal.prepare_ssh(settings, keys).await?;
        Ok(with_ssh(role, Arc::clone(portal), listener))
    }
}

/// Where people find SSH: as it is said, else at the host of the portal.
fn found_at(said: Option<&str>, origin: &str, address: SocketAddr) -> anyhow::Result<(String, u16)> {
    let authority = said.or_else(|| origin.split_once("://").map(|(_, rest)| rest)).unwrap_or_default();
    let wrong = || format!("{authority} is not HOST or HOST:PORT");
    let parsed: axum::http::uri::Authority = authority.parse().with_context(wrong)?;
    let host = parsed.host().trim_matches(['[', ']']).to_owned();
    anyhow::ensure!(!host.is_empty() && !authority.contains('@'), wrong());
    let port = if said.is_some() { parsed.port_u16() } else { None };
    Ok((host, port.unwrap_or(address.port())))
}

/// Where browsers find a portal that listens on `address`.
pub(crate) fn origins(external: Option<&str>, address: SocketAddr) -> anyhow::Result<Vec<String>> {
    let Some(external) = external else {
        let port = address.port();
        let hosts = [format!("http://{address}"), format!("http://localhost:{port}")];
        return Ok(hosts.to_vec());
    };
    let origin = external.trim_end_matches('/');
    let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    let whole = host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@']));
    anyhow::ensure!(whole, "{external} is not a URL such as https://gpu.example, without a path");
    Ok(vec![origin.to_lowercase()])
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let log_level = arguments.runtime.log.install()?;
    let reached = config(arguments.kubeconfig.as_deref()).await?;
    let clients = Clients::try_from(reached.clone())?;
    let client = clients.client.clone();
    let listener = TcpListener::bind(arguments.listen).await.with_context(|| {
        format!("serving the portal on {} (choose another with --listen)", arguments.listen)
    })?;
    let address = listener.local_addr()?;
    let mut settings = Settings::at(origins(arguments.external_url.as_deref(), address)?);
    settings.hide_names = arguments.hide_names;
    let days = |days: u32| SignedDuration::from_hours(24 * i64::from(days));
    settings.keep = Keep { audit: arguments.audit_days.map(days), ended: days(arguments.session_days) };
    settings.cards = arguments.cards.shown()?;
    settings.card_resources.clone_from(&arguments.card_resource);
    settings.pod_kinds = arguments.namespaces.kinds();
    for name in &arguments.card_metric {
        settings.card_metrics.set(name)?;
    }
    arguments.grants.apply(&mut settings)?;
    arguments.identity.apply(&mut settings, address)?;
    arguments.issuer.apply(&mut settings, &arguments.records)?;
    arguments.kubeconfigs.apply(&mut settings, &reached)?;
    let apps = arguments.apps.apply(&mut settings).await?;
    let environment = Environment::real();
    let records = Records::open(&arguments.records).await.context("opening the records")?;
    let entropy = Entropy::system();
    let clock = Arc::clone(&environment.clock);
    if let FirstAdmin::Made { name, password } =
        arguments.first.make(&records, settings.password_cost, &entropy, &clock).await?
    {
        print(&format!("first login: {name} with the password {password} (shown this once)\n"));
    }
    let origin = settings.origins.first().cloned().unwrap_or_default();
    let portal = Portal::new(settings, clients, records, clock, entropy)?;
    let role = maar_portal::role(Arc::clone(&portal), listener);
    let role = arguments.ssh.serve(role, &portal, &origin).await?;
    let stop = CancellationToken::new();
    signal::shutdown_on_signal(stop.clone())?;
    let process = Process {
        client,
        // Every portal serves; none leads.
        config: RoleConfig { election: None, ..arguments.runtime.role_config(&environment.dice) },
        environment,
        metrics_address: Some(arguments.runtime.metrics_address),
        health_address: Some(arguments.runtime.health_address),
        log_level: Some(log_level),
    };
    let role = match apps {
        Some(apps) => maar_portal::with_apps(role, portal, apps),
        None => role,
    };
    process.run(vec![role], stop).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_let_in_on_this_machine_alone() {
        let arguments = IdentityArgs { development: true, ..IdentityArgs::default() };
        let apply = |address: &str| {
            let mut settings = Settings::at(Vec::new());
            arguments.apply(&mut settings, address.parse().unwrap()).map(|()| settings.development)
        };
        assert!(apply("127.0.0.1:8090").unwrap() && apply("[::1]:8090").unwrap());
        for open in ["0.0.0.0:8090", "[::]:8090", "192.168.1.7:8090"] {
            assert!(apply(open).unwrap_err().to_string().contains("loopback"), "{open}");
        }
    }

    #[test]
    fn ssh_is_found_at_the_host_of_the_portal_unless_something_else_is_said() {
        let at = |said, origin| found_at(said, origin, "0.0.0.0:2222".parse().unwrap()).ok();
        let found = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(at(None, "https://gpu.example"), found("gpu.example", 2222));
        assert_eq!(at(None, "http://127.0.0.1:8090"), found("127.0.0.1", 2222), "the port is that of SSH");
        assert_eq!(at(Some("ssh.example"), "https://gpu.example"), found("ssh.example", 2222));
        assert_eq!(at(Some("ssh.example:22"), "https://gpu.example"), found("ssh.example", 22));
        assert_eq!(at(Some("[::1]:22"), "https://gpu.example"), found("::1", 22));
        for wrong in ["a b", "x@y", "http://x"] {
            assert_eq!(at(Some(wrong), "https://gpu.example"), None, "{wrong}");
        }
    }

    #[test]
    fn a_portal_knows_where_it_is_found() {
        let address = "127.0.0.1:8090".parse().unwrap();
        assert_eq!(origins(None, address).unwrap(), ["http://127.0.0.1:8090", "http://localhost:8090"]);
        assert_eq!(origins(Some("https://GPU.example/"), address).unwrap(), ["https://gpu.example"]);
        for wrong in ["gpu.example", "https://", "https://a/b", "ftp://a", "https://a@b"] {
            assert!(origins(Some(wrong), address).is_err(), "{wrong}");
        }
    }
}
