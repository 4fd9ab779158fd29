//! The role on an embedded cluster with cards and paused time, started again whenever it crashes.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, Patch, PatchParams, PostParams},
};
use maar_api::v1alpha1::{AIJob, AIJobStatus, JobPhase};
use maar_controller::{Environment, RoleConfig, backoff::Dice, clock::SharedClock};
use maar_embedded::{Cluster, Component, Config};
use maar_jobs::{Entropy, JobsMetrics, Nightly, NodeCards, Settings, install, role};
use maar_nodes::{Options, Profile, simulate};
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::setup::ClusterClock;

const PROFILE: &str = r#"
name: test
startDelay: 1s
pools:
  - name: gpu
    count: 3
    cpu: "64"
    memory: 256Gi
    cards: { resource: nvidia.com/gpu, count: 8, vendor: nvidia, model: A, memory: 80Gi }
"#;
pub(crate) const NAMESPACE: &str = "default";

pub(crate) struct World {
    pub(crate) cluster: Cluster,
    pub(crate) client: Client,
    pub(crate) role: Component,
    _stop: tokio_util::sync::DropGuard,
}

impl World {
    /// A cluster with nodes, definitions and the role, which is started again when it crashes.
    pub(crate) async fn new(seed: u64) -> Self {
        Self::with(seed, None).await
    }

    /// With nights.
    pub(crate) async fn with(seed: u64, nightly: Option<Nightly>) -> Self {
        let cluster = Cluster::start(Config::simulated(seed)).await.unwrap();
        let client = cluster.client();
        install(&client).await.unwrap();
        let stop = CancellationToken::new();
        let time = cluster.world().clock.clone();
        let clock = maar_nodes::Clock::new(move || time.now());
        let options = Options::in_process("test", clock, seed);
        let profile = Profile::parse(PROFILE).unwrap();
        let nodes = simulate(client.clone(), profile, options, stop.clone()).await.unwrap();
        cluster.set_kubelets(nodes.dialer());
        let role = run(&cluster, "jobs", seed, nightly);
        Self { cluster, client, role, _stop: stop.drop_guard() }
    }

    /// A second process that believes to lead, as one does that slept through the end of its lease.
    pub(crate) fn another(&self, name: &'static str) -> Component {
        self.another_with(name, None)
    }

    pub(crate) fn another_with(&self, name: &'static str, nightly: Option<Nightly>) -> Component {
        run(&self.cluster, name, 99, nightly)
    }

    pub(crate) fn jobs(&self) -> Api<AIJob> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    pub(crate) async fn submit(&self, name: &str, spec: Value) {
        let job: AIJob =
            serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap();
        self.jobs().create(&PostParams::default(), &job).await.unwrap();
    }

    pub(crate) async fn change(&self, name: &str, spec: Value) {
        let patch = Patch::Merge(json!({ "spec": spec }));
        self.jobs().patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) async fn status(&self, name: &str) -> AIJobStatus {
        self.jobs().get(name).await.unwrap().status.unwrap_or_default()
    }

    /// Waits, in simulated time, for a phase.
    pub(crate) async fn reaches(&self, name: &str, phase: JobPhase) -> AIJobStatus {
        for _ in 0..600 {
            let status = self.status(name).await;
            if status.phase == phase {
                return status;
            }
            sleep(Duration::from_secs(1)).await;
        }
        panic!("{name} does not become {phase}: {:#?}", self.status(name).await);
    }

    /// Says where a Pod goes; no scheduler of ours runs here.
    pub(crate) async fn bind(&self, pod: &str, node: &str) {
        let target = json!({ "apiVersion": "v1", "kind": "Binding", "metadata": { "name": pod },
            "target": { "kind": "Node", "name": node } });
        let request = http::Request::post(format!("/api/v1/namespaces/{NAMESPACE}/pods/{pod}/binding"))
            .header("content-type", "application/json")
            .body(serde_json::to_vec(&target).unwrap())
            .unwrap();
        self.client.request::<Value>(request).await.unwrap();
    }

    /// How many writes the role has made.
    pub(crate) fn writes(&self) -> u64 {
        let log = self.cluster.faults().log().entries();
        let own = log.iter().filter(|entry| &*entry.subject.component == "jobs");
        let wanted =
            own.filter(|entry| ["create", "patch", "update", "delete"].contains(&entry.subject.verb));
        u64::try_from(wanted.count()).unwrap()
    }

    pub(crate) async fn pod_names(&self) -> Vec<String> {
        let list = self.pods().list(&ListParams::default().labels("maar.io/job")).await.unwrap();
        list.items.iter().map(ResourceExt::name_any).collect()
    }
}

/// Runs the role as a component called so.
fn run(cluster: &Cluster, name: &'static str, seed: u64, nightly: Option<Nightly>) -> Component {
    let clock: SharedClock = Arc::new(ClusterClock(cluster.world().clock.clone()));
    let run = move |client: Client| {
        let environment = Environment::new(Arc::clone(&clock), Dice::seeded(seed));
        let config = RoleConfig { identity: name.to_owned(), election: None, drain: Duration::from_secs(5) };
        let metrics = JobsMetrics::register(&environment.metrics);
        // Clean-up looks at the nodes with the client of the role, so that its reads meet faults too.
        let cards = Arc::new(NodeCards::new(client.clone()));
        let nightly = nightly.clone();
        let settings = Settings { cards: Some(cards), nightly, ..Settings::new(Entropy::counting()) };
        let role = role(&settings, &metrics);
        let work = role.run(client, config, environment, CancellationToken::new());
        async move {
            work.await.unwrap();
        }
    };
    cluster.faults().run(name, Duration::from_secs(2), run)
}

/// A task whose Pods do what the annotations say.
pub(crate) fn task(name: &str, replicas: i32, behave: &[(&str, &str)]) -> Value {
    let annotations: BTreeMap<String, &str> =
        behave.iter().map(|(name, value)| (format!("sim.maar.io/{name}"), *value)).collect();
    json!({
        "name": name,
        "replicas": replicas,
        "template": {
            "metadata": { "annotations": annotations },
            "spec": {
                "schedulerName": "default-scheduler",
                "terminationGracePeriodSeconds": 1,
                "containers": [{ "name": "main", "image": "example.com/image:1" }],
            },
        },
    })
}
