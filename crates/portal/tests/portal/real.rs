//! The portal on a real kube-apiserver, with a token of its own ServiceAccount and exactly the rights of
//! deploy/rbac/portal.yaml.
//!
//! `make real` offers the cluster and asks for these tests, which are ignored otherwise.

use k8s_openapi::api::{
    core::v1::{Namespace, Secret},
    policy::v1::PodDisruptionBudget,
};
use kube::{
    Api,
    api::{DeleteParams, ListParams, PostParams},
};
use serde_json::{Value, json};

use super::{
    browser::Browser,
    lives::reaches,
    quotas::limits,
    world::{World, eventually},
};

/// A user whose name nobody has had before: namespaces of real clusters outlive tests.
pub(crate) async fn user(world: &World, name: &str) -> Browser {
    world.user(&format!("{name}-{}", std::process::id())).await
}

pub(crate) async fn ends(world: World, of: &[&Browser]) {
    let api: Api<Namespace> = Api::all(world.client.clone());
    for one in of {
        api.delete(&one.namespace().await, &DeleteParams::default()).await.unwrap();
    }
    world.leaves().await;
}

/// Makes a workspace as soon as the cluster counts such: its quotas learn of new kinds every half minute, and the portal
/// waits for a part of it.
pub(crate) async fn desk(of: &Browser, more: Value) -> String {
    let mut body = json!({ "name": "desk", "image": "busybox", "command": ["sleep", "1d"] });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    for _ in 0..6 {
        let (status, said) = of.post("/workspaces", body.clone()).await;
        if status == 201 {
            return format!("/workspaces/{}/desk", of.namespace().await);
        }
        let told = said["message"].as_str().unwrap_or_default();
        assert!(status == 503 && told.contains("does not yet count"), "{said}");
    }
    panic!("the cluster does not count workspaces");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real cluster: make real"]
async fn a_workspace_lives_on_a_real_cluster_and_its_namespace_has_walls() {
    let world =
        World::real(|settings| settings.limits = limits(&[("workspaces", "2"), ("nvidia.com/gpu", "2")]))
            .await;
    let (ada, eve) = (user(&world, "ada").await, user(&world, "eve").await);
    let path = desk(&ada, json!({ "cards": { "count": 2 } })).await;
    let shown = reaches(&ada, &path, "Running").await;
    assert!(
        shown["givenCards"].as_str().is_some_and(|cards| cards.starts_with("nvidia.com/gpu=")),
        "{shown}"
    );
    for part in ["logs", "events", "describe", "yaml", "usage", "neighbours"] {
        let (status, said) = ada.get(&format!("{path}/{part}")).await;
        assert_eq!(status, 200, "{part}: {said}");
    }
    assert_eq!(eve.get(&path).await.0, 404);

    // Quotas refuse, and are exact: the count of workspaces at once, cards when Pods are made.
    let ask = async |number: usize| {
        let body = json!({ "name": format!("w{number}"), "image": "busybox", "cards": { "count": 1 } });
        ada.post("/workspaces", body).await
    };
    let all = futures::future::join_all((0..6).map(ask)).await;
    assert_eq!(all.iter().filter(|(status, _)| *status == 201).count(), 1, "{all:?}");
    assert!(all.iter().all(|(status, said)| *status == 201 || said["code"] == "quotaExceeded"), "{all:?}");
    let pod = json!({ "metadata": { "name": "more" }, "spec": { "containers": [{ "name": "main", "image": "busybox",
        "resources": { "limits": { "nvidia.com/gpu": "1" } } }] } });
    assert_eq!(ada.post("/pods", pod).await.1["code"], "quotaExceeded");
    eventually("two used cards", async || ada.get("/quota").await.1["used"]["nvidia.com/gpu"] == "2").await;

    // A Pod that leads out of its container is refused by the namespace itself, not only by the portal.
    let namespace = ada.namespace().await;
    let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(world.client.clone(), &namespace);
    let out = json!({ "metadata": { "name": "out" }, "spec": { "hostNetwork": true, "containers": [{ "name": "main", "image": "busybox" }] } });
    let refused = pods.create(&PostParams::default(), &serde_json::from_value(out).unwrap()).await;
    assert!(refused.unwrap_err().to_string().contains("PodSecurity"), "the level is baseline");

    for action in ["suspend", "resume"] {
        assert_eq!(ada.call("POST", &format!("{path}/{action}"), None).await.0, 204);
        reaches(&ada, &path, if action == "suspend" { "Suspended" } else { "Running" }).await;
    }
    assert_eq!(ada.delete(&path).await.0, 204);
    eventually("the end", async || ada.get(&path).await.0 == 404).await;
    ends(world, &[&ada]).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real cluster: make real"]
async fn a_drain_tells_at_once_which_budget_holds_which_pod() {
    let world = World::real(|_| {}).await;
    let (ada, admin) = (user(&world, "ada").await, world.admin().await);
    let path = desk(&ada, json!({})).await;
    let node = reaches(&ada, &path, "Running").await["node"].as_str().unwrap().to_owned();
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(world.client.clone(), &ada.namespace().await);
    let budget = json!({ "metadata": { "name": "keep" },
        "spec": { "minAvailable": 1, "selector": { "matchLabels": { "maar.io/workspace": "desk" } } } });
    let budget = serde_json::from_value(budget).unwrap();
    budgets.create(&PostParams::default(), &budget).await.unwrap();
    eventually("the budget to be counted", async || {
        let status = budgets.get("keep").await.unwrap().status;
        status.is_some_and(|status| status.expected_pods == Some(1) && status.current_healthy == Some(1))
    })
    .await;
    let drain = format!("/nodes/{node}/drain");
    let (_, said) = admin.post(&drain, json!({ "timeoutSeconds": 2 })).await;
    let text = said.as_str().unwrap();
    assert!(text.contains("/desk: waits: The disruption budget keep needs 1 healthy pods"), "{text}");
    assert!(text.contains("not drained: 0 Pods are gone"), "{text}");
    budgets.delete("keep", &DeleteParams::default()).await.unwrap();
    let (_, said) = admin.post(&drain, json!({ "timeoutSeconds": 60 })).await;
    assert!(said.as_str().unwrap().contains("/desk: gone"), "{said}");
    ends(world, &[&ada]).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real cluster: make real"]
async fn what_the_manifest_does_not_grant_stays_forbidden() {
    let world = World::real(|_| {}).await;
    let forbidden = async |method: &str, path: &str, body: Value| {
        let request =
            http::Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request =
            request.body(if body.is_null() { Vec::new() } else { body.to_string().into_bytes() }).unwrap();
        match world.own.request::<Value>(request).await {
            Err(kube::Error::Api(status)) => assert_eq!(status.code, 403, "{method} {path}: {status:?}"),
            other => panic!("{method} {path}: {other:?}"),
        }
    };
    for (method, path, body) in [
        ("GET", "/api/v1/secrets", Value::Null),
        ("GET", "/api/v1/namespaces/kube-system/secrets", Value::Null),
        ("GET", "/api/v1/configmaps", Value::Null),
        ("DELETE", "/api/v1/nodes/none", Value::Null),
        ("DELETE", "/api/v1/namespaces/default", Value::Null),
        ("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles", Value::Null),
        (
            "POST",
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            json!({ "metadata": { "name": "mine" }, "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
                "subjects": [{ "kind": "ServiceAccount", "name": "maar-portal", "namespace": "maar-system" }] }),
        ),
        (
            "POST",
            "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings",
            json!({ "metadata": { "name": "mine" }, "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
                "subjects": [{ "kind": "ServiceAccount", "name": "maar-portal", "namespace": "maar-system" }] }),
        ),
        (
            "POST",
            "/api/v1/namespaces/kube-system/serviceaccounts/default/token",
            json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} }),
        ),
        (
            "POST",
            "/api/v1/namespaces/maar-system/serviceaccounts/maar-portal/token",
            json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} }),
        ),
    ] {
        forbidden(method, path, body).await;
    }
    let secrets: Api<Secret> = Api::all(world.client.clone());
    assert!(secrets.list(&ListParams::default().limit(1)).await.is_ok(), "whoever may can");
    world.leaves().await;
}
