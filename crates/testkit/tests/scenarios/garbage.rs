//! What goes with its owner, what waits, what stays, and what goes with a namespace.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, ServiceAccount};
use kube::api::{DeleteParams, PostParams, PropagationPolicy};
use kube::{Api, ResourceExt as _};
use maar_testkit::build::{Build, deployment, object, pod};
use maar_testkit::read::{is_ready, is_rolled_out};
use maar_testkit::scenario;
use serde_json::json;

fn owned(name: &str, owner: &ConfigMap, blocks: bool) -> Build<ConfigMap> {
    object(name, json!({})).set(
        "/metadata/ownerReferences",
        json!([{"apiVersion": "v1", "kind": "ConfigMap",
        "name": owner.name_any(), "uid": owner.uid(), "blockOwnerDeletion": blocks}]),
    )
}

scenario! {
    async fn what_is_owned_goes_in_the_background(context) {
        let arena = context.arena();
        arena.create(deployment("web").replicas(2)).await;
        arena.wait("the rollout", "web", is_rolled_out).await;
        arena.delete::<Deployment>("web", &DeleteParams::background()).await;
        arena.wait_gone::<Deployment>("the Deployment to go", "web").await;
        arena.wait_all("its ReplicaSet to go", "web", <[ReplicaSet]>::is_empty).await;
        arena.wait_all("its Pods to go", "web", <[Pod]>::is_empty).await;
    }
}

scenario! {
    async fn an_owner_in_the_foreground_waits_for_what_blocks(context) {
        let arena = context.arena();
        let parent: ConfigMap = arena.create(object("parent", json!({}))).await;
        let held = owned("held", &parent, true).set("/metadata/finalizers", json!(["example.com/hold"]));
        arena.create(held).await;
        arena.create(owned("loose", &parent, false)).await;
        arena.delete::<ConfigMap>("parent", &DeleteParams::foreground()).await;
        arena.wait_gone::<ConfigMap>("what does not block to go", "loose").await;
        let waiting = arena.wait("what blocks to be asked to go", "held", |map: &ConfigMap| {
            map.metadata.deletion_timestamp.is_some()
        }).await;
        assert_eq!(waiting.finalizers(), ["example.com/hold"]);
        assert_eq!(arena.get::<ConfigMap>("parent").await.finalizers(), ["foregroundDeletion"]);
        arena.patch::<ConfigMap>("held", json!({"metadata": {"finalizers": null}})).await;
        arena.wait_gone::<ConfigMap>("the owner to go", "parent").await;
    }
}

scenario! {
    async fn orphans_stay_and_lose_their_owner(context) {
        let arena = context.arena();
        arena.create(deployment("web").replicas(2)).await;
        arena.wait("the rollout", "web", is_rolled_out).await;
        let options = DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
        arena.delete::<Deployment>("web", &options).await;
        arena.wait_gone::<Deployment>("the Deployment to go", "web").await;
        let sets = arena.list::<ReplicaSet>("web").await;
        assert_eq!(sets.len(), 1);
        assert!(sets[0].owner_references().is_empty(), "{:?}", sets[0].metadata);
        let pods = arena.list::<Pod>("web").await;
        assert!(pods.len() == 2 && pods.iter().all(|pod| is_ready(pod) && !pod.owner_references().is_empty()));
    }
}

scenario! {
    async fn a_namespace_takes_everything_along(context) {
        let arena = context.arena();
        let name = arena.another_namespace("brief").await;
        let maps: Api<ConfigMap> = Api::namespaced(arena.client(), &name);
        let held = object::<ConfigMap>("held", json!({})).set("/metadata/finalizers", json!(["example.com/hold"]));
        maps.create(&PostParams::default(), &held.build()).await.expect("a map");
        let pods: Api<Pod> = Api::namespaced(arena.client(), &name);
        pods.create(&PostParams::default(), &pod("one").build()).await.expect("a Pod");
        let namespaces: Api<Namespace> = Api::all(arena.client());
        namespaces.delete(&name, &DeleteParams::default()).await.expect("it can be deleted");
        let waits = async || {
            let found = namespaces.get(&name).await.map_err(|error| error.to_string())?;
            let status = found.status.clone().unwrap_or_default();
            let remains = status.conditions.unwrap_or_default().into_iter()
                .any(|one| one.type_ == "NamespaceFinalizersRemaining" && one.status == "True");
            if remains && status.phase.as_deref() == Some("Terminating") { Ok(()) } else { Err(format!("{found:#?}")) }
        };
        arena.until("the namespace to say what holds it", waits).await;
        let refused = maps.create(&PostParams::default(), &object::<ConfigMap>("new", json!({})).build()).await;
        assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 403), "nothing new comes in");
        let free = kube::api::Patch::Merge(json!({"metadata": {"finalizers": null}}));
        maps.patch("held", &kube::api::PatchParams::default(), &free).await.expect("it can be freed");
        let gone = async || match namespaces.get_opt(&name).await {
            Ok(None) => Ok(()),
            other => Err(format!("{other:?}")),
        };
        arena.until("the namespace to go", gone).await;
    }
}

scenario! {
    async fn owners_in_a_circle_go_in_the_foreground(context) {
        let arena = context.arena();
        let first: ConfigMap = arena.create(object("first", json!({}))).await;
        let second: ConfigMap = arena.create(owned("second", &first, true)).await;
        let back = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "second", "uid": second.uid(),
            "blockOwnerDeletion": true}]);
        arena.patch::<ConfigMap>("first", json!({"metadata": {"ownerReferences": back}})).await;
        arena.delete::<ConfigMap>("first", &DeleteParams::foreground()).await;
        arena.wait_gone::<ConfigMap>("the first to go", "first").await;
        arena.wait_gone::<ConfigMap>("the second to go", "second").await;
    }
}

scenario! {
    async fn the_pods_of_a_namespace_end_before_anything_else_goes(context) {
        let arena = context.arena();
        let name = arena.another_namespace("orderly").await;
        let maps: Api<ConfigMap> = Api::namespaced(arena.client(), &name);
        maps.create(&PostParams::default(), &object("read-to-the-end", json!({})).build()).await.expect("a map");
        let pods: Api<Pod> = Api::namespaced(arena.client(), &name);
        let held = pod("busy").set("/metadata/finalizers", json!(["example.com/hold"]));
        pods.create(&PostParams::default(), &held.build()).await.expect("a Pod");
        let namespaces: Api<Namespace> = Api::all(arena.client());
        namespaces.delete(&name, &DeleteParams::default()).await.expect("it can be deleted");
        let tried = async || {
            let found = namespaces.get(&name).await.map_err(|error| error.to_string())?;
            let status = found.status.clone().unwrap_or_default();
            if status.conditions.is_some() { Ok(()) } else { Err(format!("{found:#?}")) }
        };
        arena.until("the namespace to be looked at", tried).await;
        assert!(pods.get("busy").await.expect("a Pod").metadata.deletion_timestamp.is_some());
        let map = maps.get("read-to-the-end").await.expect("what Pods may still need is there");
        assert_eq!(map.metadata.deletion_timestamp, None);
        let accounts: Api<ServiceAccount> = Api::namespaced(arena.client(), &name);
        accounts.get("default").await.expect("the account of the Pod is there");
        let free = kube::api::Patch::Merge(json!({"metadata": {"finalizers": null}}));
        pods.patch("busy", &kube::api::PatchParams::default(), &free).await.expect("it can be freed");
        let gone = async || match namespaces.get_opt(&name).await {
            Ok(None) => Ok(()),
            other => Err(format!("{other:?}")),
        };
        arena.until("the namespace to go", gone).await;
    }
}
