//! A whole Maar in one process, without a socket between browser and portal.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::Router;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use maar_api::v1alpha1::Account;
use maar_controller::{
    Environment, RoleConfig,
    clock::{SharedClock, SystemClock},
    process::Process,
};
use maar_embedded::{Clock, Cluster, Config, UserInfo};
use maar_jobs::JobsMetrics;
use maar_nodes::{KubeletDirectory, LocalOptions, Options, Profile, find_sandbox, run_local, simulate};
use maar_portal::{
    Apps, Clients, Entropy, FirstAdmin, PasswordCost, Portal, Settings, SshKeys, SshSettings, first_admin,
    role, router, with_apps, with_ssh,
};
use maar_records::Records;
use maar_scheduler::{
    adapter::{self, Access},
    metrics::SchedulerMetrics,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{absent::absent, browser::Browser};

const PROFILE: &str = r#"
name: test
startDelay: 10ms
pools:
  - name: gpu
    count: 2
    cpu: "64"
    memory: 256Gi
    cards: { resource: nvidia.com/gpu, count: 8, vendor: nvidia, model: A, memory: 80Gi }
"#;
/// So that each world with a local node has a folder of its own.
static WORLDS: AtomicUsize = AtomicUsize::new(0);
pub(crate) const ORIGIN: &str = "http://portal.test";
pub(crate) const FIRST: &str = "the first password";
pub(crate) const PASSWORD: &str = "correct horse battery";

pub(crate) struct World {
    pub(crate) client: Client,
    /// The portal's own.
    pub(crate) own: Client,
    pub(crate) records: Records,
    settings: Settings,
    pub(crate) router: Router,
    /// Where the same is served by a socket.
    pub(crate) address: SocketAddr,
    /// The port of SSH.
    pub(crate) ssh: u16,
    /// Where apps are served that are found by paths.
    pub(crate) apps: SocketAddr,
    /// The portal's.
    pub(crate) clock: Arc<Moved>,
    admin: tokio::sync::OnceCell<Browser>,
    stops: Stops,
    held: Held,
}

/// Requests of the portal to the cluster that are held up, and whether it can change anything there.
#[derive(Clone, Default)]
struct Stops {
    held: Arc<Mutex<Vec<Stop>>>,
    frozen: Arc<AtomicBool>,
}

/// One that is held up, by its method and the end of its path, until it may go on.
#[derive(Clone)]
pub(crate) struct Stop {
    method: &'static str,
    end: &'static str,
    reached: Arc<Semaphore>,
    go_on: Arc<Semaphore>,
}

impl Stop {
    /// Waits until the request is made.
    pub(crate) async fn reached(&self) {
        self.reached.acquire().await.unwrap().forget();
    }

    /// Lets it go on.
    pub(crate) fn go_on(&self) {
        self.go_on.add_permits(1);
    }
}

/// The same client, which holds up what it is told to.
fn stopping(client: Client, stops: &Stops) -> Client {
    let (namespace, stops) = (client.default_namespace().to_owned(), stops.clone());
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let meant = |stop: &Stop| request.method() == stop.method && request.uri().path().ends_with(stop.end);
        let mut all = stops.held.lock().unwrap();
        let stop = all.iter().position(meant).map(|at| all.remove(at));
        drop(all);
        let client = client.clone();
        let refused = stops.frozen.load(Ordering::SeqCst) && request.method() != http::Method::GET;
        async move {
            if refused {
                let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                    "reason": "ServiceUnavailable", "message": "frozen", "code": 503 });
                let body = kube::client::Body::from(status.to_string().into_bytes());
                return Ok(http::Response::builder().status(503).body(body).unwrap());
            }
            if let Some(stop) = stop {
                stop.reached.add_permits(1);
                stop.go_on.acquire().await.unwrap().forget();
            }
            client.send(request).await
        }
    });
    Client::new(service, namespace)
}

/// The machine's clock, moved on by so many seconds.
#[derive(Debug, Default)]
pub(crate) struct Moved(AtomicI64);

impl Moved {
    pub(crate) fn by(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl maar_controller::clock::Clock for Moved {
    fn now(&self) -> jiff::Timestamp {
        clock_now() + jiff::SignedDuration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

/// What ends with the world.
struct Held {
    /// Nodes of a cluster that outlives them.
    nodes: Option<maar_nodes::Handle>,
    cluster: Option<Cluster>,
    stop: CancellationToken,
    _stop: DropGuard,
    _folder: Option<Folder>,
}

impl Held {
    fn until(
        stop: CancellationToken,
        nodes: Option<maar_nodes::Handle>,
        cluster: Option<Cluster>,
        folder: Option<Folder>,
    ) -> Self {
        Self { nodes, cluster, _stop: stop.clone().drop_guard(), stop, _folder: folder }
    }
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::start(change, None).await
    }

    /// With a node besides that runs programs on this machine; nothing where there can be none.
    pub(crate) async fn local() -> Option<Self> {
        Self::local_with(|settings| settings.look_again = Duration::from_millis(300)).await
    }

    pub(crate) async fn local_with(change: impl FnOnce(&mut Settings)) -> Option<Self> {
        let Ok(sandbox) = find_sandbox().await else {
            absent("bubblewrap");
            return None;
        };
        Some(Self::start(change, Some(sandbox)).await)
    }

    async fn start(change: impl FnOnce(&mut Settings), sandbox: Option<maar_nodes::Sandbox>) -> Self {
        let cluster = Cluster::start(Config::wall()).await.unwrap();
        let client = cluster.client();
        maar_jobs::install(&client).await.unwrap();
        // The portal has the rights that its manifest gives it, and no others.
        grant(&client).await;
        let stops = Stops::default();
        let own = Clients::from(stopping(cluster.client_as(portal_user()), &stops));
        let stop = CancellationToken::new();
        let clock = Clock::wall();
        let clock = maar_nodes::Clock::new(move || clock.now());
        let options = Options::in_process("test", clock.clone(), 1);
        let profile = Profile::parse(PROFILE).unwrap();
        let nodes = simulate(client.clone(), profile, options, stop.clone()).await.unwrap();
        let kubelets = KubeletDirectory::default();
        kubelets.add(nodes.dialer());
        let mut folder = None;
        if let Some(sandbox) = sandbox {
            let number = WORLDS.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("maar-portal-{}-{number}", std::process::id()));
            let options = LocalOptions {
                name: "local".into(),
                set: "local".into(),
                clock,
                state: path.join("state"),
                volume_roots: Vec::new(),
                address: Ipv4Addr::LOCALHOST.into(),
                api_server: None,
                tainted: false,
            };
            let node = run_local(client.clone(), sandbox, options, stop.clone()).await.unwrap();
            kubelets.add(node.dialer());
            folder = Some(Folder(path));
        }
        cluster.set_kubelets(Arc::new(kubelets));
        let held = Held::until(stop.clone(), None, Some(cluster), folder);
        Self { stops, ..Self::serve((client, own), change, stop, held).await }
    }

    /// Holds up the next such request of the portal to the cluster.
    pub(crate) fn stops_at(&self, method: &'static str, end: &'static str) -> Stop {
        let [reached, go_on] = [(); 2].map(|()| Arc::new(Semaphore::new(0)));
        let stop = Stop { method, end, reached, go_on };
        self.stops.held.lock().unwrap().push(stop.clone());
        stop
    }

    /// From now on the cluster takes no change from the portal: what may be done is tried, and nothing comes of it.
    pub(crate) fn freeze(&self) {
        self.stops.frozen.store(true, Ordering::SeqCst);
    }

    /// On the first cluster that `make real` offers, with simulated nodes that its API server reaches over TLS. The portal
    /// shows a token of its own ServiceAccount.
    pub(crate) async fn real(change: impl FnOnce(&mut Settings)) -> Self {
        let config = real_config().await;
        let client = Client::try_from(config.clone()).unwrap();
        maar_jobs::install(&client).await.unwrap();
        grant(&client).await;
        let mut own = config.clone();
        own.auth_info = serde_json::from_value(json!({ "token": token(&client).await })).unwrap();
        let own = Clients::try_from(own).unwrap();
        let stop = CancellationToken::new();
        let clock = Clock::wall();
        let clock = maar_nodes::Clock::new(move || clock.now());
        let set = format!("portal-{}", std::process::id());
        let listen = maar_nodes::Listen::beside(&config);
        let options = Options { listen, ..Options::in_process(set.clone(), clock, 1) };
        let profile = Profile::parse(&PROFILE.replace("name: gpu", &format!("name: {set}"))).unwrap();
        let nodes = simulate(client.clone(), profile, options, stop.clone()).await.unwrap();
        let held = Held::until(stop.clone(), Some(nodes), None, None);
        Self::serve((client, own), change, stop, held).await
    }

    /// The portal and what else works in the cluster; the portal with its own client.
    async fn serve(
        (client, own): (Client, Clients),
        change: impl FnOnce(&mut Settings),
        stop: CancellationToken,
        held: Held,
    ) -> Self {
        let records = Records::open("sqlite::memory:").await.unwrap();
        let mut settings = Settings::at(vec![ORIGIN.to_owned()]);
        settings.password_cost = PasswordCost::CHEAP;
        change(&mut settings);
        let entropy = Entropy::system();
        let made =
            first_admin(&records, Some(FIRST.to_owned()), PasswordCost::CHEAP, &entropy, clock_now()).await;
        assert!(matches!(made.unwrap(), FirstAdmin::Made { name: "admin", .. }));
        let clock = Arc::new(Moved::default());
        let by_path = matches!(settings.apps, Some(Apps::Path { .. }));
        let shared = Arc::clone(&clock) as SharedClock;
        let portal = Portal::new(settings.clone(), own.clone(), records.clone(), shared, entropy).unwrap();
        let own = own.client;
        let (address, ssh, apps) = run((&client, &own), &portal, by_path, &stop).await;
        tokio::time::timeout(Duration::from_secs(20), portal.ready()).await.unwrap();
        let router = router(&portal);
        let (admin, stops) = (tokio::sync::OnceCell::new(), Stops::default());
        Self { client, own, records, settings, router, address, ssh, apps, clock, admin, stops, held }
    }

    /// Another portal for the same cluster with the same records, as there are several where many people are.
    pub(crate) async fn another_portal(&self) -> Router {
        let (clients, clock) = (Clients::from(self.own.clone()), Arc::clone(&self.clock) as SharedClock);
        let portal =
            Portal::new(self.settings.clone(), clients, self.records.clone(), clock, Entropy::system())
                .unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let served = role(Arc::clone(&portal), listener);
        tokio::spawn(process(&self.own, Environment::real()).run(vec![served], self.held.stop.clone()));
        tokio::time::timeout(Duration::from_secs(20), portal.ready()).await.unwrap();
        router(&portal)
    }

    /// The embedded cluster.
    pub(crate) fn cluster(&self) -> &Cluster {
        self.held.cluster.as_ref().expect("this world is no real one")
    }

    /// Takes its nodes out of a real cluster, so that nothing is placed on them later.
    pub(crate) async fn leaves(self) {
        if let Some(nodes) = &self.held.nodes {
            nodes.remove_nodes(&nodes.nodes()).await.unwrap();
        }
    }

    /// A browser in which nobody is signed in.
    pub(crate) fn browser(&self) -> Browser {
        Browser::new(self.router.clone())
    }

    /// The first administrator, after his password was changed. One session for all: logins are counted.
    pub(crate) async fn admin(&self) -> Browser {
        let sign_in = async || {
            let browser = self.browser();
            assert_eq!(browser.login("admin", FIRST).await.0, 200);
            browser.changes_password(FIRST, PASSWORD).await;
            browser
        };
        self.admin.get_or_init(sign_in).await.stolen()
    }

    /// A new user, signed in.
    pub(crate) async fn user(&self, name: &str) -> Browser {
        let admin = self.admin().await;
        let (status, made) = admin.post("/users", json!({ "name": name })).await;
        assert_eq!(status, 201, "{made}");
        let first = made["password"].as_str().unwrap();
        let browser = self.browser();
        assert_eq!(browser.login(name, first).await.0, 200);
        browser.changes_password(first, PASSWORD).await;
        browser
    }

    /// An account with members, as soon as the portal knows of it.
    pub(crate) async fn account(&self, name: &str, members: &[(&str, &str)], sees: &Browser) {
        let members: Vec<Value> =
            members.iter().map(|(user, role)| json!({ "user": user, "role": role })).collect();
        let account: Account =
            serde_json::from_value(json!({ "metadata": { "name": name }, "spec": { "members": members } }))
                .unwrap();
        Api::all(self.client.clone()).create(&PostParams::default(), &account).await.unwrap();
        eventually("the account", async || sees.get(&format!("/accounts/{name}")).await.0 == 200).await;
    }
}

pub(crate) fn clock_now() -> jiff::Timestamp {
    use maar_controller::clock::Clock as _;
    SystemClock.now()
}

fn portal_user() -> UserInfo {
    let groups = ["system:serviceaccounts", "system:serviceaccounts:maar-system", "system:authenticated"];
    UserInfo {
        username: "system:serviceaccount:maar-system:maar-portal".to_owned(),
        groups: groups.map(str::to_owned).to_vec(),
        ..UserInfo::default()
    }
}

/// Applies what deploy/rbac/portal.yaml says, and the namespace that it is for.
async fn grant(client: &Client) {
    let manifest = concat!(
        include_str!("../../../../deploy/rbac/portal.yaml"),
        "\n---\n",
        include_str!("../../../../deploy/rbac/user.yaml")
    );
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: { name: maar-system }";
    for document in std::iter::once(namespace).chain(manifest.split("\n---\n")) {
        let object: DynamicObject = serde_saphyr::from_str(document).unwrap();
        let kind = GroupVersionKind::try_from(object.types.clone().unwrap()).unwrap();
        let resource = ApiResource::from_gvk(&kind);
        let api: Api<DynamicObject> = match &object.metadata.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        let params = PatchParams::apply("test").force();
        api.patch(object.metadata.name.as_deref().unwrap(), &params, &Patch::Apply(&object)).await.unwrap();
    }
}

/// The first cluster that `make real` offers.
#[expect(clippy::disallowed_methods, reason = "tests learn of real clusters by the environment")]
async fn real_config() -> kube::Config {
    let files = std::env::var("MAAR_REAL_KUBECONFIG").expect("make real names the cluster in it");
    let kubeconfig = Kubeconfig::read_from(files.split(':').next().unwrap_or_default()).unwrap();
    kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap()
}

/// A token of the portal's ServiceAccount.
async fn token(client: &Client) -> String {
    let path = "/api/v1/namespaces/maar-system/serviceaccounts/maar-portal/token";
    let body = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
    let request = http::Request::post(path).header("content-type", "application/json");
    let request = request.body(body.to_string().into_bytes()).unwrap();
    let made: Value = client.request(request).await.unwrap();
    made["status"]["token"].as_str().unwrap().to_owned()
}

fn process(client: &Client, environment: Environment) -> Process {
    Process {
        client: client.clone(),
        environment,
        metrics_address: None,
        health_address: None,
        log_level: None,
        config: RoleConfig { identity: "test".to_owned(), election: None, drain: Duration::from_secs(1) },
    }
}

async fn run(
    (client, own): (&Client, &Client),
    portal: &Arc<Portal>,
    by_path: bool,
    stop: &CancellationToken,
) -> (SocketAddr, u16, SocketAddr) {
    let environment = Environment::real();
    let jobs = maar_jobs::role(
        &maar_jobs::Settings::new(maar_jobs::Entropy::system()),
        &JobsMetrics::register(&environment.metrics),
    );
    let metrics = SchedulerMetrics::register(&environment.metrics);
    let (scheduler, _) = adapter::role(adapter::Settings::default(), metrics, Access::Anybody);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(process(client, environment).run(vec![jobs, scheduler], stop.clone()));
    let ssh_listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let ssh = ssh_listener.local_addr().unwrap().port();
    portal.prepare_ssh(SshSettings::at("127.0.0.1", ssh), SshKeys::default()).await.unwrap();
    let served = role(Arc::clone(portal), listener);
    let served = with_ssh(served, Arc::clone(portal), ssh_listener);
    let apps_listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let apps = apps_listener.local_addr().unwrap();
    let served = if by_path { with_apps(served, Arc::clone(portal), apps_listener) } else { served };
    tokio::spawn(process(own, Environment::real()).run(vec![served], stop.clone()));
    (address, ssh, apps)
}

/// Looks until it is so, for a while.
pub(crate) async fn eventually(what: &str, so: impl AsyncFn() -> bool) {
    for _ in 0..1600 {
        if so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("waited in vain for {what}");
}
