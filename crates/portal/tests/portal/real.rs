//! The portal on a real kube-apiserver, with a token of its own ServiceAccount and exactly the rights of
//! deploy/rbac/portal.yaml.
//!
//! `make real` offers the cluster and asks for these tests, which are ignored otherwise.

use k8s_openapi::api::{
    core::v1::{Namespace, Pod, Secret},
    policy::v1::PodDisruptionBudget,
};
use kube::{
    Api,
    api::{DeleteParams, ListParams, PostParams},
};
use serde_json::{Value, json};

mod cards;
mod limits;

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

/// Makes a workspace. On a fresh cluster, too, nobody is told to wait until its quotas have learnt of new kinds.
pub(crate) async fn desk(of: &Browser, more: Value) -> String {
    let mut body = json!({ "name": "desk", "image": "busybox", "command": ["sleep", "1d"] });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let (status, said) = of.post("/workspaces", body).await;
    assert_eq!(status, 201, "{said}");
    format!("/workspaces/{}/desk", of.namespace().await)
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
    let pods: Api<Pod> = Api::namespaced(world.client.clone(), &namespace);
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
async fn an_account_of_a_real_cluster_has_no_more_workspaces_than_it_may() {
    let world = World::real(|settings| settings.requests_per_second = 1000).await;
    let (ada, admin, lab) =
        (user(&world, "ada").await, world.admin().await, format!("lab-{}", std::process::id()));
    let account = json!({ "name": lab, "capability": { "workspaces": "2" } });
    assert_eq!(admin.post("/accounts", account).await.0, 201);
    let member = format!("/accounts/{lab}/members/ada-{}", std::process::id());
    assert_eq!(admin.put(&member, json!({})).await.0, 204);
    eventually("her part", async || ada.get(&format!("/accounts/{lab}")).await.0 == 200).await;
    let ask = async |number: usize| {
        let body = json!({ "name": format!("w{number}"), "image": "busybox", "account": lab });
        ada.post("/workspaces", body).await
    };
    let all = futures::future::join_all((0..8).map(ask)).await;
    assert_eq!(all.iter().filter(|(status, _)| *status == 201).count(), 2, "{all:?}");
    assert!(all.iter().all(|(status, said)| *status == 201 || said["field"] == "account"), "{all:?}");
    ends(world, &[&ada]).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real cluster: make real"]
async fn a_job_lives_on_a_real_cluster_and_one_that_waits_says_why() {
    let world = World::real(|_| {}).await;
    let ada = user(&world, "ada").await;
    let job = |name: &str, replicas: u32, cards: u32| {
        let container = json!({ "name": "main", "image": "busybox", "command": ["sleep", "1d"] });
        json!({ "metadata": { "name": name }, "spec": { "tasks": [{ "name": "worker", "replicas": replicas,
            "cards": { "count": cards }, "template": { "spec": { "containers": [container] } } }] } })
    };
    for (name, replicas, cards) in [("train", 2, 1), ("large", 1, 1000)] {
        let (status, said) = ada.post("/jobs", job(name, replicas, cards)).await;
        assert_eq!(status, 201, "{said}");
    }
    let path = format!("/jobs/{}/train", ada.namespace().await);
    reaches(&ada, &path, "Running").await;
    for part in ["logs", "events", "describe", "yaml", "usage", "pods"] {
        let (status, said) = ada.get(&format!("{path}/{part}")).await;
        assert_eq!(status, 200, "{part}: {said}");
    }
    for action in ["suspend", "resume"] {
        assert_eq!(ada.call("POST", &format!("{path}/{action}"), None).await.0, 204);
        reaches(&ada, &path, if action == "suspend" { "Suspended" } else { "Running" }).await;
    }
    let why = format!("/jobs/{}/large/why", ada.namespace().await);
    eventually("the reason", async || {
        let (status, said) = ada.get(&why).await;
        assert!(status != 404, "{said}");
        status == 200 && said.to_string().contains("nodes")
    })
    .await;
    assert_eq!(ada.post(&format!("{path}/cancel"), json!({})).await.0, 204);
    reaches(&ada, &path, "Aborted").await;
    ends(world, &[&ada]).await;
}

/// Whether the Pod of this name is there.
async fn has_pod(world: &World, of: &Browser, name: &str) -> bool {
    let pods: Api<Pod> = Api::namespaced(world.client.clone(), &of.namespace().await);
    pods.get_opt(name).await.unwrap().is_some()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real cluster: make real"]
async fn a_drain_tells_which_budget_holds_which_pod_and_closes_the_node_until_it_is_opened() {
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
    assert_eq!(ada.get(&path).await.1["node"], node.as_str(), "the budget holds");
    budgets.delete("keep", &DeleteParams::default()).await.unwrap();
    let (_, said) = admin.post(&drain, json!({ "timeoutSeconds": 60 })).await;
    assert!(said.as_str().unwrap().contains("/desk: gone"), "{said}");
    // It comes back elsewhere, and what insists on the node that is closed runs when it is opened.
    eventually("the workspace to move", async || {
        let (_, now) = ada.get(&path).await;
        now["phase"] == "Running" && now["node"] != node.as_str()
    })
    .await;
    assert_eq!(admin.get(&format!("/nodes/{node}")).await.1["schedulable"], false);
    let here = json!({ "name": "here", "image": "busybox", "command": ["sleep", "1d"], "nodes": [node] });
    assert_eq!(ada.post("/workspaces", here).await.0, 201);
    let here = format!("/workspaces/{}/here", ada.namespace().await);
    eventually("its Pod", async || has_pod(&world, &ada, "here").await).await;
    assert_ne!(ada.get(&here).await.1["phase"], "Running", "the node is closed");
    assert_eq!(admin.call("POST", &format!("/nodes/{node}/uncordon"), None).await.0, 204);
    assert_eq!(reaches(&ada, &here, "Running").await["node"], node.as_str());
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
