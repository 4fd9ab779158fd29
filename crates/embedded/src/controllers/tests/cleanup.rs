//! Garbage collection, namespaces and CRDs.
#![expect(clippy::needless_pass_by_value, reason = "tables of JSON literals read better by value")]

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, from_value, json};

use super::harness::{World, template};

fn config(name: &str, owners: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": owners}})
}

fn owner(object: &ConfigMap, block: bool) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": object.metadata.name, "uid": object.metadata.uid,
        "blockOwnerDeletion": block})
}

async fn own(world: &World) -> Vec<String> {
    let mut names = world.names::<ConfigMap>().await;
    names.retain(|name| name != "kube-root-ca.crt");
    names
}

#[tokio::test(start_paused = true)]
async fn dependents_go_with_their_last_owner() {
    let mut world = World::new(0).await;
    let one: ConfigMap = world.create(config("one", json!([]))).await;
    let two: ConfigMap = world.create(config("two", json!([]))).await;
    world.create::<ConfigMap>(config("both", json!([owner(&one, false), owner(&two, false)]))).await;
    let child: ConfigMap = world.create(config("child", json!([owner(&one, false)]))).await;
    world.create::<ConfigMap>(config("grandchild", json!([owner(&child, false)]))).await;
    let mut stranger = owner(&two, false);
    stranger["uid"] = json!("00000000-0000-4000-8000-000000000000");
    world
        .create::<Secret>(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "stale",
        "ownerReferences": [stranger]}}))
        .await;
    world.api::<ConfigMap>().delete("one", &DeleteParams::background()).await.unwrap();
    world.wait("dependents to go", async |world| own(world).await == ["both", "two"]).await;
    world.wait("the stale one to go", async |world| world.names::<Secret>().await.is_empty()).await;
    let both: ConfigMap = world.get("both").await;
    assert_eq!(both.metadata.owner_references.unwrap().len(), 1, "the gone owner is taken off");
}

#[tokio::test(start_paused = true)]
async fn foreground_deletion_waits_for_what_blocks() {
    let mut world = World::new(0).await;
    let parent: ConfigMap = world.create(config("parent", json!([]))).await;
    let mut held = config("held", json!([owner(&parent, true)]));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    world.create::<ConfigMap>(held).await;
    world.create::<ConfigMap>(config("loose", json!([owner(&parent, false)]))).await;
    world.api::<ConfigMap>().delete("parent", &DeleteParams::foreground()).await.unwrap();
    world.pass(std::time::Duration::from_secs(5)).await;
    let waiting: ConfigMap = world.get("parent").await;
    assert_eq!(waiting.metadata.finalizers.as_deref(), Some(&["foregroundDeletion".to_owned()][..]));
    assert!(world.get::<ConfigMap>("held").await.metadata.deletion_timestamp.is_some());
    assert!(!own(&world).await.contains(&"loose".to_owned()), "what holds nothing up need not wait either");
    world.patch::<ConfigMap>("held", json!({"metadata": {"finalizers": null}})).await;
    world.wait("everything to go", async |world| own(world).await.is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn orphans_stay_and_are_taken_in_again() {
    let mut world = World::new(1).await;
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template("web", "i", json!({}))}});
    world.create::<Deployment>(deployment.clone()).await;
    world.wait("two Pods", async |world| world.list::<Pod>().await.len() == 2).await;
    let sets = world.names::<ReplicaSet>().await;
    world.api::<Deployment>().delete("web", &DeleteParams::orphan()).await.unwrap();
    world.wait("the Deployment to go", async |world| world.names::<Deployment>().await.is_empty()).await;
    world.pass(std::time::Duration::from_secs(5)).await;
    let set: ReplicaSet = world.get(&sets[0]).await;
    assert_eq!(set.metadata.owner_references, None);
    assert_eq!(world.list::<Pod>().await.len(), 2);
    let again: Deployment = world.create(deployment).await;
    world
        .wait("adoption", async |world| {
            let owners =
                world.get::<ReplicaSet>(&sets[0]).await.metadata.owner_references.unwrap_or_default();
            owners.iter().any(|owner| Some(&owner.uid) == again.metadata.uid.as_ref())
        })
        .await;
    assert_eq!(world.names::<ReplicaSet>().await, sets);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_goes_with_everything_in_it() {
    let mut world = World::new(1).await;
    let namespaces: Api<Namespace> = Api::all(world.client.clone());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
    namespaces.create(&PostParams::default(), &from_value(namespace).unwrap()).await.unwrap();
    let deployments: Api<Deployment> = Api::namespaced(world.client.clone(), "team");
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template("web", "i", json!({}))}});
    deployments.create(&PostParams::default(), &from_value(deployment).unwrap()).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(world.client.clone(), "team");
    let mut held = config("held", json!([]));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    maps.create(&PostParams::default(), &from_value(held).unwrap()).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(world.client.clone(), "team");
    world.wait("Pods", async |_| pods.list(&ListParams::default()).await.unwrap().items.len() == 2).await;
    namespaces.delete("team", &DeleteParams::default()).await.unwrap();
    world.pass(std::time::Duration::from_secs(20)).await;
    let waiting = namespaces.get("team").await.unwrap().status.unwrap();
    assert_eq!(waiting.phase.as_deref(), Some("Terminating"));
    let remaining = waiting
        .conditions
        .unwrap()
        .into_iter()
        .find(|one| one.type_ == "NamespaceFinalizersRemaining")
        .unwrap();
    assert_eq!(remaining.status, "True");
    assert!(remaining.message.unwrap().contains("example.com/hold in 1 resource instances"));
    assert!(pods.list(&ListParams::default()).await.unwrap().items.is_empty());
    let release = json!({"metadata": {"finalizers": null}});
    maps.patch("held", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(release)).await.unwrap();
    world.wait("the namespace to go", async |_| namespaces.get_opt("team").await.unwrap().is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn a_definition_goes_after_its_objects() {
    let mut world = World::new(0).await;
    let definitions: Api<CustomResourceDefinition> = Api::all(world.client.clone());
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "toys.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "toys", "singular": "toy", "kind": "Toy", "listKind": "ToyList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
    definitions.create(&PostParams::default(), &from_value(definition).unwrap()).await.unwrap();
    world
        .wait("the definition to be established", async |_| {
            let status = definitions.get("toys.example.com").await.unwrap().status.unwrap_or_default();
            let conditions = status.conditions.unwrap_or_default();
            conditions.iter().any(|one| one.type_ == "Established" && one.status == "True")
        })
        .await;
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", "v1", "Toy"), "toys");
    let toys: Api<DynamicObject> = Api::namespaced_with(world.client.clone(), "default", &resource);
    let toy: DynamicObject = from_value(json!({"apiVersion": "example.com/v1", "kind": "Toy",
        "metadata": {"name": "ball", "finalizers": ["example.com/hold"]}}))
    .unwrap();
    let toy = toys.create(&PostParams::default(), &toy).await.unwrap();
    let owned =
        json!([{"apiVersion": "example.com/v1", "kind": "Toy", "name": "ball", "uid": toy.metadata.uid}]);
    world.create::<ConfigMap>(config("parts", owned)).await;
    definitions.delete("toys.example.com", &DeleteParams::default()).await.unwrap();
    world.pass(std::time::Duration::from_secs(5)).await;
    assert!(definitions.get("toys.example.com").await.unwrap().metadata.deletion_timestamp.is_some());
    assert!(toys.get("ball").await.unwrap().metadata.deletion_timestamp.is_some());
    let release = json!({"metadata": {"finalizers": null}});
    toys.patch("ball", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(release)).await.unwrap();
    world
        .wait("the definition to go", async |_| {
            definitions.get_opt("toys.example.com").await.unwrap().is_none()
        })
        .await;
    world.wait("what belonged to the toy to go", async |world| own(world).await.is_empty()).await;
}
