//! Simulated kubelets that join a real API server.

use futures::AsyncReadExt;
use http_body_util::BodyExt;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Node};
use kube::{
    Api,
    api::{DeleteParams, LogParams, Patch, PatchParams, PostParams},
};
use maar_nodes::{Clock, Handle, Options, Profile, simulate};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{Place, Real, exec, real, until};

/// Nodes of a set of its own.
struct Set {
    handle: Handle,
    shutdown: CancellationToken,
}

impl Set {
    /// Nodes `NAME-PID-0`, `NAME-PID-1` and so on, which the API server reaches over TLS.
    async fn join(real: &Real, name: &str, count: u32) -> Self {
        let pool = format!("{name}-{}", std::process::id());
        let profile = format!(
            "startDelay: 100ms\nheartbeat: 2s\npools:\n  - {{name: {pool}, count: {count}, cpu: 8, memory: 16Gi}}\n"
        );
        let clock = maar_embedded::Clock::wall();
        let clock = Clock::new(move || clock.now());
        let options = Options { listen: Some(real.listen.clone()), ..Options::in_process(pool, clock, 1) };
        let shutdown = CancellationToken::new();
        let profile = Profile::parse(&profile).unwrap();
        let handle = simulate(real.client.clone(), profile, options, shutdown.clone()).await.unwrap();
        Self { handle, shutdown }
    }

    fn node(&self, index: usize) -> String {
        self.handle.nodes()[index].clone()
    }

    async fn end(self) {
        self.handle.remove_nodes(&self.handle.nodes()).await.unwrap();
        self.shutdown.cancel();
        self.handle.stopped().await;
    }
}

async fn until_node(real: &Real, name: &str, wanted: impl Fn(&Value) -> bool) {
    let nodes = Api::<Node>::all(real.client.clone());
    until(&format!("node {name}"), || async {
        let node = nodes.get(name).await.map_err(|error| error.to_string())?;
        let node = serde_json::to_value(node).unwrap();
        if wanted(&node) {
            Ok(())
        } else {
            Err(format!("{:#} {:#}", node["spec"], node["status"]["conditions"]))
        }
    })
    .await;
}

fn is_ready(node: &Value, status: &str) -> bool {
    let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == status)
}

fn is_tainted(node: &Value, key: &str) -> bool {
    let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    taints.iter().any(|taint| taint["key"] == key && taint["effect"] == "NoExecute")
}

fn on(node: &str) -> Value {
    json!({ "nodeName": node, "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
        "containers": [{ "name": "main", "image": "none", "ports": [{ "containerPort": 8080 }] }] })
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real cluster: make real"]
async fn nodes_join_and_run_what_the_real_scheduler_places() {
    let real = real().await;
    let set = Set::join(&real, "join", 2).await;
    let place = Place::make(&real.client, "join").await;
    for node in set.handle.nodes() {
        until_node(&real, &node, |node| is_ready(node, "True")).await;
    }
    let pool = set.node(0).rsplit_once('-').unwrap().0.to_owned();
    let deployment = json!({ "metadata": { "name": "web" }, "spec": {
        "replicas": 4, "selector": { "matchLabels": { "app": "web" } },
        "template": { "metadata": { "labels": { "app": "web" } }, "spec": {
            "nodeSelector": { "maar.io/pool": pool }, "containers": [{ "name": "c", "image": "none" }] } } } });
    let deployments = Api::<Deployment>::namespaced(real.client.clone(), &place.name);
    let deployment = serde_json::from_value(deployment).unwrap();
    deployments.create(&PostParams::default(), &deployment).await.unwrap();
    until("four replicas", || async {
        let status = deployments.get("web").await.map_err(|error| error.to_string())?.status;
        let available = status.and_then(|status| status.available_replicas);
        if available == Some(4) { Ok(()) } else { Err(format!("{available:?}")) }
    })
    .await;
    place
        .create(
            "job",
            json!({ "sim.maar.io/run-time": "1s", "sim.maar.io/exit-code": "3" }),
            on(&set.node(0)),
        )
        .await;
    let job = place.phase("job", "Failed").await;
    assert_eq!(job["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 3);
    let told = place.told("job", "Started").await;
    assert!(told.contains(&("Created".into(), "Container created".into())), "{told:?}");
    place.end().await;
    set.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real cluster: make real"]
async fn the_real_api_server_reaches_simulated_containers() {
    let real = real().await;
    let set = Set::join(&real, "reach", 1).await;
    let place = Place::make(&real.client, "reach").await;
    let talks = json!({ "sim.maar.io/log": "step {{n}}", "sim.maar.io/log-interval": "500ms", "sim.maar.io/run-time": "3s" });
    place.create("talks", talks, on(&set.node(0))).await;
    place.create("stays", json!({}), on(&set.node(0))).await;
    place.phase("talks", "Running").await;
    let follow = LogParams { follow: true, ..LogParams::default() };
    let mut log = std::pin::pin!(place.pods().log_stream("talks", &follow).await.unwrap());
    let mut text = String::new();
    log.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("step 1\nstep 2\n") && text.lines().count() >= 6, "{text:?}");
    place.phase("talks", "Succeeded").await;
    place.phase("stays", "Running").await;
    assert_eq!(exec(&place, "stays", &["hostname"]).await, ("stays\n".into(), "Success".into()));
    let (_, said) = exec(&place, "stays", &["sh", "-c", "exit 7"]).await;
    assert!(said.contains("exit code 7"), "{said}");
    let mut forward = place.pods().portforward("stays", &[8080]).await.unwrap();
    let stream = hyper_util::rt::TokioIo::new(forward.take_stream(8080).unwrap());
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let request = http::Request::get("/").header("host", "stays");
    let request = request.body(http_body_util::Empty::<bytes::Bytes>::new()).unwrap();
    let answer = sender.send_request(request).await.unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&body).contains("listens on port 8080"), "{body:?}");
    let fail = json!({ "metadata": { "annotations": { "sim.maar.io/fail-now": "OOMKilled" } } });
    place.pods().patch("stays", &PatchParams::default(), &Patch::Merge(fail)).await.unwrap();
    let failed = place.phase("stays", "Failed").await;
    assert_eq!(failed["status"]["containerStatuses"][0]["state"]["terminated"]["reason"], "OOMKilled");
    place.pods().delete("stays", &DeleteParams::default()).await.unwrap();
    place.until("stays", Value::is_null).await;
    place.end().await;
    set.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real cluster: make real"]
async fn the_real_node_controller_gives_up_silent_nodes_and_takes_them_back() {
    let real = real().await;
    // A controller that loses most of its nodes blames itself and evicts nobody, so most stay.
    let set = Set::join(&real, "silent", 8).await;
    let place = Place::make(&real.client, "silent").await;
    let (lost, cut, broken) = (set.node(0), set.node(1), set.node(2));
    place.create("inside", json!({}), on(&cut)).await;
    place.phase("inside", "Running").await;
    for (node, failure) in [(&lost, "lease-lost"), (&cut, "network"), (&broken, "not-ready")] {
        until_node(&real, node, |node| is_ready(node, "True")).await;
        set.handle.fail(node, failure.parse().unwrap()).await.unwrap();
    }
    until_node(&real, &broken, |node| is_ready(node, "False")).await;
    until_node(&real, &broken, |node| is_tainted(node, "node.kubernetes.io/not-ready")).await;
    let silent =
        |node: &Value| is_ready(node, "Unknown") && is_tainted(node, "node.kubernetes.io/unreachable");
    tokio::join!(until_node(&real, &lost, silent), until_node(&real, &cut, silent));
    let log = place.pods().logs("inside", &LogParams::default()).await;
    assert!(log.is_err(), "a node without network is not reached");
    for node in [&lost, &cut, &broken] {
        set.handle.heal(node).await.unwrap();
    }
    for node in [&lost, &cut, &broken] {
        let sound = |node: &Value| {
            is_ready(node, "True")
                && !is_tainted(node, "node.kubernetes.io/unreachable")
                && !is_tainted(node, "node.kubernetes.io/not-ready")
        };
        until_node(&real, node, sound).await;
    }
    assert!(place.pods().logs("inside", &LogParams::default()).await.is_ok());
    place.end().await;
    set.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real cluster: make real"]
async fn a_shrunk_set_removes_its_surplus_from_a_real_cluster() {
    let real = real().await;
    let set = Set::join(&real, "shrink", 3).await;
    let surplus = set.node(2);
    set.shutdown.cancel();
    set.handle.stopped().await;
    let set = Set::join(&real, "shrink", 2).await;
    let nodes = Api::<Node>::all(real.client.clone());
    until("the surplus node goes", || async {
        let found = nodes.get_opt(&surplus).await.map_err(|error| error.to_string())?;
        found.map_or(Ok(()), |_| Err("it is there".to_owned()))
    })
    .await;
    for node in set.handle.nodes() {
        until_node(&real, &node, |node| is_ready(node, "True")).await;
    }
    set.end().await;
}
