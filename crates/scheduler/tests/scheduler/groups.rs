//! Groups that others define: Volcano's PodGroups, and the upstream ones where they are served.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use maar_testkit::build::Build;
use maar_testkit::read::phase;
use maar_testkit::scenario;
use maar_testkit::scenario::Arena;
use serde_json::{Value, json};

use super::setup::{Scheduler, is_bound, one_of, start};

/// PodGroups of a group of the API.
fn pod_groups(arena: &Arena, group: &str, version: &str) -> Api<DynamicObject> {
    let kind =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, "PodGroup"), "podgroups");
    Api::namespaced_with(arena.client(), arena.namespace(), &kind)
}

/// Lets the cluster serve PodGroups as the project that defines them would: any fields, as far as the scheduler cares.
async fn define(arena: &Arena, group: &str, version: &str) {
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("podgroups.{group}"),
            "annotations": {"api-approved.kubernetes.io": "unapproved, a stand-in for tests"},
        },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": "podgroups", "singular": "podgroup", "kind": "PodGroup", "listKind": "PodGroupList"},
            "versions": [{"name": version, "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    }))
    .expect("a definition");
    let api: Api<CustomResourceDefinition> = Api::all(arena.client());
    let params = PatchParams::apply("maar-test").force();
    let name = definition.metadata.name.clone().unwrap_or_default();
    api.patch(&name, &params, &Patch::Apply(&definition)).await.expect("a definition can be installed");
    let groups = pod_groups(arena, group, version);
    arena
        .until("PodGroups to be served", async || {
            groups.list(&kube::api::ListParams::default()).await.map(drop).map_err(|error| error.to_string())
        })
        .await;
}

async fn make_group(arena: &Arena, group: &str, version: &str, spec: Value) {
    let api = pod_groups(arena, group, version);
    let object = serde_json::from_value(json!({
        "apiVersion": format!("{group}/{version}"), "kind": "PodGroup", "metadata": {"name": "four"}, "spec": spec,
    }))
    .expect("a group");
    api.create(&PostParams::default(), &object).await.expect("a group can be made");
}

/// Four Pods that start together: not three, and not before their group is there.
async fn starts_whole(
    arena: &Arena,
    member: impl Fn(usize) -> Build<Pod>,
    group: impl Future<Output = ()>,
) -> Scheduler {
    let scheduler = start(arena, arena.client(), "only");
    for number in 0..3 {
        arena.create(member(number)).await;
    }
    let bound = async || {
        let pods = arena.list::<Pod>("four").await;
        let bound = pods.iter().filter(|pod| is_bound(pod)).count();
        (bound > 0).then(|| format!("{bound} of {} are bound", pods.len()))
    };
    arena.never("a Pod without its group", 3, &bound).await;
    group.await;
    arena.never("a part of a gang", 3, &bound).await;
    arena.create(member(3)).await;
    arena
        .wait_all("all four to run", "four", |pods: &[Pod]| {
            pods.len() == 4 && pods.iter().all(|pod| phase(pod) == "Running")
        })
        .await;
    scheduler
}

scenario! {
    async fn a_volcano_pod_group_starts_whole(context) {
        let arena = context.arena();
        let (group, version) = ("scheduling.volcano.sh", "v1beta1");
        define(arena, group, version).await;
        let member = |number| {
            one_of(arena, "four", number).request("cpu", "1")
                .set("/metadata/annotations/scheduling.k8s.io~1group-name", "four")
        };
        let made = make_group(arena, group, version, json!({"minMember": 4, "queue": "default"}));
        starts_whole(arena, member, made).await.stop().await;
    }
}

scenario! {
    // Also against a real server, which has them on when it was started with `dev/real up --pod-groups`.
    async fn an_upstream_pod_group_starts_whole(context) {
        let arena = context.arena();
        let (group, version) = ("scheduling.k8s.io", "v1alpha2");
        if context.on() == On::Real {
            let served = arena.client().list_api_group_resources(&format!("{group}/{version}")).await;
            served.expect("PodGroups are served: dev/real up --pod-groups");
        } else {
            // A definition of one's own stands in only where it may.
            define(arena, group, version).await;
        }
        let member = |number| {
            one_of(arena, "four", number).request("cpu", "1")
                .pod_set("/spec/schedulingGroup", json!({"podGroupName": "four"}))
        };
        let made = make_group(arena, group, version, json!({"schedulingPolicy": {"gang": {"minCount": 4}}}));
        starts_whole(arena, member, made).await.stop().await;
    }
}
