//! Nodes: what everybody sees of them, and what only administrators do with them.

use std::time::Duration;

use k8s_openapi::api::{core::v1::Node, policy::v1::PodDisruptionBudget};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use maar_portal::{CardSource, openapi};
use serde_json::{Value, json};

use super::{
    browser::Browser,
    world::{World, eventually},
};

async fn with_cards() -> World {
    World::with(|settings| {
        settings.cards = CardSource::Nodes;
        settings.cards_every = Duration::from_millis(200);
    })
    .await
}

/// The node on which a workspace runs.
async fn node_of(browser: &Browser, path: &str) -> String {
    eventually("the workspace to run", async || browser.get(path).await.1["phase"] == "Running").await;
    browser.get(path).await.1["node"].as_str().unwrap().to_owned()
}

fn cards(node: &Value) -> Vec<Value> {
    node["cards"][0]["cards"].as_array().cloned().unwrap_or_default()
}

#[tokio::test]
async fn the_heat_map_shows_use_and_who_is_where_as_far_as_that_may_be_known() {
    let world = with_cards().await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    let path = ada.workspace("desk", json!({ "cards": { "count": 2 }, "command": ["sleep", "1d"] })).await;
    let node = node_of(&ada, &path).await;
    let held = async |browser: &Browser| {
        let (_, shown) = browser.get(&format!("/nodes/{node}")).await;
        cards(&shown).into_iter().filter(|card| card["holders"] != json!([])).collect::<Vec<_>>()
    };
    eventually("use of both cards", async || {
        let held = held(&ada).await;
        held.len() == 2
            && held.iter().all(|card| card["utilisation"].is_u64() && card["memoryTotal"].is_u64())
    })
    .await;
    let own = held(&ada).await;
    assert_eq!((&own[0]["holders"][0]["name"], &own[0]["exclusive"]), (&json!("desk"), &json!(true)));
    assert!(own[0]["temperature"].is_i64() && own[0]["freeAt"].is_null(), "{}", own[0]);
    // Eve knows that somebody is there, and who; not what he does.
    let theirs = held(&eve).await;
    assert_eq!(theirs[0]["holders"], json!([{ "user": "ada" }]));
    let (_, list) = eve.get("/nodes").await;
    assert!(!list.to_string().contains("desk"), "{list}");
    let (_, detail) = eve.get(&format!("/nodes/{node}")).await;
    assert!(
        !detail["podList"].to_string().contains("desk") && detail["podKinds"]["user-job"] == 1,
        "{detail}"
    );
    let (_, whole) = world.admin().await.get("/nodes").await;
    assert!(whole.to_string().contains("desk"), "administrators see everything");
    // Filters, and pages.
    assert_eq!(eve.get("/nodes?search=none").await.1["items"], json!([]));
    assert_eq!(eve.get("/nodes?free=true").await.1["items"].as_array().unwrap().len(), 2);
    let (_, page) = eve.get("/nodes?limit=1").await;
    let next = format!("/nodes?limit=1&cursor={}", page["next"].as_str().unwrap());
    assert_ne!(eve.get(&next).await.1["items"][0]["name"], page["items"][0]["name"]);
    assert_eq!(eve.get("/nodes?limit=0").await.0, 422);

    let (_, strips) = eve.get("/nodes/history?hours=2").await;
    let strip = &strips["nodes"][&node]["nvidia.com/gpu"]["0"];
    assert_eq!((&strips["step"], strip.as_array().unwrap().len()), (&json!(900), 8));
    assert!(strip[7].is_u64(), "{strips}");
    assert_eq!(eve.get("/nodes/history?hours=25").await.0, 422);
    let (_, usage) = eve.get(&format!("/nodes/{node}/usage")).await;
    assert!(usage["cards"][0]["points"][0][1].is_u64(), "{usage}");
    let (status, own) = ada.get(&format!("{path}/usage?minutes=5")).await;
    let shown: Vec<&str> =
        own["cards"].as_array().unwrap().iter().map(|card| card["card"].as_str().unwrap()).collect();
    assert!(status == 200 && shown.len() == 2, "both cards and no others: {own}");
    assert!(shown.iter().all(|card| card.starts_with(&format!("{node}/"))), "{own}");
    assert!(own["cards"][1]["points"][0][1].is_u64(), "{own}");
    assert_eq!(ada.get(&format!("{path}/usage?minutes=61")).await.1["field"], "minutes");
    assert_eq!(eve.get(&format!("{path}/usage")).await.0, 404, "what she may not see does not exist");
    let (_, first) = ada.get("/overview").await;
    assert_eq!(first["nodes"], json!({ "ready": 2, "total": 2 }));
    assert_eq!(first["mine"], json!({ "workspaces": 1, "jobs": 0, "cards": 2 }));
    let counts = &first["cards"][0];
    assert_eq!((&counts["total"], &counts["used"], &counts["free"]), (&json!(16), &json!(2), &json!(14)));
}

#[tokio::test]
async fn names_are_hidden_where_privacy_says_so() {
    let world = World::with(|settings| settings.hide_names = true).await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    let path = ada.workspace("desk", json!({ "cards": { "count": 1 }, "command": ["sleep", "1d"] })).await;
    let node = node_of(&ada, &path).await;
    eventually("the card to be shown", async || ada.get("/nodes").await.1.to_string().contains("desk")).await;
    for path in ["/nodes".to_owned(), format!("/nodes/{node}"), "/overview".to_owned()] {
        let text = eve.get(&path).await.1.to_string();
        assert!(!text.contains("ada") && !text.contains("desk"), "{path}: {text}");
    }
}

#[tokio::test]
async fn only_administrators_change_nodes() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    world.account("lab", &[("ada", "Admin")], &ada).await;
    let admin = world.admin().await;
    let (_, secret) =
        admin.key("ci", &["workspaces:read", "workspaces:write", "cluster:read", "admin"]).await;
    let program = admin.program(&secret);
    let name = ada.get("/nodes").await.1["items"][0]["name"].as_str().unwrap().to_owned();
    let api: Api<Node> = Api::all(world.client.clone());
    let before = api.get(&name).await.unwrap();
    let document = openapi();
    let mut tried = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys().filter(|method| *method != "get") {
            if !path.starts_with("/api/v1/nodes") {
                continue;
            }
            tried += 1;
            let path = path.replace("{name}", &name);
            let body = || Some(json!({ "account": "lab", "set": { "a": "b" } }));
            let (status, said) = ada.call(&method.to_uppercase(), &path, body()).await;
            assert_eq!((status, &said["code"]), (403, &json!("forbidden")), "{method} {path}");
            let (status, said) = program.call(&method.to_uppercase(), &path, body()).await;
            assert_eq!((status, &said["code"]), (403, &json!("scopeMissing")), "{method} {path}");
        }
    }
    assert_eq!(tried, 6, "cordon, uncordon, labels, taints, account, drain");
    let after = api.get(&name).await.unwrap();
    assert_eq!(
        (before.metadata.labels, before.spec),
        (after.metadata.labels, after.spec),
        "nothing was done"
    );
    let (_, log) = admin.get("/audit?action=cordonNode&actor=ada").await;
    assert_eq!(log["items"][0]["outcome"], "denied");
}

#[tokio::test]
async fn a_node_is_closed_labelled_tainted_and_given_to_an_account_and_the_log_tells() {
    let world = World::new().await;
    let admin = world.admin().await;
    world.account("lab", &[], &admin).await;
    let name = admin.get("/nodes").await.1["items"][0]["name"].as_str().unwrap().to_owned();
    let path = format!("/nodes/{name}");
    let shows = async |what: &str, so: &dyn Fn(&Value) -> bool| {
        eventually(what, async || so(&admin.get(&path).await.1)).await;
    };
    assert_eq!(admin.call("POST", &format!("{path}/cordon"), None).await.0, 204);
    shows("a closed node", &|node| node["schedulable"] == false).await;
    let (_, log) = admin.get("/audit?action=cordonNode").await;
    let entry = &log["items"][0];
    assert_eq!(
        (&entry["before"]["unschedulable"], &entry["after"]["unschedulable"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(admin.call("POST", &format!("{path}/uncordon"), None).await.0, 204);
    shows("an open node", &|node| node["schedulable"] == true).await;

    let change = json!({ "set": { "rack": "r1" }, "remove": ["nothing"] });
    assert_eq!(admin.put(&format!("{path}/labels"), change).await.0, 204);
    shows("a label", &|node| node["labels"]["rack"] == "r1").await;
    for wrong in [
        json!({}),
        json!({ "set": { "a": "b" }, "remove": ["a"] }),
        json!({ "remove": ["kubernetes.io/hostname"] }),
        json!({ "set": { "a": "not a value!" } }),
    ] {
        assert_eq!(admin.put(&format!("{path}/labels"), wrong.clone()).await.0, 422, "{wrong}");
    }
    let taint = json!([{ "key": "repair", "value": "fan", "effect": "NoSchedule" }]);
    assert_eq!(admin.put(&format!("{path}/taints"), taint.clone()).await.0, 204);
    shows("a taint", &|node| node["taints"] == taint).await;
    assert_eq!(admin.put(&format!("{path}/taints"), json!([])).await.0, 204);
    let own = json!([{ "key": "node.kubernetes.io/unreachable", "effect": "NoExecute" }]);
    assert_eq!(admin.put(&format!("{path}/taints"), own).await.1["field"], "[0].key");

    let pool = admin.get(&path).await.1["pool"].clone();
    for _ in 0..2 {
        assert_eq!(admin.put(&format!("{path}/account"), json!({ "account": "lab" })).await.0, 204);
    }
    shows("an owner", &|node| node["account"] == "lab" && node["pool"] == "account-lab").await;
    assert_eq!(
        admin.put(&format!("{path}/account"), json!({ "account": "none" })).await.1["field"],
        "account"
    );
    for _ in 0..2 {
        assert_eq!(admin.put(&format!("{path}/account"), json!({ "account": null })).await.0, 204);
    }
    shows("no owner", &|node| node["account"].is_null() && node["pool"] == pool).await;
    let accounts: Api<maar_api::v1alpha1::Account> = Api::all(world.client.clone());
    assert!(accounts.get("lab").await.unwrap().spec.owned_pools.is_empty());
}

#[tokio::test]
async fn a_drain_obeys_budgets_and_can_be_repeated() {
    let world = World::new().await;
    let (ada, admin) = (world.user("ada").await, world.admin().await);
    let path = ada.workspace("desk", json!({ "command": ["sleep", "1d"] })).await;
    let node = node_of(&ada, &path).await;
    let budget: PodDisruptionBudget = serde_json::from_value(json!({
        "metadata": { "name": "keep" },
        "spec": { "minAvailable": 1, "selector": { "matchLabels": { "maar.io/workspace": "desk" } } },
    }))
    .unwrap();
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(world.client.clone(), &ada.namespace().await);
    budgets.create(&PostParams::default(), &budget).await.unwrap();
    eventually("the budget to be counted", async || {
        let status = budgets.get("keep").await.unwrap().status;
        status.is_some_and(|status| status.expected_pods == Some(1) && status.current_healthy == Some(1))
    })
    .await;
    let drain = format!("/nodes/{node}/drain");
    let (status, said) = admin.post(&drain, json!({ "timeoutSeconds": 1 })).await;
    let text = said.as_str().unwrap();
    assert!(
        status == 200 && text.contains("/desk: waits: The disruption budget keep needs 1 healthy pods"),
        "who is held by what: {text}"
    );
    assert!(text.contains("/desk: given up: The disruption budget keep"), "{text}");
    assert!(text.contains("not drained: 0 Pods are gone"), "{text}");
    assert_eq!(ada.get(&path).await.1["node"], node, "the budget holds");

    budgets.delete("keep", &DeleteParams::default()).await.unwrap();
    let (_, said) = admin.post(&drain, json!({})).await;
    let text = said.as_str().unwrap();
    assert!(text.contains("/desk: gone") && text.contains("\ndrained: 1 Pods are gone"), "{text}");
    let (_, said) = admin.call("POST", &drain, None).await;
    assert!(said.as_str().unwrap().contains("drained: 0 Pods are gone"), "nothing is left to do: {said}");
    eventually("the workspace to move", async || {
        let (_, now) = ada.get(&path).await;
        now["phase"] == "Running" && now["node"] != node.as_str()
    })
    .await;
    eventually("the log of both ends", async || {
        let (_, log) = admin.get("/audit?action=drainNodeEnd").await;
        let outcomes: Vec<&Value> =
            log["items"].as_array().unwrap().iter().map(|one| &one["outcome"]).collect();
        outcomes == [&json!("done"), &json!("done"), &json!("failed")]
    })
    .await;
}
