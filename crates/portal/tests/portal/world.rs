//! A whole Maar in one process, without a socket between browser and portal.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use axum::Router;
use k8s_openapi::api::{
    core::v1::Namespace,
    rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
};
use kube::{Api, Client, api::PostParams};
use maar_api::v1alpha1::Account;
use maar_controller::{Environment, RoleConfig, clock::SystemClock, process::Process};
use maar_embedded::{Clock, Cluster, Config, UserInfo};
use maar_jobs::JobsMetrics;
use maar_nodes::{KubeletDirectory, LocalOptions, Options, Profile, find_sandbox, run_local, simulate};
use maar_portal::{Entropy, FirstAdmin, PasswordCost, Portal, Settings, first_admin, role, router};
use maar_records::Records;
use maar_scheduler::{
    adapter::{self, Access},
    metrics::SchedulerMetrics,
};
use serde_json::{Value, json};
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
pub(crate) const ORIGIN: &str = "http://portal.test";
const SYSTEM: &str = "maar-system";
pub(crate) const FIRST: &str = "the first password";
pub(crate) const PASSWORD: &str = "correct horse battery";

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) records: Records,
    pub(crate) router: Router,
    /// Where the same is served by a socket.
    pub(crate) address: SocketAddr,
    admin: tokio::sync::OnceCell<Browser>,
    pub(crate) cluster: Cluster,
    _stop: DropGuard,
    _folder: Option<Folder>,
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
        let Ok(sandbox) = find_sandbox().await else {
            absent("bubblewrap");
            return None;
        };
        Some(Self::start(|_| {}, Some(sandbox)).await)
    }

    async fn start(change: impl FnOnce(&mut Settings), sandbox: Option<maar_nodes::Sandbox>) -> Self {
        let cluster = Cluster::start(Config::wall()).await.unwrap();
        let client = cluster.client();
        maar_jobs::install(&client).await.unwrap();
        // The portal has the rights that its manifest gives it, and no others.
        grant(&client).await;
        let own = cluster.client_as(portal_user());
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
            let path = std::env::temp_dir().join(format!("maar-portal-{}", std::process::id()));
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
        let records = Records::open("sqlite::memory:").await.unwrap();
        let mut settings = Settings::at(vec![ORIGIN.to_owned()]);
        settings.password_cost = PasswordCost::CHEAP;
        change(&mut settings);
        let entropy = Entropy::system();
        let made =
            first_admin(&records, Some(FIRST.to_owned()), PasswordCost::CHEAP, &entropy, clock_now()).await;
        assert!(matches!(made.unwrap(), FirstAdmin::Made { name: "admin", .. }));
        let portal =
            Portal::new(settings, own.clone(), records.clone(), Arc::new(SystemClock), entropy).unwrap();
        let address = run((&client, &own), &portal, &stop).await;
        tokio::time::timeout(Duration::from_secs(20), portal.ready()).await.unwrap();
        let router = router(&portal);
        Self {
            client,
            records,
            router,
            address,
            admin: tokio::sync::OnceCell::new(),
            cluster,
            _stop: stop.drop_guard(),
            _folder: folder,
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

/// Applies what deploy/rbac/portal.yaml says.
async fn grant(client: &Client) {
    let system: Namespace = serde_json::from_value(json!({ "metadata": { "name": SYSTEM } })).unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &system).await.unwrap();
    let manifest = concat!(
        include_str!("../../../../deploy/rbac/portal.yaml"),
        "\n---\n",
        include_str!("../../../../deploy/rbac/user.yaml")
    );
    for document in manifest.split("\n---\n") {
        let object: Value = serde_saphyr::from_str(document).unwrap();
        let params = PostParams::default();
        match object["kind"].as_str().unwrap() {
            "ClusterRole" => {
                let role: ClusterRole = serde_json::from_value(object).unwrap();
                drop(Api::all(client.clone()).create(&params, &role).await.unwrap());
            }
            "ClusterRoleBinding" => {
                let binding: ClusterRoleBinding = serde_json::from_value(object).unwrap();
                drop(Api::all(client.clone()).create(&params, &binding).await.unwrap());
            }
            "Role" => {
                let role: Role = serde_json::from_value(object).unwrap();
                drop(Api::namespaced(client.clone(), SYSTEM).create(&params, &role).await.unwrap());
            }
            "RoleBinding" => {
                let binding: RoleBinding = serde_json::from_value(object).unwrap();
                drop(Api::namespaced(client.clone(), SYSTEM).create(&params, &binding).await.unwrap());
            }
            kind => assert_eq!(kind, "ServiceAccount"),
        }
    }
}

async fn run(
    (client, own): (&Client, &Client),
    portal: &Arc<Portal>,
    stop: &CancellationToken,
) -> SocketAddr {
    let environment = Environment::real();
    let jobs = maar_jobs::role(
        &maar_jobs::Settings::new(maar_jobs::Entropy::system()),
        &JobsMetrics::register(&environment.metrics),
    );
    let metrics = SchedulerMetrics::register(&environment.metrics);
    let (scheduler, _) = adapter::role(adapter::Settings::default(), metrics, Access::Anybody);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let config = || RoleConfig { identity: "test".to_owned(), election: None, drain: Duration::from_secs(1) };
    let process = |client: &Client, environment: Environment| Process {
        client: client.clone(),
        environment,
        metrics_address: None,
        health_address: None,
        log_level: None,
        config: config(),
    };
    tokio::spawn(process(client, environment).run(vec![jobs, scheduler], stop.clone()));
    let served = vec![role(Arc::clone(portal), listener)];
    tokio::spawn(process(own, Environment::real()).run(served, stop.clone()));
    address
}

/// Looks until it is so, for a while.
pub(crate) async fn eventually(what: &str, so: impl AsyncFn() -> bool) {
    for _ in 0..400 {
        if so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("waited in vain for {what}");
}
