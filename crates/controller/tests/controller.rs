//! A small but complete controller on the embedded cluster: what a domain crate writes, and what it can rely on.
//!
//! It keeps a copy of every ConfigMap labelled `copied: "yes"`, under a finalizer, in two processes of which one leads.

use std::{collections::BTreeMap, future::pending, sync::Arc, time::Duration};

use futures::StreamExt;
use http::Request;
use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap, events::v1::Event as KubeEvent};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams},
    client::Body,
    runtime::{
        reflector::{ObjectRef, Store},
        watcher::Event,
    },
};
use maar_controller::{
    Context, Environment, Error, Role, RoleConfig,
    apply::Writer,
    backoff::{Backoff, Dice},
    clock::TokioClock,
    events::{News, Severity},
    finalizer::{FinalizerError, reconcile},
    lease::Timing,
    pool::{Next, Pool, PoolError, WorkQueue},
    role::{Election, RoleError},
    watch::{Guarded, Selection, Watch},
};
use maar_embedded::{Cluster, Config};
use serde_json::json;
use tokio::{sync::watch, task::JoinHandle, time::sleep};
use tokio_util::sync::CancellationToken;
use tower::{BoxError, service_fn};

const FINALIZER: &str = "maar.io/copies";
const WRITER: Writer = Writer::new("maar-copies");
const NAMESPACE: &str = "default";

type Copied = Guarded<ConfigMap>;

/// The controller: watch, queue, pool.
async fn copies(context: Context) -> Result<(), PoolError> {
    let api: Api<Copied> = Api::namespaced(context.client.clone(), NAMESPACE);
    let selection = Selection { labels: Some("copied=yes".into()), fields: None };
    let (store, events) = Watch::new("configmaps", api, selection, context.environment.clone()).reflect();
    let queue = WorkQueue::new();
    let entrance = queue.clone();
    let feed = events.for_each(move |event| {
        if let Event::Apply(object) | Event::InitApply(object) = event {
            entrance.add(object.name_any());
        }
        std::future::ready(())
    });
    let pool =
        Pool { name: "copies", workers: 4, backoff: Backoff::WORK, environment: context.environment.clone() };
    let shutdown = context.shutdown.clone();
    let context = Arc::new(context);
    let work = |name| copy(Arc::clone(&context), store.clone(), name);
    tokio::select! {
        () = feed => Ok(()),
        ended = pool.run(queue, shutdown, work) => ended,
    }
}

async fn copy(
    context: Arc<Context>,
    store: Store<Copied>,
    name: String,
) -> Result<Next, FinalizerError<Error>> {
    let Some(object) = store.get(&ObjectRef::new(&name).within(NAMESPACE)) else {
        return Ok(Next::AwaitChange);
    };
    let Ok(map) = &object.0 else { return Ok(Next::AwaitChange) };
    let api: Api<ConfigMap> = Api::namespaced(context.client.clone(), NAMESPACE);
    let apply = async |map: Arc<ConfigMap>| {
        let copy = ConfigMap {
            metadata: named(&format!("{name}-copy")),
            data: map.data.clone(),
            ..ConfigMap::default()
        };
        WRITER.apply(&api, &copy).await?;
        let note = format!("copied to {name}-copy");
        context
            .recorder
            .record(&*map, News { severity: Severity::Normal, reason: "Copied", action: "Copying", note });
        Ok(Next::AwaitChange)
    };
    let clean_up = async |_| match api.get_opt(&format!("{name}-copy")).await {
        Ok(Some(copy)) => WRITER.delete(&api, &copy, DeleteParams::background()).await,
        Ok(None) => Ok(()),
        Err(source) => Err(Error::in_step("look for the copy", source)),
    };
    reconcile(&api, FINALIZER, Arc::new(map.clone()), apply, clean_up).await
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), namespace: Some(NAMESPACE.to_owned()), ..ObjectMeta::default() }
}

/// One process of the role, whose network can be cut.
struct Process {
    task: JoinHandle<Result<(), RoleError>>,
    stop: CancellationToken,
    connected: watch::Sender<bool>,
    environment: Environment,
}

fn process(cluster: &Cluster, identity: &str) -> Process {
    let (connected, wire) = watch::channel(true);
    let client = over(cluster.client(), wire);
    let clock = TokioClock::starting_at(jiff::Timestamp::UNIX_EPOCH);
    let environment = Environment::new(Arc::new(clock), Dice::seeded(7));
    let election = Election { namespace: NAMESPACE.into(), timing: Timing::default() };
    let config =
        RoleConfig { identity: identity.into(), election: Some(election), drain: Duration::from_secs(5) };
    let stop = CancellationToken::new();
    let role = Role::new("copies").leader_task("copies", copies);
    let task = tokio::spawn(role.run(client, config, environment.clone(), stop.clone()));
    Process { task, stop, connected, environment }
}

/// The same cluster over a wire that can be cut: requests then hang.
fn over(client: Client, wire: watch::Receiver<bool>) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request: Request<Body>| {
        let (client, wire) = (client.clone(), wire.clone());
        async move {
            if !*wire.borrow() {
                pending::<()>().await;
            }
            client.send(request).await.map_err(BoxError::from)
        }
    });
    Client::new(service, namespace)
}

async fn create(maps: &Api<ConfigMap>, name: &str, value: &str) {
    let mut metadata = named(name);
    metadata.labels = Some([("copied".to_owned(), "yes".to_owned())].into());
    let data = Some([("key".to_owned(), value.to_owned())].into());
    let map = ConfigMap { metadata, data, ..ConfigMap::default() };
    maps.create(&PostParams::default(), &map).await.expect("a map can be created");
}

async fn change(maps: &Api<ConfigMap>, name: &str, value: &str) {
    let patch = json!({ "data": { "key": value } });
    maps.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.expect("a map can be changed");
}

/// Name and value of each copy.
async fn copied(maps: &Api<ConfigMap>) -> BTreeMap<String, String> {
    let list = maps.list(&ListParams::default()).await.expect("maps can be listed");
    let copies = list.items.into_iter().filter(|map| map.name_any().ends_with("-copy"));
    copies
        .map(|map| (map.name_any(), map.data.unwrap_or_default().remove("key").unwrap_or_default()))
        .collect()
}

async fn holder(cluster: &Cluster) -> String {
    let leases: Api<Lease> = Api::namespaced(cluster.client(), NAMESPACE);
    let lease = leases.get("maar-copies").await.expect("there is a lease");
    lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn work_goes_on_when_the_leader_is_cut_off_and_ends_with_shutdown() {
    let cluster = Cluster::start(Config::simulated(1)).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), NAMESPACE);
    let first = process(&cluster, "first");
    sleep(Duration::from_secs(1)).await;
    let second = process(&cluster, "second");
    for number in 0..20 {
        create(&maps, &format!("map-{number}"), "a").await;
    }
    sleep(Duration::from_secs(5)).await;
    assert_eq!(copied(&maps).await.len(), 20);
    assert_eq!(holder(&cluster).await, "first");

    // The leader loses its network; the other one takes over and catches up.
    first.connected.send_replace(false);
    for number in 0..20 {
        change(&maps, &format!("map-{number}"), "b").await;
    }
    maps.delete("map-3", &DeleteParams::default()).await.unwrap();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(holder(&cluster).await, "second");
    let copies = copied(&maps).await;
    assert_eq!((copies.len(), copies.values().all(|value| value == "b")), (19, true), "{copies:?}");
    assert!(maps.get_opt("map-3").await.unwrap().is_none(), "the finalizer let it go after clean-up");
    assert!(first.environment.health.ready().iter().any(|line| !line.ok));

    // Back on the network it stands by; when the new leader stops it leads again.
    first.connected.send_replace(true);
    sleep(Duration::from_secs(30)).await;
    assert_eq!(holder(&cluster).await, "second");
    assert!(
        first.environment.health.ready().iter().all(|line| line.ok),
        "{:?}",
        first.environment.health.ready()
    );
    second.stop.cancel();
    second.task.await.unwrap().unwrap();
    change(&maps, "map-4", "c").await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!((holder(&cluster).await.as_str(), copied(&maps).await["map-4-copy"].as_str()), ("first", "c"));
    first.stop.cancel();
    first.task.await.unwrap().unwrap();
    assert_eq!(holder(&cluster).await, "");
}

#[tokio::test(start_paused = true)]
async fn people_see_one_event_per_map_however_often_it_was_copied() {
    let cluster = Cluster::start(Config::simulated(2)).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), NAMESPACE);
    let process = process(&cluster, "only");
    create(&maps, "map", "0").await;
    for number in 1..10 {
        sleep(Duration::from_secs(2)).await;
        change(&maps, "map", &number.to_string()).await;
    }
    sleep(Duration::from_secs(20)).await;
    process.stop.cancel();
    process.task.await.unwrap().unwrap();
    let events: Api<KubeEvent> = Api::namespaced(cluster.client(), NAMESPACE);
    let events = events.list(&ListParams::default()).await.unwrap().items;
    let copied: Vec<_> = events.iter().filter(|event| event.reason.as_deref() == Some("Copied")).collect();
    assert_eq!(copied.len(), 1);
    assert!(copied[0].series.as_ref().unwrap().count >= 10, "{:?}", copied[0].series);
}
