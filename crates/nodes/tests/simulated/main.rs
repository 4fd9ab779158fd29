//! Simulated nodes on the embedded cluster, with paused time.

#[path = "../support/absent.rs"]
mod absent;
mod events;
mod fleet;
mod metrics;
mod network;

use std::{sync::Arc, time::Duration};

use futures::AsyncReadExt;
use k8s_openapi::api::{
    apps::v1::Deployment,
    coordination::v1::Lease,
    core::v1::{Event, Node, Pod},
};
use kube::{
    Api, Client, ResourceExt,
    api::{AttachParams, DeleteParams, ListParams, LogParams, Patch, PatchParams, PostParams},
};
use maar_embedded::{Cluster, Config};
use maar_nodes::{Clock, Failures, FleetError, Handle, Options, Profile, simulate};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// In paused time.
const PATIENCE: Duration = Duration::from_hours(3);

const PROFILE: &str = "
name: test
startDelay: 1s
pools:
  - {name: cpu, count: 2, cpu: 8, memory: 16Gi}
  - name: gpu
    count: 1
    cpu: 32
    memory: 64Gi
    cards: {resource: nvidia.com/gpu, count: 4, vendor: nvidia, model: NVIDIA A100, memory: 80Gi}
";

struct World {
    cluster: Cluster,
    client: Client,
    handle: Handle,
    shutdown: CancellationToken,
}

async fn world() -> World {
    world_of(PROFILE).await
}

async fn world_of(profile: &str) -> World {
    let cluster = Cluster::start(Config::simulated(7)).await.expect("the cluster starts");
    let client = cluster.client();
    let shutdown = CancellationToken::new();
    let handle = join(&cluster, profile, "test", &shutdown).await.expect("the nodes join");
    cluster.set_kubelets(handle.dialer());
    World { cluster, client, handle, shutdown }
}

async fn join(
    cluster: &Cluster,
    profile: &str,
    set: &str,
    shutdown: &CancellationToken,
) -> Result<Handle, FleetError> {
    let profile = Profile::parse(profile).expect("the profile is good");
    let world = cluster.world().clone();
    let options = Options::in_process(set, Clock::new(move || world.clock.now()), 7);
    simulate(cluster.client(), profile, options, shutdown.clone()).await
}

impl World {
    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), "default")
    }

    async fn create(&self, name: &str, node: &str, annotations: Value, container: Value) -> Pod {
        let mut container = container;
        container["name"] = json!("main");
        container["image"] = json!("example.com/image:1");
        let pod = json!({
            "metadata": { "name": name, "annotations": annotations },
            "spec": { "nodeName": node, "restartPolicy": "Never", "containers": [container] },
        });
        let pod = serde_json::from_value(pod).expect("a pod");
        self.pods().create(&PostParams::default(), &pod).await.expect("the pod is created")
    }

    /// Waits, in paused time, until the pod is as wanted.
    async fn until(&self, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let limit = tokio::time::Instant::now() + PATIENCE;
        loop {
            if let Some(pod) = self.pods().get_opt(name).await.expect("pods can be read") {
                let pod = serde_json::to_value(pod).expect("json");
                if wanted(&pod) {
                    return pod;
                }
            } else if wanted(&Value::Null) {
                return Value::Null;
            }
            let pod = self.pods().get_opt(name).await.expect("pods can be read");
            assert!(tokio::time::Instant::now() < limit, "pod {name} never became as wanted: {pod:#?}");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    async fn phase(&self, name: &str, phase: &str) -> Value {
        self.until(name, |pod| pod["status"]["phase"] == phase).await
    }

    async fn until_node(&self, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let nodes = Api::<Node>::all(self.client.clone());
        let limit = tokio::time::Instant::now() + PATIENCE;
        loop {
            let node = serde_json::to_value(nodes.get(name).await.expect("the node is there")).expect("json");
            if wanted(&node) {
                return node;
            }
            assert!(tokio::time::Instant::now() < limit, "node {name} never became as wanted: {node:#}");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

fn ready(node: &Value) -> &str {
    let conditions = node["status"]["conditions"].as_array().expect("conditions");
    conditions.iter().find(|condition| condition["type"] == "Ready").expect("Ready")["status"]
        .as_str()
        .expect("text")
}

#[tokio::test(start_paused = true)]
async fn nodes_register_with_status_and_keep_their_leases() {
    let world = world().await;
    assert_eq!(world.handle.nodes(), ["cpu-0", "cpu-1", "gpu-0"]);
    let node = world.until_node("gpu-0", |node| ready(node) == "True").await;
    assert_eq!(node["status"]["allocatable"]["nvidia.com/gpu"], "4");
    assert_eq!(node["metadata"]["labels"]["kubernetes.io/hostname"], "gpu-0");
    let leases = Api::<Lease>::namespaced(world.client.clone(), "kube-node-lease");
    tokio::time::sleep(Duration::from_secs(15)).await;
    let renewed = async || {
        let lease = leases.get("gpu-0").await.expect("the lease is there");
        lease.spec.and_then(|spec| spec.renew_time).expect("renewed").0
    };
    let first = renewed().await;
    tokio::time::sleep(Duration::from_hours(1)).await;
    let second = renewed().await;
    assert!(second.duration_since(first).as_secs() > 3580, "{first} to {second}");
    world.shutdown.cancel();
    world.handle.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn pods_live_as_their_annotations_say() {
    let world = world().await;
    world.create("job", "cpu-0", json!({ "sim.maar.io/run-time": "10m" }), json!({})).await;
    world
        .create(
            "broken",
            "cpu-0",
            json!({ "sim.maar.io/run-time": "5s", "sim.maar.io/exit-code": "3" }),
            json!({}),
        )
        .await;
    world.create("service", "cpu-1", json!({}), json!({})).await;
    let stranger = serde_json::from_value(json!({ "metadata": { "name": "not-ours" } })).expect("a node");
    Api::<Node>::all(world.client.clone()).create(&PostParams::default(), &stranger).await.expect("a node");
    world.create("elsewhere", "not-ours", json!({}), json!({})).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(world.phase("elsewhere", "Pending").await["status"]["startTime"], Value::Null);
    let job = world.phase("job", "Running").await;
    assert_eq!(job["status"]["containerStatuses"][0]["ready"], true);
    assert!(job["status"]["podIP"].as_str().expect("an address").starts_with("10."));
    let broken = world.phase("broken", "Failed").await;
    assert_eq!(broken["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 3);
    let done = world.phase("job", "Succeeded").await;
    let exit = &done["status"]["containerStatuses"][0]["state"]["terminated"];
    let time =
        |field: &str| exit[field].as_str().expect("a time").parse::<jiff::Timestamp>().expect("a time");
    assert_eq!(time("finishedAt").duration_since(time("startedAt")).as_secs(), 600);
    world.phase("service", "Running").await;
}

/// `maar job submit … -- sleep 60` never ended.
#[tokio::test(start_paused = true)]
async fn a_pod_that_only_sleeps_ends_when_it_has_slept() {
    let world = world().await;
    let sleeps = |words: Value| json!({ "command": words });
    world.create("minute", "cpu-0", json!({}), sleeps(json!(["sleep", "60"]))).await;
    world
        .create("word", "cpu-0", json!({ "sim.maar.io/run-time": "20m" }), sleeps(json!(["sleep", "60"])))
        .await;
    world.create("ever", "cpu-1", json!({}), sleeps(json!(["sh", "-c", "sleep infinity"]))).await;
    for (name, want) in [("minute", 60), ("word", 1_200)] {
        let done = world.phase(name, "Succeeded").await;
        let exit = &done["status"]["containerStatuses"][0]["state"]["terminated"];
        let time = |field: &str| exit[field].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        assert_eq!(time("finishedAt").duration_since(time("startedAt")).as_secs(), want, "{name}");
    }
    // Longer than any time out here; each hour is thousands of heartbeats.
    tokio::time::sleep(Duration::from_hours(1)).await;
    world.phase("ever", "Running").await;
}

#[tokio::test(start_paused = true)]
async fn deleting_a_pod_takes_its_grace_and_then_it_is_gone() {
    let world = world().await;
    world.create("slow", "cpu-0", json!({ "sim.maar.io/stop-delay": "20s" }), json!({})).await;
    world.phase("slow", "Running").await;
    let before = tokio::time::Instant::now();
    world.pods().delete("slow", &DeleteParams::default()).await.expect("deletable");
    world.until("slow", Value::is_null).await;
    let took = before.elapsed().as_secs();
    assert!((20..23).contains(&took), "{took} s");
    assert_eq!(world.handle.pods(), 0);
}

#[tokio::test(start_paused = true)]
async fn cards_are_counted_and_measured() {
    let world = world().await;
    let two = json!({ "resources": { "limits": { "nvidia.com/gpu": "3" }, "requests": { "nvidia.com/gpu": "3" } } });
    world.create("first", "gpu-0", json!({ "sim.maar.io/gpu-utilization": "85" }), two.clone()).await;
    world.phase("first", "Running").await;
    world.create("second", "gpu-0", json!({}), two).await;
    let rejected = world.phase("second", "Failed").await;
    assert_eq!(rejected["status"]["reason"], "OutOfnvidia.com/gpu");
    let text = ask(&world, "gpu-0", "/metrics").await;
    let busy =
        text.lines().filter(|line| line.starts_with("DCGM_FI_DEV_GPU_UTIL") && line.ends_with(" 85")).count();
    assert_eq!(busy, 3, "{text}");
    assert!(text.contains("pod=\"first\"") && text.contains("modelName=\"NVIDIA A100\""), "{text}");
}

/// Asks a kubelet directly.
async fn ask(world: &World, node: &str, path: &str) -> String {
    use http_body_util::BodyExt;
    let stream = world.handle.dialer().dial(node).expect("known").await.expect("reached");
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(hyper_util::rt::TokioIo::new(stream)).await.expect("http");
    tokio::spawn(connection);
    let request = http::Request::get(path).header("host", node);
    let request = request.body(http_body_util::Empty::<bytes::Bytes>::new()).expect("a request");
    let response = sender.send_request(request).await.expect("an answer");
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    String::from_utf8(body.to_vec()).expect("text")
}

#[tokio::test(start_paused = true)]
async fn a_node_breaks_and_heals_on_command() {
    let world = world().await;
    world.handle.fail("cpu-0", "not-ready".parse().expect("a failure")).await.expect("breakable");
    world.until_node("cpu-0", |node| ready(node) == "False").await;
    world.handle.heal("cpu-0").await.expect("healable");
    world.until_node("cpu-0", |node| ready(node) == "True").await;
    world.handle.fail("gpu-0", Failures { cards: 3, ..Failures::NONE }).await.expect("breakable");
    world.until_node("gpu-0", |node| node["status"]["allocatable"]["nvidia.com/gpu"] == "1").await;
    let unknown = world.handle.fail("none", Failures::NONE).await;
    assert!(matches!(unknown, Err(FleetError::UnknownNode(_))));
}

#[tokio::test(start_paused = true)]
async fn pools_grow_and_shrink_at_run_time() {
    let world = world().await;
    let added = world.handle.add_nodes("cpu", 2).await.expect("addable");
    assert_eq!(added, ["cpu-2", "cpu-3"]);
    world.create("new", "cpu-3", json!({}), json!({})).await;
    world.phase("new", "Running").await;
    world.handle.remove_nodes(&["cpu-2".into()]).await.expect("removable");
    let nodes = Api::<Node>::all(world.client.clone());
    assert!(nodes.get_opt("cpu-2").await.expect("readable").is_none());
    let unknown = world.handle.add_nodes("tpu", 1).await.expect_err("there is no such pool");
    assert!(unknown.to_string().contains("cpu, gpu"), "{unknown}");
}

#[tokio::test(start_paused = true)]
async fn a_restarted_set_takes_up_its_nodes_and_pods() {
    let world = world().await;
    world.create("job", "cpu-0", json!({ "sim.maar.io/run-time": "1h" }), json!({})).await;
    let before = world.phase("job", "Running").await;
    world.shutdown.cancel();
    world.handle.stopped().await;
    let shutdown = CancellationToken::new();
    let handle =
        join(&world.cluster, PROFILE, "test", &shutdown).await.expect("the same set takes its nodes up");
    tokio::time::sleep(Duration::from_mins(30)).await;
    let after = world.phase("job", "Running").await;
    let started =
        |pod: &Value| pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"].clone();
    assert_eq!(started(&before), started(&after));
    world.phase("job", "Succeeded").await;
    let other = join(&world.cluster, PROFILE, "another", &shutdown).await.expect_err("the names are taken");
    assert!(matches!(other, FleetError::Taken { .. }), "{other}");
    shutdown.cancel();
    handle.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn logs_are_written_and_followed_to_the_end() {
    let world = world().await;
    let annotations = json!({ "sim.maar.io/log": "step {{n}}", "sim.maar.io/log-interval": "10s", "sim.maar.io/run-time": "35s" });
    world.create("job", "cpu-0", annotations, json!({})).await;
    world.phase("job", "Running").await;
    let tail = LogParams { tail_lines: Some(1), ..LogParams::default() };
    assert_eq!(world.pods().logs("job", &tail).await.expect("a log"), "step 1\n");
    let follow = LogParams { follow: true, ..LogParams::default() };
    let mut stream = std::pin::pin!(world.pods().log_stream("job", &follow).await.expect("a stream"));
    let mut text = String::new();
    stream.read_to_string(&mut text).await.expect("it ends with the container");
    assert_eq!(text, "step 1\nstep 2\nstep 3\nstep 4\n");
}

#[tokio::test(start_paused = true)]
async fn many_pods_cost_little() {
    let world = world().await;
    let before = world.handle.pods();
    for number in 0..100 {
        world.create(&format!("p{number}"), "cpu-0", json!({}), json!({})).await;
    }
    let pods = world.pods();
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let list = pods.list(&ListParams::default()).await.expect("listable");
        if list
            .iter()
            .all(|pod| pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running"))
        {
            assert_eq!(world.handle.pods(), before + 100);
            return;
        }
    }
    panic!("some pods never ran");
}

#[tokio::test(start_paused = true)]
async fn failing_a_pod_on_command_is_seen_at_once() {
    let world = world().await;
    world.create("victim", "cpu-0", json!({}), json!({})).await;
    world.phase("victim", "Running").await;
    let patch = json!({ "metadata": { "annotations": { "sim.maar.io/fail-now": "OOMKilled" } } });
    let patched =
        world.pods().patch("victim", &PatchParams::default(), &Patch::Merge(patch)).await.expect("patchable");
    assert_eq!(patched.name_any(), "victim");
    let failed = world.phase("victim", "Failed").await;
    let exit = &failed["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!((exit["exitCode"].as_i64(), exit["reason"].as_str()), (Some(137), Some("OOMKilled")));
    drop(Arc::new(world));
}

fn tainted(node: &Value, effect: &str) -> bool {
    let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    taints.iter().any(|taint| taint["key"] == "node.kubernetes.io/unreachable" && taint["effect"] == effect)
}

#[tokio::test(start_paused = true)]
async fn a_silent_node_is_given_up_and_comes_back() {
    let world = world().await;
    world.create("stays", "cpu-0", json!({}), json!({})).await;
    world.phase("stays", "Running").await;
    for failure in ["lease-lost", "network"] {
        world.handle.fail("cpu-0", failure.parse().expect("a failure")).await.expect("breakable");
        let node =
            world.until_node("cpu-0", |node| ready(node) == "Unknown" && tainted(node, "NoExecute")).await;
        assert_eq!(node["metadata"]["annotations"]["sim.maar.io/fail"], failure);
        world.handle.heal("cpu-0").await.expect("healable");
        world.until_node("cpu-0", |node| ready(node) == "True" && !tainted(node, "NoExecute")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_without_network_reaches_nobody_and_is_not_reached() {
    let world = world().await;
    world.create("cut", "cpu-0", json!({ "sim.maar.io/run-time": "10s" }), json!({})).await;
    world.phase("cut", "Running").await;
    world.handle.fail("cpu-0", "network".parse().expect("a failure")).await.expect("breakable");
    tokio::time::sleep(Duration::from_secs(20)).await;
    world.phase("cut", "Running").await;
    let dialed = world.handle.dialer().dial("cpu-0").expect("known").await;
    assert!(dialed.is_err());
    world.handle.heal("cpu-0").await.expect("healable");
    world.phase("cut", "Succeeded").await;
}

#[tokio::test(start_paused = true)]
async fn commands_run_in_simulated_containers() {
    let world = world().await;
    let container = json!({ "env": [{ "name": "WHERE", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } }],
        "resources": { "limits": { "nvidia.com/gpu": "2" } }, "ports": [{ "containerPort": 8080 }] });
    world.create("box", "gpu-0", json!({}), container).await;
    world.phase("box", "Running").await;
    let run = async |command: &[&str]| {
        let parameters = AttachParams::default().stderr(true);
        let mut process = world.pods().exec("box", command.to_vec(), &parameters).await.expect("exec");
        let mut output = String::new();
        let mut stdout = process.stdout().expect("stdout");
        tokio::io::AsyncReadExt::read_to_string(&mut stdout, &mut output).await.expect("text");
        let status = process.take_status().expect("a status").await.expect("a status");
        (output, status.status.unwrap_or_default())
    };
    assert_eq!(run(&["sh", "-c", "hostname; echo $WHERE"]).await, ("box\ngpu-0\n".into(), "Success".into()));
    assert_eq!(run(&["python"]).await, (String::new(), "Failure".into()));
    let (table, _) = run(&["nvidia-smi"]).await;
    assert_eq!(table.matches("NVIDIA A100").count(), 2, "{table}");
    let mut forward = world.pods().portforward("box", &[8080]).await.expect("forwarded");
    let stream = forward.take_stream(8080).expect("a stream");
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(hyper_util::rt::TokioIo::new(stream)).await.expect("http");
    tokio::spawn(connection);
    let request = http::Request::get("/").header("host", "box");
    let request = request.body(http_body_util::Empty::<bytes::Bytes>::new()).expect("a request");
    assert_eq!(sender.send_request(request).await.expect("an answer").status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_deployment_is_scheduled_and_rolled_out() {
    let world = world().await;
    let template = |image: &str| json!({ "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [{ "name": "c", "image": image }] } });
    let deployment = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" }, "spec": {
        "replicas": 6, "selector": { "matchLabels": { "app": "web" } }, "template": template("one") } });
    let deployments = Api::<Deployment>::namespaced(world.client.clone(), "default");
    let object = serde_json::from_value(deployment).expect("a deployment");
    deployments.create(&PostParams::default(), &object).await.expect("created");
    let available = async |generation: i64| {
        let limit = tokio::time::Instant::now() + PATIENCE;
        loop {
            let status = deployments.get("web").await.expect("there").status.unwrap_or_default();
            let done = status.observed_generation >= Some(generation)
                && (status.updated_replicas, status.available_replicas, status.replicas)
                    == (Some(6), Some(6), Some(6));
            if done {
                return;
            }
            assert!(tokio::time::Instant::now() < limit, "never rolled out: {status:?}");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    available(1).await;
    let patch = json!({ "spec": { "template": template("two") } });
    deployments.patch("web", &PatchParams::default(), &Patch::Strategic(patch)).await.expect("patched");
    available(2).await;
    let pods = world.pods().list(&ListParams::default()).await.expect("listable");
    assert_eq!(pods.items.len(), 6);
}

#[tokio::test(start_paused = true)]
async fn kubelets_tell_what_is_used_and_only_of_their_own_node() {
    let world = world().await;
    let asking = json!({ "resources": { "requests": { "cpu": "2", "memory": "1Gi" } } });
    world.create("here", "cpu-0", json!({}), asking.clone()).await;
    world.create("there", "cpu-1", json!({}), asking).await;
    world.phase("here", "Running").await;
    world.phase("there", "Running").await;
    tokio::time::sleep(Duration::from_mins(10)).await;
    let summary: Value = serde_json::from_str(&ask(&world, "cpu-0", "/stats/summary").await).expect("json");
    assert_eq!(
        (summary["node"]["nodeName"].as_str(), summary["pods"].as_array().map(Vec::len)),
        (Some("cpu-0"), Some(1))
    );
    let cores = summary["node"]["cpu"]["usageNanoCores"].as_f64().expect("a number") / 1e9;
    assert!((0.8..=1.6).contains(&cores), "{cores}");
    let text = ask(&world, "cpu-0", "/metrics/resource").await;
    assert!(
        text.contains(
            "container_cpu_usage_seconds_total{container=\"main\",namespace=\"default\",pod=\"here\"}"
        ),
        "{text}"
    );
    assert!(!text.contains("pod=\"there\""), "{text}");
    let pods: Value = serde_json::from_str(&ask(&world, "cpu-1", "/pods").await).expect("json");
    assert_eq!(pods["items"][0]["metadata"]["name"], "there");
    assert_eq!(ask(&world, "cpu-1", "/healthz").await, "ok");
    assert_eq!(
        ask(&world, "cpu-1", "/containerLogs/default/here/main").await,
        "pod \"here_default\" not found\n"
    );
    assert!(
        ask(&world, "cpu-0", "/containerLogs/default/here/other")
            .await
            .starts_with("container \"other\" not found")
    );
    assert!(ask(&world, "cpu-0", "/containerLogs/default/here/main?tailLines=x").await.contains("tailLines"));
}

/// An hour of a cluster with work and failures, as the objects that are left.
async fn history() -> Vec<Value> {
    let world = world().await;
    for number in 0..20 {
        let annotations = json!({ "sim.maar.io/run-time": format!("{}s", 100 + number * 7), "sim.maar.io/exit-code": (number % 3).to_string() });
        world
            .create(&format!("p{number}"), ["cpu-0", "cpu-1", "gpu-0"][number % 3], annotations, json!({}))
            .await;
    }
    world.handle.fail("cpu-1", "network".parse().expect("a failure")).await.expect("breakable");
    tokio::time::sleep(Duration::from_secs(30)).await;
    world.handle.heal("cpu-1").await.expect("healable");
    tokio::time::sleep(Duration::from_hours(1)).await;
    let pods = world.pods().list(&ListParams::default()).await.expect("pods");
    let nodes = Api::<Node>::all(world.client.clone()).list(&ListParams::default()).await.expect("nodes");
    let leases = Api::<Lease>::all(world.client.clone()).list(&ListParams::default()).await.expect("leases");
    let told = Api::<Event>::all(world.client.clone()).list(&ListParams::default()).await.expect("events");
    let values = |list: &dyn erased::List| list.values();
    [values(&pods), values(&nodes), values(&leases), values(&told)].concat()
}

mod erased {
    use kube::core::ObjectList;
    use serde_json::Value;

    /// Objects of any kind as JSON.
    pub(super) trait List {
        fn values(&self) -> Vec<Value>;
    }

    impl<T: serde::Serialize + Clone> List for ObjectList<T> {
        fn values(&self) -> Vec<Value> {
            self.items.iter().map(|item| serde_json::to_value(item).expect("json")).collect()
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_seed_gives_one_history() {
    let first = history().await;
    let second = history().await;
    assert!(first.len() > 20);
    for (one, other) in first.iter().zip(&second) {
        assert_eq!(one, other);
    }
    assert_eq!(first.len(), second.len());
}
