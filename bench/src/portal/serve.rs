//! The process that is measured: an embedded cluster full of Pods, and the portal before it.

use std::{
    io::Write as _,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{Router, body::Bytes, extract::State, routing::get};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::{
    Api, Client,
    api::PostParams,
    core::{DynamicObject, GroupVersionKind},
    discovery::ApiResource,
};
use maar_controller::{
    Environment, RoleConfig,
    clock::{Clock as _, SystemClock},
    process::Process,
    telemetry::LogFormat,
};
use maar_embedded::{Clock, Cluster, Config};
use maar_jobs::JobsMetrics;
use maar_nodes::{Options, Profile, simulate};
use maar_portal::{CardSource, Entropy, PasswordCost, Portal, Settings, first_admin, role};
use maar_records::Records;
use maar_scheduler::{
    adapter::{self, Access},
    metrics::SchedulerMetrics,
};
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt as _, net::TcpListener, sync::RwLock};
use tokio_util::sync::CancellationToken;

/// The password of the first administrator.
pub(super) const FIRST: &str = "the first password";
const NODES: usize = 1000;
const CARDS: usize = 8;
/// Pods of each node: all cards are held, and some Pods hold none.
const PODS: usize = 10;
/// Users with a namespace each, and what each of them has. It is suspended, so that it shows in lists and adds no Pods.
const USERS: usize = 50;
const WORKSPACES: usize = 40;
const JOBS: usize = 20;
const PARALLEL: usize = 64;
const PROFILE: &str = r#"
name: bench
startDelay: 10ms
pools:
  - name: gpu
    count: 1000
    cpu: "128"
    memory: 1Ti
    cards: { resource: nvidia.com/gpu, count: 8, vendor: nvidia, model: A, memory: 80Gi }
  - name: spare
    count: 2
    cpu: "128"
    memory: 1Ti
"#;

/// Runs until standard input closes. Says where the portal is, and where bytes are that nothing stands behind.
pub(crate) fn serve() -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(async {
        let cluster = Cluster::start(Config::wall()).await?;
        let client = cluster.client();
        maar_jobs::install(&client).await?;
        let stop = CancellationToken::new();
        let clock = Clock::wall();
        let options = Options::in_process("bench", maar_nodes::Clock::new(move || clock.now()), 1);
        let nodes = simulate(client.clone(), Profile::parse(PROFILE)?, options, stop.clone()).await?;
        cluster.set_kubelets(nodes.dialer());
        // As in production: a line for every request. Where it goes is nowhere.
        maar_controller::telemetry::install(LogFormat::Json, "info")?;
        fill(&client).await?;
        work(&client).await?;
        let (listener, raw) = (bind().await?, bind().await?);
        let (portal, bytes) = (listener.local_addr()?, raw.local_addr()?);
        let served = start(&client, listener, &stop).await?;
        let store = Arc::new(RwLock::new(Bytes::new()));
        let router = Router::new().route("/", get(give).put(take)).with_state(store);
        tokio::spawn(async move { axum::serve(raw, router).await });
        served.ready().await;
        let ready = json!({ "portal": portal.to_string(), "bytes": bytes.to_string() });
        writeln!(std::io::stdout(), "{ready}")?;
        tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
        stop.cancel();
        drop(nodes);
        cluster.stop().await;
        Ok(())
    })
}

async fn bind() -> std::io::Result<TcpListener> {
    TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await
}

/// The raw limit: the same framework, the same bytes, and nothing else.
async fn give(State(bytes): State<Arc<RwLock<Bytes>>>) -> Bytes {
    bytes.read().await.clone()
}

async fn take(State(bytes): State<Arc<RwLock<Bytes>>>, body: Bytes) {
    *bytes.write().await = body;
}

async fn start(
    client: &Client,
    listener: TcpListener,
    stop: &CancellationToken,
) -> anyhow::Result<Arc<Portal>> {
    let mut settings = Settings::at(vec![format!("http://{}", listener.local_addr()?)]);
    settings.password_cost = PasswordCost::CHEAP;
    // What is measured is the portal, not the patience it has with one user.
    settings.requests_per_second = 1_000_000;
    settings.limits.workspaces = 1000;
    settings.cards = CardSource::Nodes;
    let records = Records::open("sqlite::memory:").await?;
    let entropy = Entropy::system();
    first_admin(&records, Some(FIRST.to_owned()), PasswordCost::CHEAP, &entropy, SystemClock.now()).await?;
    let portal = Portal::new(settings, client.clone(), records, Arc::new(SystemClock), entropy)?;
    let environment = Environment::real();
    let jobs = maar_jobs::role(
        &maar_jobs::Settings::new(maar_jobs::Entropy::system()),
        &JobsMetrics::register(&environment.metrics),
    );
    let metrics = SchedulerMetrics::register(&environment.metrics);
    let (scheduler, _) = adapter::role(adapter::Settings::default(), metrics, Access::Anybody);
    let process = Process {
        client: client.clone(),
        environment,
        metrics_address: None,
        health_address: None,
        log_level: None,
        config: RoleConfig { identity: "bench".to_owned(), election: None, drain: Duration::from_secs(1) },
    };
    let roles = vec![jobs, scheduler, role(Arc::clone(&portal), listener)];
    tokio::spawn(process.run(roles, stop.clone()));
    Ok(portal)
}

async fn fill(client: &Client) -> anyhow::Result<()> {
    let nodes: Api<DynamicObject> = Api::all_with(client.clone(), &kind("Node"));
    let names: Vec<String> = nodes
        .list(&kube::api::ListParams::default())
        .await?
        .items
        .into_iter()
        .filter_map(|node| node.metadata.name)
        .collect();
    let names: Vec<String> = names.into_iter().filter(|name| name.starts_with("gpu")).collect();
    anyhow::ensure!(names.len() == NODES, "{} nodes instead of {NODES}", names.len());
    let pods: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &kind("Pod"));
    let all = names.iter().flat_map(|node| (0..PODS).map(move |number| pod(node, number)));
    let made = stream::iter(all).map(|pod| {
        let pods = pods.clone();
        async move {
            let pod: DynamicObject = serde_json::from_value(pod)?;
            pods.create(&PostParams::default(), &pod).await?;
            anyhow::Ok(())
        }
    });
    made.buffer_unordered(PARALLEL).try_collect::<Vec<()>>().await?;
    Ok(())
}

/// Workspaces and jobs of many people, for lists.
async fn work(client: &Client) -> anyhow::Result<()> {
    let namespaces: Api<DynamicObject> = Api::all_with(client.clone(), &kind("Namespace"));
    for user in 0..USERS {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": format!("user-{user}") } });
        namespaces.create(&PostParams::default(), &serde_json::from_value(namespace)?).await?;
    }
    let owned = |count: usize| (0..USERS).flat_map(move |user| (0..count).map(move |number| (user, number)));
    let made = owned(WORKSPACES).map(|(user, number)| workspace(user, number));
    let made = made.chain(owned(JOBS).map(|(user, number)| job(user, number)));
    let create = |object: Value| async move {
        let object: DynamicObject = serde_json::from_value(object)?;
        let resource =
            ApiResource::from_gvk(&GroupVersionKind::try_from(object.types.clone().unwrap_or_default())?);
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &resource);
        api.create(&PostParams::default(), &object).await?;
        anyhow::Ok(())
    };
    stream::iter(made).map(create).buffer_unordered(PARALLEL).try_collect::<Vec<()>>().await?;
    Ok(())
}

fn workspace(user: usize, number: usize) -> Value {
    let name = format!("desk-{number}");
    json!({
        "apiVersion": "maar.io/v1alpha1", "kind": "Workspace",
        "metadata": { "name": name, "namespace": format!("user-{user}") },
        "spec": { "image": "registry.example/team/pytorch:2.9", "user": format!("user-{user}"), "state": "Suspended",
            "resources": { "cpu": "8", "memory": "64Gi" }, "cards": { "count": 1 } },
    })
}

fn job(user: usize, number: usize) -> Value {
    let container = json!({ "name": "main", "image": "registry.example/team/pytorch:2.9" });
    let task = json!({ "name": "worker", "replicas": 4, "cards": { "count": 8 },
        "template": { "spec": { "containers": [container] } } });
    json!({
        "apiVersion": "maar.io/v1alpha1", "kind": "AIJob",
        "metadata": { "name": format!("train-{number}"), "namespace": format!("user-{user}") },
        "spec": { "user": format!("user-{user}"), "suspend": true, "tasks": [task] },
    })
}

fn kind(kind: &str) -> ApiResource {
    let plural = format!("{}s", kind.to_lowercase());
    ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural,
    }
}

fn pod(node: &str, number: usize) -> Value {
    let mut pod = crate::pods::pod(&format!("{node}-{number}"));
    pod["spec"]["nodeName"] = json!(node);
    pod["metadata"]["annotations"] = json!({ "sim.maar.io/run-time": "24h" });
    pod["metadata"]["labels"] = json!({ "maar.io/job": "resnet-50", "maar.io/user": format!("user-{}", number), "maar.io/account": "lab" });
    if number < CARDS {
        pod["metadata"]["annotations"]["maar.io/cards"] = json!(format!("nvidia.com/gpu={number}"));
    } else {
        pod["spec"]["containers"][0]["resources"] = json!({ "requests": { "cpu": "1" } });
    }
    pod
}
