//! What one user may have, held by a real cluster however many requests come at once.

use futures::future::join_all;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::ListParams};
use serde_json::{Value, json};

use super::{ends, user};
use crate::{
    browser::Browser,
    quotas::{CARD, pod},
    world::{World, eventually},
};

/// How many Pods of somebody have a node.
async fn placed(world: &World, of: &Browser) -> usize {
    let pods: Api<Pod> = Api::namespaced(world.client.clone(), &of.namespace().await);
    let all = pods.list(&ListParams::default()).await.unwrap().items;
    all.iter().filter(|pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some())).count()
}

/// How many ask at once.
const ASKING: usize = 8;

async fn sets(world: &World, of: &Browser, limits: Value) {
    let id = of.get("/me").await.1["id"].as_str().unwrap().to_owned();
    let path = format!("/users/{id}/limits");
    let (status, said) = world.admin().await.put(&path, json!({ "limits": limits })).await;
    assert_eq!(status, 200, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real cluster: make real"]
async fn nobody_runs_on_more_cards_processors_or_memory_than_he_may() {
    let world = World::real(|settings| settings.requests_per_second = 1000).await;
    // Of each as many as fit, and not one more: what is limited, what one Pod asks for, and how many that makes.
    let table = [
        ("cards", json!({ CARD: "3" }), (1, 1, 1), 3, CARD),
        ("processors", json!({ "cpu": "7" }), (0, 2, 1), 3, "cpu"),
        ("memory", json!({ "memory": "20Gi" }), (0, 1, 4), 5, "memory"),
    ];
    let (mut all_users, mut fits) = (Vec::new(), Vec::new());
    for (name, limit, size, fit, what) in table {
        let one = user(&world, name).await;
        sets(&world, &one, limit).await;
        let ask = async |number: usize| one.post("/pods", pod(&format!("p{number}"), size)).await;
        let all = join_all((0..ASKING).map(ask)).await;
        // kube-controller-manager counts from caches that may be behind: the cluster may take one more. It never runs.
        for (_, said) in all.iter().filter(|(status, _)| *status != 201) {
            assert_eq!(said["code"], "quotaExceeded", "{name}: {said}");
            assert!(said["message"].as_str().unwrap().contains(what), "{name}: {said}");
        }
        eventually("as many as fit", async || {
            let placed = placed(&world, &one).await;
            assert!(placed <= fit, "{name}: {placed} run: {all:?}");
            placed == fit
        })
        .await;
        all_users.push(one);
        fits.push(fit);
    }

    // Nor has any of those that the cluster let in above a limit been placed since: the scheduler has placed others meanwhile.
    for (one, fit) in all_users.iter().zip(&fits) {
        assert_eq!(placed(&world, one).await, *fit);
    }
    ends(world, &all_users.iter().collect::<Vec<_>>()).await;
}

/// More than once, since what a real cluster lets in is a matter of moments.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real cluster: make real"]
async fn nobody_has_more_workspaces_than_he_may() {
    let world = World::real(|settings| settings.requests_per_second = 1000).await;
    let mut all_users = Vec::new();
    for round in 0..3 {
        let one = user(&world, &format!("desks{round}")).await;
        sets(&world, &one, json!({ "workspaces": "5" })).await;
        let ask = async |number: usize| {
            let body =
                json!({ "name": format!("w{number}"), "image": "busybox", "command": ["sleep", "1d"] });
            one.post("/workspaces", body).await
        };
        let all = join_all((0..ASKING).map(ask)).await;
        assert_eq!(all.iter().filter(|(status, _)| *status == 201).count(), 5, "round {round}: {all:?}");
        assert!(
            all.iter().all(|(status, said)| *status == 201 || said["code"] == "quotaExceeded"),
            "round {round}: {all:?}"
        );
        all_users.push(one);
    }
    ends(world, &all_users.iter().collect::<Vec<_>>()).await;
}
