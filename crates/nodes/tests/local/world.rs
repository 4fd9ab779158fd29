//! A cluster with the local node, and what the tests ask of it.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use futures::{AsyncBufReadExt, StreamExt};
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::{
    Api, Client,
    api::{AttachParams, ListParams, LogParams, PostParams},
    runtime::wait::await_condition,
};
use maar_embedded::{Cluster, Config, Listener};
use maar_nodes::{Clock, LocalHandle, LocalOptions, find_sandbox, run_local};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio_util::sync::CancellationToken;

use crate::absent::absent;

const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) struct World {
    pub(crate) cluster: Cluster,
    pub(crate) listener: Listener,
    pub(crate) client: Client,
    pub(crate) folder: tempfile::TempDir,
    handle: LocalHandle,
    shutdown: CancellationToken,
}

/// A cluster with the local node, or nothing where there can be none.
pub(crate) async fn world() -> Option<World> {
    let Ok(sandbox) = find_sandbox().await else {
        absent("bubblewrap");
        return None;
    };
    let cluster = Cluster::start(Config::wall()).await.expect("the cluster starts");
    let listener = cluster.listen(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a free port");
    let client = cluster.client();
    let folder = tempfile::tempdir().expect("a folder");
    let shutdown = CancellationToken::new();
    let world = cluster.world().clone();
    let options = LocalOptions {
        name: "local".into(),
        set: "local".into(),
        clock: Clock::new(move || world.clock.now()),
        state: folder.path().join("state"),
        volume_roots: vec![folder.path().join("volumes")],
        address: Ipv4Addr::LOCALHOST.into(),
        api_server: Some((listener.address.ip().to_string(), listener.address.port())),
        tainted: true,
    };
    std::fs::create_dir(folder.path().join("volumes")).expect("a folder");
    let handle = run_local(client.clone(), sandbox, options, shutdown.clone()).await.expect("the node joins");
    cluster.set_kubelets(handle.dialer());
    Some(World { cluster, listener, client, folder, handle, shutdown })
}

impl World {
    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), "default")
    }

    /// A Pod that is already assigned to the node.
    pub(crate) async fn create(&self, name: &str, mut spec: Value) {
        spec["nodeName"] = json!("local");
        self.put(name, spec).await;
    }

    /// A Pod that the scheduler assigns.
    pub(crate) async fn schedule(&self, name: &str, mut spec: Value) {
        spec["nodeSelector"] = json!({ "maar.io/local": "true" });
        spec["tolerations"] = json!([{ "key": "maar.io/local", "operator": "Exists" }]);
        self.put(name, spec).await;
    }

    async fn put(&self, name: &str, mut spec: Value) {
        spec["terminationGracePeriodSeconds"] =
            spec.get("terminationGracePeriodSeconds").cloned().unwrap_or(json!(2));
        let pod =
            serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).expect("a pod");
        self.pods().create(&PostParams::default(), &pod).await.expect("the pod is created");
    }

    pub(crate) async fn until(&self, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let seen = std::sync::Mutex::new(Value::Null);
        let condition = |pod: Option<&Pod>| {
            let value = pod.map_or(Value::Null, |pod| serde_json::to_value(pod).expect("json"));
            let good = wanted(&value);
            *seen.lock().expect("not poisoned") = value;
            good
        };
        let waiting = await_condition(self.pods(), name, condition);
        let outcome = tokio::time::timeout(PATIENCE, waiting).await;
        let seen = seen.lock().expect("not poisoned").clone();
        assert!(matches!(outcome, Ok(Ok(_))), "pod {name} never became as wanted: {seen:#}");
        seen
    }

    /// Waits until the container has said `line`.
    pub(crate) async fn hears(&self, name: &str, line: &str) {
        let follow = LogParams { follow: true, ..LogParams::default() };
        let mut lines = self.pods().log_stream(name, &follow).await.expect("a stream").lines();
        loop {
            let heard = lines.next().await;
            assert!(heard.is_some(), "the container of {name} ended without saying {line:?}");
            if heard.is_some_and(|heard| heard.expect("text") == line) {
                return;
            }
        }
    }

    pub(crate) async fn phase(&self, name: &str, phase: &str) -> Value {
        self.until(name, |pod| pod["status"]["phase"] == phase).await
    }

    pub(crate) async fn logs(&self, name: &str) -> String {
        self.pods().logs(name, &LogParams::default()).await.expect("a log")
    }

    /// Waits for an Event about the Pod with that reason and those words.
    pub(crate) async fn event(&self, pod: &str, reason: &str, words: &str) -> Event {
        let events = Api::<Event>::namespaced(self.client.clone(), "default");
        let fields = format!("involvedObject.kind=Pod,involvedObject.name={pod},reason={reason}");
        let limit = tokio::time::Instant::now() + PATIENCE;
        loop {
            let list = events.list(&ListParams::default().fields(&fields)).await.expect("listable").items;
            let fits = |event: &&Event| event.message.as_deref().unwrap_or_default().contains(words);
            if let Some(event) = list.iter().find(fits) {
                return event.clone();
            }
            assert!(tokio::time::Instant::now() < limit, "no {reason} with {words:?}: {list:#?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Ends the node; nothing may be left.
    pub(crate) async fn end(self) {
        self.shutdown.cancel();
        tokio::time::timeout(Duration::from_secs(20), self.handle.stopped()).await.expect("it stops");
    }
}

pub(crate) fn shell(line: &str) -> Value {
    json!({ "name": "main", "image": "none", "command": ["/bin/sh", "-c", line] })
}

pub(crate) fn never(container: &Value) -> Value {
    json!({ "restartPolicy": "Never", "containers": [container] })
}

/// Process numbers of everything on this machine whose command line holds `marker`.
pub(crate) fn processes(marker: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").expect("proc").flatten();
    all.filter(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(marker)
    })
    .map(|entry| entry.file_name().to_string_lossy().into_owned())
    .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && *name != std::process::id().to_string())
    .collect()
}

/// Runs a command in the pod; output and status.
pub(crate) async fn exec(world: &World, pod: &str, command: &[&str]) -> (String, Option<String>) {
    let parameters = AttachParams::default().stderr(true);
    let mut process = world.pods().exec(pod, command.to_vec(), &parameters).await.expect("exec");
    let mut output = String::new();
    process.stdout().expect("stdout").read_to_string(&mut output).await.expect("text");
    let status = process.take_status().expect("a status").await;
    (output, status.and_then(|status| status.status))
}
