//! Programs that really meet: small Python programs on the local node, which find each other by nothing but what their
//! type of job gives them. All Pods of the local node share the machine's address and it has no DNS, so a program dials
//! loopback and then makes sure that it reached the host it was told: each says its host name first.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::{net::Ipv4Addr, path::Path, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client,
    api::{LogParams, PostParams},
};
use maar_api::v1alpha1::{AIJob, JobPhase};
use maar_controller::{Environment, RoleConfig, backoff::Dice, clock::SystemClock};
use maar_embedded::{Cluster, Config};
use maar_jobs::{Entropy, JobsMetrics, Settings, install, role};
use maar_nodes::{Clock, LocalOptions, find_sandbox, run_local};
use maar_testkit::ports::free_ports;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

const PATIENCE: Duration = Duration::from_mins(2);

/// Dialling and listening, for all programs.
const COMMON: &str = r#"
import os, socket, time
me = socket.gethostname()

def listen(port):
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    server.listen(16)
    return server

def dial(host, port, word):
    for _ in range(300):
        try:
            peer = socket.create_connection(("127.0.0.1", port), timeout=5)
            break
        except OSError:
            time.sleep(0.1)
    else:
        raise SystemExit("nobody listens for " + host)
    lines = peer.makefile("rw")
    lines.write(me + " " + word + "\n"); lines.flush()
    name = lines.readline().strip()
    assert name == host.split(".")[0], (name, host)
    return name

def answer(server):
    peer, _ = server.accept()
    lines = peer.makefile("rw")
    said = lines.readline().split()
    lines.write(me + "\n"); lines.flush()
    return said
"#;

/// Rank 0 waits for all others; all others find rank 0.
const DDP: &str = r#"
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
port = int(os.environ["MASTER_PORT"])
if rank == 0:
    server = listen(port)
    ranks = {0} | {int(answer(server)[1]) for _ in range(world - 1)}
    assert ranks == set(range(world)), ranks
    print("met", sorted(ranks))
else:
    dial(os.environ["MASTER_ADDR"], port, str(rank))
    time.sleep(600)
"#;

/// The launcher finds every worker of the host file.
const MPI: &str = r#"
port = int(os.environ["PORT"])
if os.environ["MAAR_TASK"] == "worker":
    answer(listen(port + int(os.environ["MAAR_INDEX"])))
    time.sleep(600)
else:
    lines = open(os.environ["OMPI_MCA_orte_default_hostfile"]).read().split("\n")
    hosts = [line.split() for line in lines if line]
    assert all(slots == "slots=2" for _, slots in hosts), hosts
    met = [dial(host, port + index, "launch") for index, (host, _) in enumerate(hosts)]
    assert "PRIVATE KEY" in open("/etc/maar/ssh/id_ed25519").read()
    print("met", met)
"#;

/// Workers join the head.
const RAY: &str = r#"
host, port = os.environ["RAY_ADDRESS"].split(":")
if os.environ["MAAR_TASK"] == "head":
    server = listen(int(os.environ["RAY_PORT"]))
    print("met", sorted(answer(server)[0] for _ in range(2)))
else:
    dial(host, int(port), "join")
    time.sleep(600)
"#;

struct World {
    client: Client,
    _cluster: Cluster,
    _folder: tempfile::TempDir,
    _stop: DropGuard,
}

/// A cluster with the local node and the role, or nothing where there can be none.
async fn world() -> Option<World> {
    if find_sandbox().await.is_err() {
        maar_testkit::absent!("bubblewrap");
        return None;
    }
    if !Path::new("/usr/bin/python3").exists() {
        maar_testkit::absent!("python3");
        return None;
    }
    let sandbox = find_sandbox().await.ok()?;
    let cluster = Cluster::start(Config::wall()).await.unwrap();
    let client = cluster.client();
    install(&client).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let stop = CancellationToken::new();
    let time = cluster.world().clock.clone();
    let options = LocalOptions {
        name: "local".into(),
        set: "local".into(),
        clock: Clock::new(move || time.now()),
        state: folder.path().join("state"),
        volume_roots: Vec::new(),
        address: Ipv4Addr::LOCALHOST.into(),
        api_server: None,
        tainted: false,
    };
    let node = run_local(client.clone(), sandbox, options, stop.clone()).await.unwrap();
    cluster.set_kubelets(node.dialer());
    let environment = Environment::new(Arc::new(SystemClock), Dice::seeded(1));
    let config = RoleConfig { identity: "test".to_owned(), election: None, drain: Duration::from_secs(2) };
    let metrics = JobsMetrics::register(&environment.metrics);
    let role = role(&Settings::new(Entropy::system()), &metrics);
    tokio::spawn(role.run(client.clone(), config, environment, stop.clone()));
    Some(World { client, _cluster: cluster, _folder: folder, _stop: stop.drop_guard() })
}

fn task(name: &str, replicas: i32, program: &str, port: u16) -> Value {
    let container = json!({
        "name": "main", "image": "none", "command": ["/usr/bin/python3", "-u", "-c", format!("{COMMON}{program}")],
        "env": [{ "name": "PORT", "value": port.to_string() }],
    });
    let spec = json!({
        "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 1, "containers": [container],
    });
    json!({ "name": name, "replicas": replicas, "template": { "spec": spec } })
}

impl World {
    /// Runs a job to its end and returns what a Pod of it wrote.
    async fn run(&self, name: &str, spec: Value, pod: &str) -> String {
        let jobs: Api<AIJob> = Api::namespaced(self.client.clone(), "default");
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), "default");
        let job = serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap();
        jobs.create(&PostParams::default(), &job).await.unwrap();
        let ended = timeout(PATIENCE, async {
            loop {
                let status = jobs.get(name).await.unwrap().status.unwrap_or_default();
                if status.phase.is_final() {
                    return status;
                }
                sleep(Duration::from_millis(100)).await;
            }
        });
        let Ok(status) = ended.await else {
            panic!("{name} does not end: {:#?}", jobs.get(name).await.unwrap().status);
        };
        let log = pods.logs(pod, &LogParams::default()).await.unwrap_or_default();
        assert_eq!(status.phase, JobPhase::Completed, "{log}\n{status:#?}");
        log
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pytorch_programs_meet() {
    let Some(world) = world().await else { return };
    let port = free_ports(1);
    let tasks = json!([task("master", 1, DDP, port), task("worker", 2, DDP, port)]);
    let spec = json!({ "type": "PyTorch", "tasks": tasks, "launch": { "port": port } });
    assert_eq!(world.run("ddp", spec, "ddp-master-0").await, "met [0, 1, 2]\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn mpi_programs_meet() {
    let Some(world) = world().await else { return };
    let port = free_ports(2);
    let tasks = json!([task("launcher", 1, MPI, port), task("worker", 2, MPI, port)]);
    let spec = json!({ "type": "MPI", "tasks": tasks, "launch": { "processesPerPod": 2 } });
    assert_eq!(world.run("mpi", spec, "mpi-launcher-0").await, "met ['mpi-worker-0', 'mpi-worker-1']\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn ray_programs_meet() {
    let Some(world) = world().await else { return };
    let port = free_ports(1);
    let tasks = json!([task("head", 1, RAY, port), task("worker", 2, RAY, port)]);
    let spec = json!({ "type": "Ray", "tasks": tasks, "launch": { "port": port } });
    assert_eq!(world.run("ray", spec, "ray-head-0").await, "met ['ray-worker-0', 'ray-worker-1']\n");
}
