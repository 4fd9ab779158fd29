//! One seed, one history: hours of a busy cluster under random faults give the same event log every time, in this
//! process and in others (whose hash maps are seeded differently).
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher::Event;
use kube::{Api, Client, ResourceExt as _};
use maar_controller::apply::Writer;
use maar_controller::backoff::{Backoff, Dice};
use maar_controller::clock::TokioClock;
use maar_controller::events::{News, Severity};
use maar_controller::lease::Timing;
use maar_controller::pool::{Next, Pool, PoolError, WorkQueue};
use maar_controller::role::Election;
use maar_controller::watch::{Guarded, Selection, Watch};
use maar_controller::{Context, Environment, Error, Role, RoleConfig};
use maar_embedded::{Chances, Cluster, Component, Config, Faults};
use maar_nodes::{Clock, Failures, Handle, Options, Profile, simulate};
use maar_testkit::build::{Build, deployment, job};
use maar_testkit::sample::sampled;
use serde_json::json;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

const NAMESPACE: &str = "default";
const WRITER: Writer = Writer::new("toy");
const PROFILE: &str =
    "{name: test, startDelay: 1s, heartbeat: 30s, pools: [{name: cpu, count: 3, cpu: 8, memory: 16Gi}]}";

/// How long a history is; after a change, half of it will do.
fn hours() -> u64 {
    if sampled() { 1 } else { 2 }
}

/// The toy role: keeps a ConfigMap that says how many replicas each Deployment has.
async fn keep_notes(context: Context) -> Result<(), PoolError> {
    let api: Api<Guarded<Deployment>> = Api::namespaced(context.client.clone(), NAMESPACE);
    let events = Watch::new("deployments", api, Selection::default(), context.environment.clone()).stream();
    let queue = WorkQueue::new();
    let entrance = queue.clone();
    let feed = events.for_each(move |event| {
        if let Event::Apply(object) | Event::InitApply(object) = event {
            entrance.add(object.name_any());
        }
        std::future::ready(())
    });
    let environment = context.environment.clone();
    let pool = Pool { name: "notes", workers: 3, backoff: Backoff::WORK, environment };
    let shutdown = context.shutdown.clone();
    let context = Arc::new(context);
    tokio::select! {
        biased;
        ended = pool.run(queue, shutdown, |name| note(Arc::clone(&context), name)) => ended,
        () = feed => Ok(()),
    }
}

async fn note(context: Arc<Context>, name: String) -> Result<Next, Error> {
    let deployments: Api<Deployment> = Api::namespaced(context.client.clone(), NAMESPACE);
    let found = deployments.get_opt(&name).await.map_err(|error| Error::in_step("look", error))?;
    let Some(found) = found else { return Ok(Next::AwaitChange) };
    let available = found.status.as_ref().and_then(|status| status.available_replicas).unwrap_or(0);
    let note: ConfigMap = serde_json::from_value(json!({
        "metadata": {"name": format!("note-{name}"), "namespace": NAMESPACE},
        "data": {"available": available.to_string()},
    }))
    .unwrap();
    WRITER.apply(&Api::namespaced(context.client.clone(), NAMESPACE), &note).await?;
    let note = format!("{available} replicas are available");
    let news = News { severity: Severity::Normal, reason: "Noted", action: "Noting", note };
    context.recorder.record(&found, news);
    Ok(Next::After(Duration::from_mins(20)))
}

/// A process of the role that comes back whenever it crashes.
fn process(faults: &Faults, name: &'static str, seed: u64) -> Component {
    faults.run(name, Duration::from_secs(40), move |client| async move {
        let epoch = Timestamp::constant(1_767_225_600, 0);
        let clock = TokioClock::starting_at(epoch);
        let environment = Environment::new(Arc::new(clock), Dice::seeded(seed));
        // Unhurried, so that hours are not filled with renewals.
        let timing = Timing {
            lease_duration: Duration::from_mins(2),
            renew_deadline: Duration::from_secs(80),
            retry_period: Duration::from_secs(20),
            jitter: 0.2,
        };
        let election = Election { namespace: NAMESPACE.into(), timing };
        let config =
            RoleConfig { identity: name.into(), election: Some(election), drain: Duration::from_secs(5) };
        let role = Role::new("notes").leader_task("notes", keep_notes);
        let _ = role.run(client, config, environment, CancellationToken::new()).await;
    })
}

async fn create<K>(client: &Client, object: Build<K>)
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::Serialize
        + serde::de::DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(client.clone(), NAMESPACE);
    api.create(&PostParams::default(), &object.build()).await.unwrap();
}

/// What people and machines do to the cluster: rollouts, Jobs that fail, nodes that go away and come back.
async fn live(client: &Client, nodes: &Handle) {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    for name in ["web", "api"] {
        create(client, deployment(name).replicas(4).behave("ready-after", "3s")).await;
    }
    for quarter in 0..hours() * 4 {
        let exit = if quarter % 3 == 0 { "1" } else { "0" };
        let batch = job(&format!("batch-{quarter}")).behave("run-time", "30s").behave("exit-code", exit);
        create(client, batch.set("/spec/parallelism", 2).set("/spec/completions", 4)).await;
        let change = json!({"spec": {"replicas": 2 + quarter % 4, "template": {"spec": {
            "containers": [{"name": "main", "image": format!("image:{}", quarter / 2)}]}}}});
        let name = if quarter % 2 == 0 { "web" } else { "api" };
        deployments.patch(name, &PatchParams::default(), &Patch::Strategic(change)).await.unwrap();
        let node = format!("cpu-{}", quarter % 3);
        // The node is told over a faulty connection: it may take more than one try.
        while nodes.fail(&node, Failures { network: true, ..Failures::NONE }).await.is_err() {
            sleep(Duration::from_secs(1)).await;
        }
        sleep(Duration::from_mins(9)).await;
        while nodes.heal(&node).await.is_err() {
            sleep(Duration::from_secs(1)).await;
        }
        sleep(Duration::from_mins(6)).await;
    }
}

/// All Pods in a line each, for when something did not settle.
async fn pods(client: &Client) -> String {
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let pods = pods.list(&ListParams::default()).await.unwrap();
    let lines = pods.iter().map(|pod| {
        let ready = maar_testkit::read::pod_condition(pod, "Ready");
        let (phase, node) = (maar_testkit::read::phase(pod), maar_testkit::read::node(pod));
        format!(
            "{} {phase} on {node:?}, ready {ready:?}, going {:?}",
            pod.name_any(),
            pod.metadata.deletion_timestamp
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A whole history; answers its hash, and writes its log to a file.
async fn history(seed: u64, file: &Path) -> String {
    let cluster = Cluster::start(Config::simulated(seed)).await.unwrap();
    let faults = cluster.faults();
    let shutdown = CancellationToken::new();
    let world = cluster.world().clone();
    let options = Options::in_process("test", Clock::new(move || world.clock.now()), seed);
    let profile = Profile::parse(PROFILE).unwrap();
    let nodes = simulate(cluster.client_for("kubelets"), profile, options, shutdown.clone()).await.unwrap();
    cluster.set_kubelets(nodes.dialer());
    faults.by_seed(seed, Chances { crash: 0.01, ..Chances::ROUGH });
    // Whoever has no harness to start it anew must not die.
    faults.chances_of("kubelets", Chances::ROUGH);
    let first = process(&faults, "first", seed);
    let second = process(&faults, "second", seed + 1);
    let client = cluster.client();
    live(&client, &nodes).await;

    // Calm again, everything settles: faults delay work and lose none of it.
    faults.calm();
    sleep(Duration::from_mins(30)).await;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let written: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    for deployment in deployments.list(&ListParams::default()).await.unwrap() {
        let (name, wanted) = (deployment.name_any(), deployment.spec.unwrap().replicas.unwrap());
        let available = deployment.status.as_ref().and_then(|status| status.available_replicas);
        assert_eq!(available, Some(wanted), "{name}: {:#?}\n{}", deployment.status, pods(&client).await);
        let note = written.get(&format!("note-{name}")).await.unwrap();
        assert_eq!(note.data.unwrap()["available"], wanted.to_string(), "{name}");
    }
    let jobs: Api<Job> = Api::namespaced(client, NAMESPACE);
    for job in jobs.list(&ListParams::default()).await.unwrap() {
        let ended = job.status.as_ref().and_then(|status| status.conditions.as_ref());
        let ended = ended.is_some_and(|all| all.iter().any(|one| one.status == "True"));
        assert!(ended, "{}: {:?}", job.name_any(), job.status);
    }
    assert!(first.starts() + second.starts() > 2, "nobody crashed: the seed is too kind");
    let log = faults.log();
    let lines: Vec<String> = log.entries().iter().map(ToString::to_string).collect();
    std::fs::write(file, lines.join("\n")).unwrap();
    first.stop().await;
    second.stop().await;
    shutdown.cancel();
    format!("{} {} {}", log.count(), log.hash(), cluster.store().fingerprint())
}

/// The first place where two logs differ, with what came before.
fn difference(one: &Path, other: &Path) -> String {
    let [one, other] = [one, other].map(|file| std::fs::read_to_string(file).unwrap_or_default());
    let (one, other): (Vec<&str>, Vec<&str>) = (one.lines().collect(), other.lines().collect());
    let at =
        one.iter().zip(&other).position(|(one, other)| one != other).unwrap_or(one.len().min(other.len()));
    let from = at.saturating_sub(8);
    let part = |log: &[&str]| log[from..log.len().min(at + 4)].join("\n  ");
    format!("line {}:\n  {}\n---\n  {}", at + 1, part(&one), part(&other))
}

/// A history in a runtime of its own: tokio counts the steps of a runtime, so a second history in the same one would
/// begin in the middle of a count.
fn tell(seed: u64, file: &Path) -> String {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().start_paused(true).build().unwrap().block_on(history(seed, file))
}

/// Run by the test below, in processes of their own; a seed and the name of a file are its last arguments.
#[test]
#[ignore = "a part of another test, which runs it"]
fn child() {
    let arguments: Vec<String> = std::env::args().collect();
    let [.., seed, _, file] = &arguments[..] else { return };
    // Run by hand, among all ignored tests, there is nothing to tell.
    let Ok(seed) = seed.parse() else { return };
    println!("history {}", tell(seed, Path::new(file)));
}

/// Starts a history in a process of its own.
fn start(seed: u64, file: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    // Filters that match nothing else carry the arguments past the test harness.
    command.args(["--exact", "child", "--ignored", "--nocapture", "--skip", &seed.to_string(), "--skip"]);
    command.arg(file).stdout(Stdio::piped()).spawn().unwrap()
}

fn said(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.split_once("history "));
    line.map_or_else(|| panic!("the child said: {text}"), |(_, line)| line.to_owned())
}

#[test]
fn the_same_seed_gives_the_same_history_in_one_process_and_in_every_other() {
    let folder = tempfile::tempdir().unwrap();
    let [one, again, other, different] =
        ["one", "again", "other", "different"].map(|name| folder.path().join(name));
    let stranger = (!sampled()).then(|| start(8, &different));
    let child = start(7, &other);
    let [first, second] = [&one, &again].map(|file| tell(7, file));
    assert_eq!(first, second, "in one process: {}", difference(&one, &again));
    assert_eq!(first, said(child), "in another: {}", difference(&one, &other));
    if let Some(stranger) = stranger {
        assert_ne!(first, said(stranger), "another seed is another history");
    }
}
