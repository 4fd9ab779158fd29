//! Objects through a `kube::Client` without a socket: create, read, change, watch, delete.

mod definitions;
mod deletion;
mod names;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client};
use maar_embedded::{Cluster, Config};
use serde_json::json;

async fn cluster() -> (Cluster, Client) {
    let cluster = Cluster::start(Config { controllers: false, ..Config::simulated(1) }).await.unwrap();
    let client = cluster.client();
    (cluster, client)
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"key": value}})).unwrap()
}

fn pod(name: &str) -> Pod {
    let spec = json!({"containers": [{"name": "main", "image": "busybox:1.36"}]});
    serde_json::from_value(json!({"metadata": {"name": name, "labels": {"app": name}}, "spec": spec}))
        .unwrap()
}

fn status(error: kube::Error) -> (u16, String) {
    match error {
        kube::Error::Api(status) => (status.code, status.reason),
        other => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_lives_and_dies() {
    let (_cluster, client) = cluster().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let created = api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    assert_eq!(created.metadata.creation_timestamp.unwrap().0.to_string(), "2026-01-01T00:00:00Z");
    assert_eq!(created.metadata.managed_fields.unwrap().len(), 1);
    let again = api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap_err();
    assert_eq!(status(again), (409, "AlreadyExists".into()));
    let patch = Patch::Merge(json!({"data": {"key": "2", "more": "3"}}));
    let patched = api.patch("a", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(patched.data.unwrap()["more"], "3");
    assert_eq!(api.list(&ListParams::default().fields("metadata.name=a")).await.unwrap().items.len(), 1);
    api.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(status(api.get("a").await.unwrap_err()), (404, "NotFound".into()));
}

#[tokio::test(start_paused = true)]
async fn a_stale_replace_is_refused_and_a_fresh_one_is_not() {
    let (_cluster, client) = cluster().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let first = api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let mut change = first.clone();
    change.data.as_mut().unwrap().insert("key".into(), "2".into());
    let second = api.replace("a", &PostParams::default(), &change).await.unwrap();
    assert_ne!(first.metadata.resource_version, second.metadata.resource_version);
    assert_eq!(
        status(api.replace("a", &PostParams::default(), &change).await.unwrap_err()),
        (409, "Conflict".into())
    );
    let unchanged = api.replace("a", &PostParams::default(), &second).await.unwrap();
    assert_eq!(unchanged.metadata.resource_version, second.metadata.resource_version);
}

#[tokio::test(start_paused = true)]
async fn a_watch_sees_what_its_selector_sees() {
    let (_cluster, client) = cluster().await;
    let api: Api<Pod> = Api::default_namespaced(client);
    api.create(&PostParams::default(), &pod("before")).await.unwrap();
    let from = api.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let params = WatchParams::default().labels("app in (x, y)").timeout(1);
    let events = api.watch(&params, &from).await.unwrap().boxed();
    api.create(&PostParams::default(), &pod("x")).await.unwrap();
    api.create(&PostParams::default(), &pod("other")).await.unwrap();
    let relabel = Patch::Merge(json!({"metadata": {"labels": {"app": "z"}}}));
    api.patch("x", &PatchParams::default(), &relabel).await.unwrap();
    let seen: Vec<String> = events
        .map_ok(|event| match event {
            WatchEvent::Added(pod) => format!("added {}", pod.metadata.name.unwrap()),
            WatchEvent::Deleted(pod) => {
                format!("deleted {} {}", pod.metadata.name.unwrap(), pod.metadata.labels.unwrap()["app"])
            }
            other => format!("{other:?}"),
        })
        .try_collect()
        .await
        .unwrap();
    assert_eq!(seen, ["added x", "deleted x x"]);
}

#[tokio::test(start_paused = true)]
async fn lists_come_in_pages_of_one_revision() {
    let (_cluster, client) = cluster().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    for index in 0..5 {
        api.create(&PostParams::default(), &config_map(&format!("c{index}"), "1")).await.unwrap();
    }
    let first = api.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(first.items.len(), 2);
    assert_eq!(first.metadata.remaining_item_count, Some(3));
    api.delete("c3", &DeleteParams::default()).await.unwrap();
    let token = first.metadata.continue_.unwrap();
    let rest = api.list(&ListParams::default().limit(10).continue_token(&token)).await.unwrap();
    let names: Vec<_> = rest.items.into_iter().map(|item| item.metadata.name.unwrap()).collect();
    assert_eq!(names, ["c2", "c3", "c4"]);
}

#[tokio::test(start_paused = true)]
async fn apply_owns_fields_and_conflicts_over_them() {
    let (_cluster, client) = cluster().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let body = |value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"key": value}});
    api.patch("a", &PatchParams::apply("one"), &Patch::Apply(body("1"))).await.unwrap();
    let same = api.patch("a", &PatchParams::apply("one"), &Patch::Apply(body("1"))).await.unwrap();
    let conflict = api.patch("a", &PatchParams::apply("two"), &Patch::Apply(body("2"))).await.unwrap_err();
    assert_eq!(status(conflict), (409, "Conflict".into()));
    let forced = api.patch("a", &PatchParams::apply("two").force(), &Patch::Apply(body("2"))).await.unwrap();
    assert_ne!(same.metadata.resource_version, forced.metadata.resource_version);
    assert_eq!(forced.data.unwrap()["key"], "2");
}

#[tokio::test(start_paused = true)]
async fn what_does_not_exist_and_what_is_malformed_is_said() {
    let (_cluster, client) = cluster().await;
    let elsewhere: Api<ConfigMap> = Api::namespaced(client.clone(), "nowhere");
    let missing = elsewhere.create(&PostParams::default(), &config_map("a", "1")).await.unwrap_err();
    assert_eq!(status(missing), (404, "NotFound".into()));
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let mut broken = pod("x");
    broken.spec.as_mut().unwrap().containers.clear();
    assert_eq!(
        status(pods.create(&PostParams::default(), &broken).await.unwrap_err()),
        (422, "Invalid".into())
    );
    let namespaces: Api<Namespace> = Api::all(client);
    assert_eq!(namespaces.list(&ListParams::default()).await.unwrap().items.len(), 4);
}

/// Writes of one definition race. What is served must be what the last of them says: a late first write once took
/// away what the second had begun to serve.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_served_follows_the_last_write_of_a_definition() {
    let (_cluster, client) = cluster().await;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({"metadata": {"name": "things.example.com"}, "spec": {
        "group": "example.com", "scope": "Cluster", "names": {"plural": "things", "kind": "Thing"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    definitions.create(&PostParams::default(), &serde_json::from_value(definition).unwrap()).await.unwrap();
    for round in 0..300 {
        let writes = ["True", "False", "True", "False"].map(|status| {
            let definitions = definitions.clone();
            tokio::spawn(async move { establish(&definitions, status).await })
        });
        for write in writes {
            write.await.unwrap();
        }
        let (served, stored) = served_and_stored(&client, &definitions).await;
        assert_eq!(served, stored, "after round {round}");
    }
}

/// Whether things are served and whether their definition says so, at one moment: the part that accepts names writes too.
async fn served_and_stored(client: &Client, definitions: &Api<CustomResourceDefinition>) -> (bool, bool) {
    loop {
        let before = definitions.get("things.example.com").await.unwrap();
        let request = http::Request::get("/apis/example.com/v1/things").body(Vec::new()).unwrap();
        let served = client.request_text(request).await.is_ok();
        let after = definitions.get("things.example.com").await.unwrap();
        if before.metadata.resource_version == after.metadata.resource_version {
            return (served, is_established(&after));
        }
    }
}

async fn establish(definitions: &Api<CustomResourceDefinition>, status: &str) {
    let condition = json!({"type": "Established", "status": status, "reason": "Test", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let patch = Patch::Merge(json!({"status": {"conditions": [condition]}}));
    definitions.patch_status("things.example.com", &PatchParams::default(), &patch).await.unwrap();
}

fn is_established(definition: &CustomResourceDefinition) -> bool {
    let conditions = definition.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Established" && condition.status == "True")
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_read_again_is_refused() {
    let (_cluster, client) = cluster().await;
    let definition = json!({
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    });
    let definition: CustomResourceDefinition = serde_json::from_value(definition).unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &definition).await.unwrap();
    let kind = kube::core::GroupVersionKind::gvk("example.com", "v1", "Thing");
    let things: Api<kube::core::DynamicObject> =
        Api::default_namespaced_with(client, &kube::core::ApiResource::from_gvk(&kind));
    let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!({ "a": inner }));
    let thing = |levels| {
        let object = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": deep(levels)});
        serde_json::from_value(object).unwrap()
    };
    let create = PostParams::default();
    assert_eq!(status(things.create(&create, &thing(120)).await.unwrap_err()).0, 400);
    things.create(&create, &thing(60)).await.unwrap();
    let place = format!("/spec{}/b", "/a".repeat(59));
    let change = json!([{"op": "add", "path": place, "value": deep(100)}]);
    let change: Patch<()> = Patch::Json(serde_json::from_value(change).unwrap());
    assert_eq!(status(things.patch("a", &PatchParams::default(), &change).await.unwrap_err()).0, 400);
    things.delete("a", &DeleteParams::default()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_watch_lasts_as_long_as_is_usual_if_nothing_else_is_said() {
    let (_cluster, client) = cluster().await;
    for seconds in ["0", "9223372036854775807"] {
        let path = format!("/api/v1/configmaps?watch=true&timeoutSeconds={seconds}");
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let lines = client.request_stream(request).await.unwrap();
        let mut lines = std::pin::pin!(futures::AsyncBufReadExt::lines(lines));
        let ended = tokio::time::timeout(std::time::Duration::from_mins(30), lines.next()).await;
        assert!(ended.is_err(), "timeoutSeconds={seconds}");
    }
}

#[tokio::test(start_paused = true)]
async fn owners_in_a_circle_harm_nobody() {
    let cluster = Cluster::start(Config::simulated(1)).await.unwrap();
    let client = cluster.client();
    let sets: Api<k8s_openapi::api::apps::v1::ReplicaSet> = Api::default_namespaced(client.clone());
    let template =
        json!({"metadata": {"labels": {"x": "y"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let set = json!({"metadata": {"name": "a"}, "spec": {"replicas": 1, "selector": {"matchLabels": {"x": "y"}}, "template": template}});
    let made = sets.create(&PostParams::default(), &serde_json::from_value(set).unwrap()).await.unwrap();
    let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": made.metadata.uid, "controller": true});
    let patch = Patch::Merge(json!({"metadata": {"ownerReferences": [owner]}}));
    sets.patch("a", &PatchParams::default(), &patch).await.unwrap();
    let budgets: Api<k8s_openapi::api::policy::v1::PodDisruptionBudget> = Api::default_namespaced(client);
    let budget = json!({"metadata": {"name": "b"}, "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"x": "y"}}}});
    budgets.create(&PostParams::default(), &serde_json::from_value(budget).unwrap()).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_mins(1)).await;
    let status = budgets.get("b").await.unwrap().status.unwrap();
    assert_eq!((status.expected_pods, status.disruptions_allowed), (Some(1), Some(0)));
}
