//! The local node on the embedded cluster: real processes, in real time.
//!
//! Every test begins with a look for bubblewrap; where it is missing there is no local node and nothing to test, and
//! the test says so.

use std::{net::Ipv4Addr, path::Path, time::Duration};

use futures::{AsyncBufReadExt, SinkExt, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::{
    Api, Client,
    api::{AttachParams, DeleteParams, LogParams, PostParams, TerminalSize},
    runtime::wait::await_condition,
};
use maar_embedded::{Cluster, Config};
use maar_nodes::{Clock, LocalHandle, LocalOptions, find_sandbox, run_local};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

struct World {
    _cluster: Cluster,
    client: Client,
    handle: LocalHandle,
    shutdown: CancellationToken,
    folder: tempfile::TempDir,
}

/// A cluster with the local node, or nothing where there can be none.
#[expect(clippy::print_stdout, reason = "a test that tests nothing must say so")]
async fn world() -> Option<World> {
    let sandbox = match find_sandbox().await {
        Ok(sandbox) => sandbox,
        Err(unavailable) => {
            println!("not tested: {unavailable}");
            return None;
        }
    };
    let cluster = Cluster::start(Config::wall()).await.expect("the cluster starts");
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
        api_server: Some(("127.0.0.1".into(), 6443)),
        tainted: true,
    };
    std::fs::create_dir(folder.path().join("volumes")).expect("a folder");
    let handle = run_local(client.clone(), sandbox, options, shutdown.clone()).await.expect("the node joins");
    cluster.set_kubelets(handle.dialer());
    Some(World { _cluster: cluster, client, handle, shutdown, folder })
}

impl World {
    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), "default")
    }

    async fn create(&self, name: &str, mut spec: Value) {
        spec["nodeName"] = json!("local");
        spec["terminationGracePeriodSeconds"] =
            spec.get("terminationGracePeriodSeconds").cloned().unwrap_or(json!(2));
        let pod =
            serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).expect("a pod");
        self.pods().create(&PostParams::default(), &pod).await.expect("the pod is created");
    }

    async fn until(&self, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let seen = std::sync::Mutex::new(Value::Null);
        let condition = |pod: Option<&Pod>| {
            let value = pod.map_or(Value::Null, |pod| serde_json::to_value(pod).expect("json"));
            let good = wanted(&value);
            *seen.lock().expect("not poisoned") = value;
            good
        };
        let waiting = await_condition(self.pods(), name, condition);
        let outcome = tokio::time::timeout(Duration::from_mins(1), waiting).await;
        let seen = seen.lock().expect("not poisoned").clone();
        assert!(matches!(outcome, Ok(Ok(_))), "pod {name} never became as wanted: {seen:#}");
        seen
    }

    /// Waits until the container has said `line`.
    async fn hears(&self, name: &str, line: &str) {
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

    async fn phase(&self, name: &str, phase: &str) -> Value {
        self.until(name, |pod| pod["status"]["phase"] == phase).await
    }

    async fn logs(&self, name: &str) -> String {
        self.pods().logs(name, &LogParams::default()).await.expect("a log")
    }

    /// Ends the node; nothing may be left.
    async fn end(self) {
        self.shutdown.cancel();
        tokio::time::timeout(Duration::from_secs(20), self.handle.stopped()).await.expect("it stops");
    }
}

fn shell(line: &str) -> Value {
    json!({ "name": "main", "image": "none", "command": ["/bin/sh", "-c", line] })
}

fn never(container: &Value) -> Value {
    json!({ "restartPolicy": "Never", "containers": [container] })
}

/// Process numbers of everything on this machine whose command line holds `marker`.
fn processes(marker: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").expect("proc").flatten();
    all.filter(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(marker)
    })
    .map(|entry| entry.file_name().to_string_lossy().into_owned())
    .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && *name != std::process::id().to_string())
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_run_log_and_exit() {
    let Some(world) = world().await else { return };
    world.create("good", never(&shell("echo hello; echo oops >&2; echo done > /dev/termination-log"))).await;
    world.create("bad", never(&shell("exit 7"))).await;
    world
        .create("missing", never(&json!({ "name": "main", "image": "x", "command": ["/no/such/program"] })))
        .await;
    world.create("image", never(&json!({ "name": "main", "image": "nginx" }))).await;
    let good = world.phase("good", "Succeeded").await;
    assert_eq!(good["status"]["containerStatuses"][0]["state"]["terminated"]["message"], "done\n");
    let log = world.logs("good").await;
    assert!(log.contains("hello\n") && log.contains("oops\n"), "{log}");
    let bad = world.phase("bad", "Failed").await;
    assert_eq!(bad["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 7);
    let missing = world.phase("missing", "Failed").await;
    let exit = &missing["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(
        (exit["exitCode"].as_i64(), exit["reason"].as_str()),
        (Some(128), Some("StartError")),
        "{exit}"
    );
    let image = world
        .until("image", |pod| {
            pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"].is_string()
        })
        .await;
    let waiting = &image["status"]["containerStatuses"][0]["state"]["waiting"];
    assert!(
        waiting["message"].as_str().expect("text").contains("give container \"main\" a command"),
        "{waiting}"
    );
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_keeps_the_machine_from_harm() {
    let Some(world) = world().await else { return };
    let line = "hostname; id -u; ls /; touch /usr/x 2>&1; touch /etc/passwd 2>&1; touch /inside && echo own; \
                cat /proc/self/status | grep CapEff; ls /proc | grep -c '^[0-9]'; ls /root /home 2>&1; env | sort";
    world.create("box", never(&shell(line))).await;
    world.phase("box", "Succeeded").await;
    let log = world.logs("box").await;
    assert!(log.starts_with("box\n0\n"), "{log}");
    assert!(log.contains("touch: cannot touch '/usr/x': Read-only file system"), "{log}");
    assert!(log.contains("own\n") && !Path::new("/inside").exists(), "{log}");
    assert!(log.contains("CapEff:\t0000000000000000"), "{log}");
    assert!(log.contains("KUBERNETES_SERVICE_HOST=127.0.0.1"), "{log}");
    assert!(!log.contains("CARGO"), "the environment of this process leaks: {log}");
    assert!(log.contains("ls: cannot access '/home'"), "{log}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn volumes_and_variables_arrive() {
    let Some(world) = world().await else { return };
    let maps = Api::<ConfigMap>::namespaced(world.client.clone(), "default");
    let map = serde_json::from_value(
        json!({ "metadata": { "name": "cm" }, "data": { "key": "value", "x.conf": "a=1\n" } }),
    );
    maps.create(&PostParams::default(), &map.expect("a map")).await.expect("created");
    let secrets = Api::<Secret>::namespaced(world.client.clone(), "default");
    let secret =
        serde_json::from_value(json!({ "metadata": { "name": "s" }, "stringData": { "password": "hush" } }));
    secrets.create(&PostParams::default(), &secret.expect("a secret")).await.expect("created");
    let line = "echo $A $B $C $(cat /config/x.conf) $(cat /secret/password) $(cat /info/labels); echo $NODE; \
                touch /config/y 2>&1; echo data > /scratch/file; cat /again/file";
    let mut container = shell(line);
    container["env"] = json!([
        { "name": "A", "valueFrom": { "configMapKeyRef": { "name": "cm", "key": "key" } } },
        { "name": "B", "valueFrom": { "secretKeyRef": { "name": "s", "key": "password" } } },
        { "name": "C", "value": "<$(A)>" },
        { "name": "NODE", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } },
    ]);
    container["volumeMounts"] = json!([
        { "name": "config", "mountPath": "/config" }, { "name": "secret", "mountPath": "/secret" },
        { "name": "info", "mountPath": "/info" }, { "name": "scratch", "mountPath": "/scratch", "subPath": "part" },
        { "name": "scratch", "mountPath": "/again", "subPath": "part" },
    ]);
    let mut spec = never(&container);
    spec["volumes"] = json!([
        { "name": "config", "configMap": { "name": "cm" } }, { "name": "secret", "secret": { "secretName": "s" } },
        { "name": "scratch", "emptyDir": {} },
        { "name": "info", "projected": { "sources": [{ "downwardAPI": { "items": [
            { "path": "labels", "fieldRef": { "fieldPath": "metadata.name" } }] } }] } },
    ]);
    world.create("full", spec).await;
    world.phase("full", "Succeeded").await;
    let log = world.logs("full").await;
    assert!(log.starts_with("value hush <value> a=1 hush full\nlocal\n"), "{log}");
    assert!(log.contains("touch: cannot touch '/config/y': Read-only file system"), "{log}");
    assert!(log.ends_with("data\n"), "{log}");
    let mut host = never(&shell("true"));
    host["volumes"] = json!([{ "name": "h", "hostPath": { "path": "/etc" } }]);
    world.create("host", host).await;
    let refused = world
        .until("host", |pod| pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"].is_string())
        .await;
    let waiting = &refused["status"]["containerStatuses"][0]["state"]["waiting"];
    assert!(
        waiting["message"].as_str().expect("text").contains("not offered by the local node"),
        "{waiting}"
    );
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_asks_first_and_kills_then_and_nothing_is_left() {
    let Some(world) = world().await else { return };
    world
        .create(
            "polite",
            never(&shell(
                "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done # polite-marker",
            )),
        )
        .await;
    world
        .create(
            "stubborn",
            never(&shell("trap '' TERM; echo ready; while :; do sleep 0.05; done # stubborn-marker")),
        )
        .await;
    world.phase("polite", "Running").await;
    world.phase("stubborn", "Running").await;
    world.hears("polite", "ready").await;
    world.hears("stubborn", "ready").await;
    let before = tokio::time::Instant::now();
    let follow = LogParams { follow: true, ..LogParams::default() };
    let mut log = std::pin::pin!(world.pods().log_stream("polite", &follow).await.expect("a stream"));
    world.pods().delete("polite", &DeleteParams::default()).await.expect("deletable");
    let mut text = String::new();
    futures::AsyncReadExt::read_to_string(&mut log, &mut text).await.expect("it ends");
    assert_eq!(text, "ready\nbye\n");
    world.until("polite", Value::is_null).await;
    assert!(before.elapsed() < Duration::from_secs(2), "it was not waited for");
    world.pods().delete("stubborn", &DeleteParams::default()).await.expect("deletable");
    world.until("stubborn", Value::is_null).await;
    assert!(before.elapsed() >= Duration::from_secs(2), "it had its grace");
    assert_eq!(processes("stubborn-marker"), [""; 0]);
    world.create("left", never(&shell("sleep 1000 & sleep 1000 # left-marker"))).await;
    world.phase("left", "Running").await;
    assert!(!processes("left-marker").is_empty());
    world.end().await;
    assert_eq!(processes("left-marker"), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn crashes_are_restarted_and_the_log_before_is_kept() {
    let Some(world) = world().await else { return };
    let mut spec = never(&shell("echo run; exit 3"));
    spec["restartPolicy"] = json!("Always");
    world.create("loop", spec).await;
    let pod = world
        .until("loop", |pod| {
            pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "CrashLoopBackOff"
        })
        .await;
    let status = &pod["status"]["containerStatuses"][0];
    assert_eq!(
        (status["restartCount"].as_i64(), status["lastState"]["terminated"]["exitCode"].as_i64()),
        (Some(1), Some(3))
    );
    assert_eq!(world.logs("loop").await, "run\n");
    let before = LogParams { previous: true, timestamps: true, ..LogParams::default() };
    let log = world.pods().logs("loop", &before).await.expect("the log of the run before");
    assert!(log.ends_with("Z run\n") && log.lines().count() == 1, "{log}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_decide_about_readiness_and_life() {
    let Some(world) = world().await else { return };
    let mut container = shell("touch /alive; sleep 0.5; touch /ready; sleep 1000");
    let probe = |file: &str| json!({ "exec": { "command": ["cat", file] }, "periodSeconds": 1, "failureThreshold": 1 });
    container["readinessProbe"] = probe("/ready");
    container["livenessProbe"] = probe("/alive");
    container["livenessProbe"]["initialDelaySeconds"] = json!(1);
    let mut spec = never(&container);
    spec["restartPolicy"] = json!("Always");
    world.create("probed", spec).await;
    world.phase("probed", "Running").await;
    world.until("probed", |pod| pod["status"]["containerStatuses"][0]["ready"] == true).await;
    let (output, code) = exec(&world, "probed", &["rm", "/alive"]).await;
    assert_eq!((output.as_str(), code), ("", Some("Success".into())));
    let pod = world.until("probed", |pod| pod["status"]["containerStatuses"][0]["restartCount"] == 1).await;
    let exit = &pod["status"]["containerStatuses"][0]["lastState"]["terminated"];
    assert_eq!(exit["exitCode"], 137, "sleep as the first process ignores the polite signal: {exit}");
    world.end().await;
}

/// Runs a command in the pod; output and status.
async fn exec(world: &World, pod: &str, command: &[&str]) -> (String, Option<String>) {
    let parameters = AttachParams::default().stderr(true);
    let mut process = world.pods().exec(pod, command.to_vec(), &parameters).await.expect("exec");
    let mut output = String::new();
    process.stdout().expect("stdout").read_to_string(&mut output).await.expect("text");
    let status = process.take_status().expect("a status").await;
    (output, status.and_then(|status| status.status))
}

#[tokio::test(flavor = "multi_thread")]
async fn exec_enters_the_sandbox_with_a_real_terminal() {
    let Some(world) = world().await else { return };
    world.create("host", never(&shell("export INNER=1; echo $$$$ > /pid; sleep 1000"))).await;
    world.phase("host", "Running").await;
    let (output, status) =
        exec(&world, "host", &["sh", "-c", "cat /pid; hostname; grep CapEff /proc/self/status; exit 4"])
            .await;
    assert_eq!(output, "1\nhost\nCapEff:\t0000000000000000\n");
    assert_eq!(status.as_deref(), Some("Failure"));
    let (output, _) = exec(&world, "host", &["no-such-program"]).await;
    assert_eq!(output, "");
    let parameters = AttachParams::interactive_tty();
    let mut process = world.pods().exec("host", ["sh"], &parameters).await.expect("exec");
    let mut sizes = process.terminal_size().expect("a terminal");
    sizes.send(TerminalSize { width: 123, height: 45 }).await.expect("resized");
    let mut stdin = process.stdin().expect("stdin");
    let mut stdout = process.stdout().expect("stdout");
    // The size is set by another message than what is typed, so it is asked for until it has arrived.
    stdin.write_all(b"while [ \"$(stty size)\" != '45 123' ]; do sleep 0.05; done; test -t 0 && echo ter''minal; exit 9\n").await.expect("typed");
    let mut text = String::new();
    stdout.read_to_string(&mut text).await.expect("text");
    assert!(text.contains("terminal\r\n"), "{text:?}");
    let status = process.take_status().expect("a status").await.expect("a status");
    assert_eq!(status.reason.as_deref(), Some("NonZeroExitCode"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attaching_and_forwarding_reach_the_process() {
    let Some(world) = world().await else { return };
    let mut container = shell("while read line; do echo got $line; done");
    container["stdin"] = json!(true);
    container["stdinOnce"] = json!(true);
    world.create("cat", never(&container)).await;
    world.phase("cat", "Running").await;
    let parameters = AttachParams::default().stdin(true).stderr(false);
    let mut process = world.pods().attach("cat", &parameters).await.expect("attach");
    let mut stdin = process.stdin().expect("stdin");
    let mut stdout = tokio_util::io::ReaderStream::new(process.stdout().expect("stdout"));
    stdin.write_all(b"hello\n").await.expect("typed");
    let chunk = stdout.next().await.expect("output").expect("output");
    assert_eq!(&chunk[..], b"got hello\n");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        stream.write_all(b"welcome").await.expect("written");
    });
    let mut forward = world.pods().portforward("cat", &[port]).await.expect("forwarded");
    let mut stream = forward.take_stream(port).expect("a stream");
    let mut text = String::new();
    stream.read_to_string(&mut text).await.expect("read");
    assert_eq!(text, "welcome");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_run_and_claims_are_directories_under_the_allowed_roots() {
    let Some(world) = world().await else { return };
    let volumes = world.folder.path().join("volumes");
    for (name, path) in [("ours", volumes.join("data")), ("theirs", "/etc".into())] {
        let volume = json!({ "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": name }, "spec": {
            "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "claimRef": { "namespace": "default", "name": name }, "hostPath": { "path": path } } });
        let api = Api::all(world.client.clone());
        let volume: k8s_openapi::api::core::v1::PersistentVolume =
            serde_json::from_value(volume).expect("a volume");
        api.create(&PostParams::default(), &volume).await.expect("created");
        let claim = json!({ "metadata": { "name": name }, "spec": { "volumeName": name, "storageClassName": "",
            "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } });
        let claim: k8s_openapi::api::core::v1::PersistentVolumeClaim =
            serde_json::from_value(claim).expect("a claim");
        let api = Api::namespaced(world.client.clone(), "default");
        api.create(&PostParams::default(), &claim).await.expect("created");
    }
    let mut container = shell("sleep 1000");
    container["volumeMounts"] = json!([{ "name": "data", "mountPath": "/data" }]);
    container["lifecycle"] = json!({
        "postStart": { "exec": { "command": ["sh", "-c", "echo started > /data/log"] } },
        "preStop": { "exec": { "command": ["sh", "-c", "echo stopping >> /data/log"] } },
    });
    let with = |claim: &str| {
        let mut spec = never(&container);
        spec["volumes"] = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": claim } }]);
        spec
    };
    world.create("ours", with("ours")).await;
    world.create("theirs", with("theirs")).await;
    world.until("ours", |pod| pod["status"]["containerStatuses"][0]["ready"] == true).await;
    let log = volumes.join("data/log");
    world.pods().delete("ours", &DeleteParams::default()).await.expect("deletable");
    world.until("ours", Value::is_null).await;
    assert_eq!(std::fs::read_to_string(&log).expect("it outlives the pod"), "started\nstopping\n");
    let refused = world
        .until("theirs", |pod| {
            pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"].is_string()
        })
        .await;
    let message = refused["status"]["containerStatuses"][0]["state"]["waiting"]["message"].clone();
    assert!(message.as_str().expect("text").contains("may use"), "{message}");
    world.end().await;
}
