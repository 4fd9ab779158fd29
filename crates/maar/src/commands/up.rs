//! `maar up`: a whole cluster in this process.

mod hold;
mod kubeconfig;
mod page;
mod portal;
mod ports;
mod roles;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use kube::Client;
use maar_controller::{backoff::Dice, config::LogArgs, signal::shutdown_on_signal};
use maar_embedded::{Cluster, Config, Listener};
use maar_nodes::{
    DEFAULT_PROFILE, Handle, KubeletDirectory, Listen, LocalHandle, LocalOptions, Options, Profile,
    find_sandbox, run_local, simulate,
};
use tokio_util::sync::CancellationToken;

use hold::Hold;
use ports::Ports;

use super::{portal::FirstArgs, ways};

/// What `maar up` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Keep the cluster's state in this folder; without it everything is gone when maar stops
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,

    /// How many simulated nodes, shared out over the pools of the profile
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    nodes: Option<u32>,

    /// Describe the simulated nodes in this file instead of the built-in profile
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,

    /// Name of this set of simulated nodes: one process at a time runs it, and leaves the nodes of other sets alone
    #[arg(long, value_name = "NAME", default_value = "up", value_parser = set_name)]
    node_set: String,

    /// Port of the embedded Kubernetes API on 127.0.0.1; the status page takes the next one and the portal the one
    /// after. 0 chooses free ports
    #[arg(long, default_value_t = 6443, value_parser = clap::value_parser!(u16).range(0..=65533))]
    port: u16,

    /// Use the cluster of this kubeconfig instead of the embedded one: the simulated nodes join it, and Maar's kinds
    /// and roles work there, unless others of their kind already do
    #[arg(long, value_name = "FILE", conflicts_with = "data_dir")]
    kubeconfig: Option<PathBuf>,

    /// Where the kubeconfig of the embedded cluster is written
    #[arg(long, value_name = "FILE", default_value = ".maar/kubeconfig", conflicts_with = "kubeconfig")]
    write_kubeconfig: PathBuf,

    /// Port of SSH into workspaces on 127.0.0.1; without it 2222, or a free one where that is taken or --port is 0
    #[arg(long, value_name = "PORT")]
    ssh_port: Option<u16>,

    /// Let people forward their SSH agent into workspaces (ssh -A). Whoever is root in the container can use its keys
    /// meanwhile
    #[arg(long)]
    ssh_agent_forwarding: bool,

    #[command(flatten)]
    first: FirstArgs,

    #[command(flatten, next_help_heading = "Logs")]
    log: LogArgs,
}

impl Arguments {
    fn page_port(&self) -> u16 {
        if self.port == 0 { 0 } else { self.port + 1 }
    }

    fn portal_port(&self) -> u16 {
        if self.port == 0 { 0 } else { self.port + 2 }
    }
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    arguments.log.install()?;
    let profile = read_profile(&arguments)?;
    let stop = CancellationToken::new();
    match &arguments.kubeconfig {
        Some(file) => join(file, &arguments, &profile, &stop).await,
        None => serve(&arguments, &profile, &stop).await,
    }
}

fn read_profile(arguments: &Arguments) -> anyhow::Result<Profile> {
    let (text, name) = match &arguments.profile {
        None => (DEFAULT_PROFILE.to_owned(), "the built-in profile".to_owned()),
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("reading the profile {}", file.display()))?;
            (text, file.display().to_string())
        }
    };
    let profile = Profile::parse(&text).with_context(|| format!("understanding {name}"))?;
    Ok(match arguments.nodes {
        Some(count) => profile.with_total(count),
        None => profile,
    })
}

/// Runs the embedded cluster until Ctrl-C.
async fn serve(arguments: &Arguments, profile: &Profile, stop: &CancellationToken) -> anyhow::Result<()> {
    let config = Config { data_folder: arguments.data_dir.clone(), ..Config::wall() };
    let cluster = Cluster::start(config).await?;
    let listener =
        cluster.listen(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), arguments.port)).await.with_context(
            || format!("serving the Kubernetes API on port {} (choose another with --port)", arguments.port),
        )?;
    let ports = Ports::bind(arguments).await?;
    let kubelets = KubeletDirectory::default();
    cluster.set_kubelets(Arc::new(kubelets.clone()));
    let client = cluster.client();
    // One process at a time has the cluster's state, so its name is its own: a new one need not wait for the old leases.
    let identity = "maar-up".to_owned();
    let hold = Hold::take(&client, &arguments.node_set, &identity, stop).await?;
    let local = local_options(arguments, &listener);
    let nodes = start_nodes(&client, profile, node_options(arguments), Some(local), &kubelets, stop).await?;
    let reached = (listener.url(), Some(cluster.root_ca()?));
    let portal = portal::prepare(&client, arguments, reached, ports.portal, ports.ssh).await?;
    let (roles, pages) = roles::start(&client, identity, portal.role, stop).await?;
    let page = page::serve(client, pages, ports.page, stop.clone())?;
    // Last, so that a start that fails leaves no kubeconfig of a cluster that is not there.
    let kubeconfig = kubeconfig::with_explanations(&cluster.kubeconfig(&listener)?, page)?;
    write_private(&arguments.write_kubeconfig, &kubeconfig)?;
    // Before anybody reads that we are up: who is told how to stop us may do so at once.
    shutdown_on_signal(stop.clone())?;
    let first = portal.first.make(&arguments.first).await?;
    announce(&listener, page, &arguments.write_kubeconfig, arguments.data_dir.as_deref(), &nodes);
    portal.address.announce(&first);
    say("Ctrl-C stops everything.");
    stop.cancelled().await;
    let roles = roles.await?;
    nodes.stopped().await;
    hold.give_back().await?;
    listener.stop().await;
    cluster.stop().await;
    say("stopped");
    roles
}

/// Lets the simulated nodes join another cluster, and the roles work there, until Ctrl-C.
async fn join(
    file: &Path,
    arguments: &Arguments,
    profile: &Profile,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let read = kube::config::Kubeconfig::read_from(file)
        .with_context(|| format!("reading the kubeconfig {}", file.display()))?;
    let mut config =
        kube::Config::from_custom_kubeconfig(read, &kube::config::KubeConfigOptions::default()).await?;
    // The scheduler wants to know when a bind had no answer.
    config.default_retry = false;
    let address = config.cluster_url.clone();
    let reached = (address.to_string().trim_end_matches('/').to_owned(), ways::authority(&config));
    let listen = Listen::beside(&config);
    let client = Client::try_from(config)?;
    client.apiserver_version().await.with_context(|| format!("reaching the cluster at {address}"))?;
    let ports = Ports::bind(arguments).await?;
    let identity = format!("maar-up_{:016x}", Dice::from_entropy().number());
    let hold = Hold::take(&client, &arguments.node_set, &identity, stop).await?;
    let options = Options { listen, ..node_options(arguments) };
    let nodes = start_nodes(&client, profile, options, None, &KubeletDirectory::default(), stop).await?;
    let portal = portal::prepare(&client, arguments, reached, ports.portal, ports.ssh).await?;
    let (roles, pages) = roles::start(&client, identity, portal.role, stop).await?;
    let page = page::serve(client, pages, ports.page, stop.clone())?;
    shutdown_on_signal(stop.clone())?;
    let first = portal.first.make(&arguments.first).await?;
    say(&format!("{} simulated nodes joined {address}", profile.total()));
    say(&format!("  status page      http://{page}"));
    say("  scheduler        places Pods with schedulerName: maar-scheduler, unless another process leads");
    portal.address.announce(&first);
    say("Ctrl-C stops the nodes and the roles; the cluster stays.");
    stop.cancelled().await;
    let roles = roles.await?;
    nodes.stopped().await;
    hold.give_back().await?;
    say("stopped");
    roles
}

/// The kubelets of this process.
struct Nodes {
    simulated: Handle,
    /// The local node, or why there is none.
    local: Result<LocalHandle, String>,
    count: u32,
}

impl Nodes {
    async fn stopped(&self) {
        self.simulated.stopped().await;
        if let Ok(local) = &self.local {
            local.stopped().await;
        }
    }
}

async fn start_nodes(
    client: &Client,
    profile: &Profile,
    options: Options,
    local: Option<LocalOptions>,
    kubelets: &KubeletDirectory,
    stop: &CancellationToken,
) -> anyhow::Result<Nodes> {
    let simulated = simulate(client.clone(), profile.clone(), options, stop.clone()).await?;
    kubelets.add(simulated.dialer());
    let local = match (local, find_sandbox().await) {
        (None, _) => Err("only the embedded cluster has one".to_owned()),
        (Some(_), Err(reason)) => Err(reason.to_string()),
        (Some(options), Ok(sandbox)) => {
            let local = run_local(client.clone(), sandbox, options, stop.clone()).await?;
            kubelets.add(local.dialer());
            Ok(local)
        }
    };
    Ok(Nodes { simulated, local, count: profile.total() })
}

fn node_options(arguments: &Arguments) -> Options {
    Options::in_process(&arguments.node_set, wall_clock(), 1)
}

/// A name that can be a part of a Lease's.
fn set_name(text: &str) -> Result<String, String> {
    let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let bare = text.trim_matches('-');
    if bare == text && (1..=40).contains(&text.len()) && text.chars().all(fits) {
        return Ok(text.to_owned());
    }
    Err("a name has 1 to 40 small letters, digits and -, and begins and ends with a letter or digit"
        .to_owned())
}

/// The local node keeps its files beside the cluster's state, or beside the kubeconfig.
fn local_options(arguments: &Arguments, listener: &Listener) -> LocalOptions {
    let beside = arguments.write_kubeconfig.parent().map(Path::to_path_buf).unwrap_or_default();
    let state = arguments.data_dir.clone().unwrap_or(beside).join("local-node");
    LocalOptions {
        name: "local".to_owned(),
        set: "local".to_owned(),
        clock: wall_clock(),
        volume_roots: Vec::new(),
        state,
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        api_server: Some((listener.address.ip().to_string(), listener.address.port())),
        tainted: true,
    }
}

fn wall_clock() -> maar_nodes::Clock {
    let clock = maar_embedded::Clock::wall();
    maar_nodes::Clock::new(move || clock.now())
}

/// Writes a file that only its owner can read, whole or not at all.
fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let context = || format!("writing {}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(context)?;
    }
    let temporary = path.with_extension("new");
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)
        .with_context(context)?;
    file.write_all(text.as_bytes()).with_context(context)?;
    std::fs::rename(&temporary, path).with_context(context)
}

fn announce(listener: &Listener, page: SocketAddr, kubeconfig: &Path, data: Option<&Path>, nodes: &Nodes) {
    let file = kubeconfig.display();
    say("");
    say("Maar is up.");
    say(&format!("  Kubernetes API   {}", listener.url()));
    say(&format!("  status page      http://{page}"));
    say(&format!("  kubeconfig       {file}"));
    match data {
        Some(folder) => say(&format!("  state            {}", folder.display())),
        None => say("  state            in memory, gone when maar stops (keep it with --data-dir FOLDER)"),
    }
    say(&format!("  nodes            {} simulated", nodes.count));
    match &nodes.local {
        Ok(_) => say("  local node       runs containers as processes of this machine"),
        Err(reason) => say(&format!("  local node       not offered: {reason}")),
    }
    say("  scheduler        places Pods with schedulerName: maar-scheduler");
    say("");
    say("Try:");
    say(&format!("  kubectl --kubeconfig {file} get nodes,pods -A"));
    say(&format!("  kubectl --kubeconfig {file} create deployment hello --image=busybox --replicas=3"));
    say("  maar job submit --image busybox --gpus 1 -- sleep 60");
    say("");
}

fn say(line: &str) {
    use std::io::Write as _;
    // Nobody listening any more (`maar up | head`) is no reason to fall over.
    let _ = writeln!(std::io::stdout(), "{line}");
}
