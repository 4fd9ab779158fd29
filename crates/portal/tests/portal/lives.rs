//! Lives of workspaces and jobs, as their owners see them.

use futures::StreamExt as _;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kube::{Api, api::PostParams};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::world::{World, eventually};

pub(crate) async fn reaches(browser: &super::browser::Browser, path: &str, phase: &str) -> Value {
    eventually(&format!("{path} to be {phase}"), async || browser.get(path).await.1["phase"] == phase).await;
    browser.get(path).await.1
}

#[tokio::test]
async fn a_workspace_is_made_used_suspended_resumed_protected_and_deleted() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let more =
        json!({ "cards": { "count": 2 }, "env": { "TOKEN": "hidden-value" }, "command": ["sleep", "1d"] });
    let path = ada.workspace("desk", more).await;
    let running = reaches(&ada, &path, "Running").await;
    assert!(running["node"].as_str().is_some_and(|node| !node.is_empty()), "{running}");
    assert_eq!(running["spec"]["user"], "ada");
    let cards = running["givenCards"].as_str().unwrap();
    assert!(cards.starts_with("nvidia.com/gpu="), "{cards}");

    eventually("a Pod of two cards to be on both", async || {
        let (_, nodes) = ada.get("/nodes").await;
        let cards = nodes["items"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|node| node["cards"][0]["cards"].as_array().unwrap());
        let holders: Vec<&Value> = cards.flat_map(|card| card["holders"].as_array().unwrap()).collect();
        holders.len() == 2 && holders.iter().all(|holder| holder["name"] == "desk" && holder["user"] == "ada")
    })
    .await;

    let (status, logs) = ada.get(&format!("{path}/logs?tail=10")).await;
    assert_eq!(status, 200, "{logs}");
    let (status, yaml) = ada.get(&format!("{path}/yaml")).await;
    assert!(status == 200 && yaml.as_str().unwrap().contains("kind: Workspace"), "{yaml}");
    assert!(!yaml.as_str().unwrap().contains("uid"), "{yaml}");
    assert_eq!(ada.get(&format!("{path}/events")).await.0, 200);
    assert_eq!(ada.get(&format!("{path}/why")).await.1["waits"], false);

    let (status, said) = ada.put(&format!("{path}/protection"), json!({ "hours": 5 })).await;
    assert_eq!(status, 204, "{said}");
    eventually("protection", async || ada.get(&path).await.1["protectedUntil"].is_string()).await;
    assert_eq!(ada.put(&format!("{path}/protection"), json!({ "hours": 100_000 })).await.0, 422);
    assert_eq!(ada.call("POST", &format!("{path}/suspend"), None).await.0, 204);
    reaches(&ada, &path, "Suspended").await;
    assert_eq!(ada.call("POST", &format!("{path}/resume"), None).await.0, 204);
    reaches(&ada, &path, "Running").await;
    assert_eq!(ada.post("/workspaces", json!({ "name": "desk", "image": "busybox" })).await.0, 409);
    assert_eq!(ada.delete(&path).await.0, 204);
    eventually("the end", async || ada.get(&path).await.0 == 404).await;

    let admin = world.admin().await;
    let (_, log) = admin.get("/audit?actor=ada&limit=500").await;
    let actions: Vec<&str> =
        log["items"].as_array().unwrap().iter().map(|one| one["action"].as_str().unwrap()).collect();
    for action in [
        "createWorkspace",
        "suspendWorkspace",
        "resumeWorkspace",
        "protectWorkspace",
        "deleteWorkspace",
        "login",
        "changePassword",
    ] {
        assert!(actions.contains(&action), "{action} is not in {actions:?}");
    }
    assert!(!log.to_string().contains("hidden-value"), "values of the environment are not for the audit log");
}

#[tokio::test]
async fn a_job_is_submitted_as_yaml_waits_with_a_reason_and_is_cancelled() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let yaml = "
apiVersion: maar.io/v1alpha1
kind: AIJob
metadata: { name: huge }
spec:
  tasks:
    - name: main
      cards: { count: 8 }
      replicas: 9
      template: { spec: { containers: [{ name: main, image: busybox, command: [sleep, 1d] }] } }
";
    let request =
        ada.request("POST", "/jobs").header("content-type", "application/yaml").body(yaml.into()).unwrap();
    let (status, _, made) = ada.send(request).await;
    assert_eq!(status, 201, "{made}");
    let path = format!("/jobs/{}/huge", ada.namespace().await);
    eventually("a reason", async || {
        let (_, why) = ada.get(&format!("{path}/why")).await;
        why["waits"] == true && why["sentences"].as_array().is_some_and(|all| all.len() > 1)
    })
    .await;
    let (_, list) = ada.get("/jobs?search=HUG").await;
    assert_eq!(
        (&list["items"][0]["name"], &list["items"][0]["cards"]["nvidia.com/gpu"]),
        (&json!("huge"), &json!("72"))
    );
    assert_eq!(
        list["phases"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum::<u64>(),
        1
    );
    assert_eq!(ada.get("/jobs?search=tiny").await.1["items"], json!([]));
    assert_eq!(ada.call("POST", &format!("{path}/cancel"), None).await.0, 204);
    reaches(&ada, &path, "Aborted").await;
    assert_eq!(ada.delete(&path).await.0, 204);
}

#[tokio::test]
async fn what_waits_for_full_cards_says_when_it_may_start() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let job = |name: &str, replicas: usize, seconds: i64| {
        let task = json!({ "name": "main", "replicas": replicas, "cards": { "count": 8 }, "template": { "spec": {
            "containers": [{ "name": "main", "image": "busybox", "command": ["sleep", "1d"] }] } } });
        json!({ "metadata": { "name": name }, "spec": { "maxRunSeconds": seconds, "tasks": [task] } })
    };
    assert_eq!(ada.post("/jobs", job("long", 1, 7200)).await.0, 201);
    assert_eq!(ada.post("/jobs", job("short", 1, 3600)).await.0, 201);
    let path = async |name: &str| format!("/jobs/{}/{name}", ada.namespace().await);
    reaches(&ada, &path("long").await, "Running").await;
    reaches(&ada, &path("short").await, "Running").await;
    let begin = super::world::clock_now();
    assert_eq!(ada.post("/jobs", job("next", 1, 600)).await.0, 201);
    let start = async |name: &str| {
        let (_, why) = ada.get(&format!("{}/why", path(name).await)).await;
        let text = why["estimatedStart"].as_str()?.to_owned();
        Some(text.parse::<jiff::Timestamp>().unwrap().duration_since(begin).as_mins())
    };
    eventually("an estimate", async || start("next").await.is_some()).await;
    let minutes = start("next").await.unwrap();
    assert!((58..=61).contains(&minutes), "when the short one ends: in {minutes} minutes");
    let (_, why) = ada.get(&format!("{}/why", path("next").await)).await;
    assert_eq!(
        (&why["waits"], why["sentences"].as_array().is_some_and(|all| all.len() > 1)),
        (&json!(true), true)
    );
    // Whoever ends early changes it.
    assert_eq!(ada.call("POST", &format!("{}/cancel", path("long").await), None).await.0, 204);
    reaches(&ada, &path("next").await, "Running").await;
    let (_, why) = ada.get(&format!("{}/why", path("next").await)).await;
    assert!(why["estimatedStart"].is_null() && why["waits"] == false, "{why}");
}

#[tokio::test]
async fn the_namespace_of_a_user_has_walls_before_the_first_workspace_and_quotas_are_exact() {
    let world = World::with(|settings| settings.limits.workspaces = 3).await;
    let ada = world.user("ada").await;
    let all = futures::future::join_all((0..6).map(async |number| {
        ada.post("/workspaces", json!({ "name": format!("w{number}"), "image": "busybox" })).await
    }))
    .await;
    let made = all.iter().filter(|(status, _)| *status == 201).count();
    assert_eq!(made, 3, "{all:?}");
    assert!(all.iter().all(|(status, said)| *status == 201 || said["code"] == "quotaExceeded"), "{all:?}");
    let (_, page) = ada.get("/workspaces?limit=2").await;
    let next = page["next"].as_str().unwrap();
    let (_, rest) = ada.get(&format!("/workspaces?limit=2&cursor={next}")).await;
    assert_eq!((page["items"].as_array().unwrap().len(), rest["items"].as_array().unwrap().len()), (2, 1));
    assert!(rest.get("next").is_none());

    let namespace = ada.namespace().await;
    let get = async |path: String| {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        world.client.request::<Value>(request).await.unwrap()
    };
    let labels = get(format!("/api/v1/namespaces/{namespace}")).await["metadata"]["labels"].clone();
    assert_eq!(labels["pod-security.kubernetes.io/enforce"], "baseline");
    let wall =
        get(format!("/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies/maar-user")).await;
    assert_eq!(wall["spec"]["policyTypes"], json!(["Ingress", "Egress"]));
    let account = get(format!("/api/v1/namespaces/{namespace}/serviceaccounts/default")).await;
    assert_eq!(account["automountServiceAccountToken"], false);
}

#[tokio::test]
async fn changes_reach_those_who_may_see_them_and_nobody_else() {
    let world = World::new().await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    let listen = async |browser: &super::browser::Browser| {
        let request = browser.request("GET", "/changes").body(axum::body::Body::empty()).unwrap();
        world.router.clone().oneshot(request).await.unwrap().into_body().into_data_stream()
    };
    let (mut of_ada, mut of_eve) = (listen(&ada).await, listen(&eve).await);
    ada.workspace("desk", json!({})).await;
    let until = async |stream: &mut axum::body::BodyDataStream, word: &str| {
        let mut text = String::new();
        while !text.contains(word) {
            let next = tokio::time::timeout(std::time::Duration::from_secs(10), stream.next()).await;
            text.push_str(&String::from_utf8_lossy(&next.unwrap().unwrap().unwrap()));
        }
        text
    };
    let heard = until(&mut of_ada, "\"name\":\"desk\"").await;
    assert!(heard.starts_with("event: ready") && heard.contains("event: workspace"), "{heard}");
    eve.workspace("table", json!({})).await;
    let heard = until(&mut of_eve, "\"name\":\"table\"").await;
    assert!(!heard.contains("desk"), "{heard}");

    // What is not work: volumes, applications of kubectl, what is used of a quota, accounts.
    let namespace = ada.namespace().await;
    assert_eq!(ada.post("/volumes", json!({ "name": "data", "size": "1Gi" })).await.0, 201);
    let heard = until(&mut of_ada, "event: volume\ndata: {\"gone\":false,\"name\":\"data\"").await;
    if !heard.contains("event: quota\n") {
        until(&mut of_ada, "event: quota\n").await;
    }
    let app = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "board" }, "spec": {
        "selector": { "matchLabels": { "app": "board" } },
        "template": { "metadata": { "labels": { "app": "board" } },
            "spec": { "containers": [{ "name": "main", "image": "busybox" }] } } } });
    let apps: Api<Deployment> = Api::namespaced(world.client.clone(), &namespace);
    apps.create(&PostParams::default(), &serde_json::from_value(app).unwrap()).await.unwrap();
    until(&mut of_ada, "event: app\ndata: {\"gone\":false,\"name\":\"board\"").await;
    let admin = world.admin().await;
    assert_eq!(admin.post("/accounts", json!({ "name": "lab" })).await.0, 201);
    assert_eq!(admin.put("/accounts/lab/members/ada", json!({})).await.0, 204);
    // At once, although she had no part in it when she began to listen.
    until(&mut of_ada, "event: account\ndata: {\"gone\":false,\"name\":\"lab\"").await;
    assert_eq!(ada.delete("/volumes/data").await.0, 204);
    until(&mut of_ada, "event: volume\ndata: {\"gone\":true,\"name\":\"data\"").await;
    eve.workspace("chair", json!({})).await;
    let heard = until(&mut of_eve, "\"name\":\"chair\"").await;
    for foreign in ["\"data\"", "board", "\"lab\"", &namespace] {
        assert!(!heard.contains(foreign), "{foreign} in {heard}");
    }
}

#[tokio::test]
async fn an_account_has_viewers_members_and_administrators() {
    let world = World::new().await;
    let (ada, vic, bob, amy) =
        (world.user("ada").await, world.user("vic").await, world.user("bob").await, world.user("amy").await);
    world
        .account("lab", &[("ada", "Member"), ("vic", "Viewer"), ("bob", "Member"), ("amy", "Admin")], &ada)
        .await;
    let path = ada.workspace("desk", json!({ "account": "lab", "env": { "TOKEN": "hidden-value" } })).await;
    for (who, sees_inside) in [(&vic, false), (&bob, false), (&amy, true)] {
        let (status, seen) = who.get(&path).await;
        assert_eq!((status, seen.to_string().contains("hidden-value")), (200, sees_inside));
        assert_eq!(who.get(&format!("{path}/yaml")).await.0, if sees_inside { 200 } else { 403 });
        assert_eq!(who.get(&format!("{path}/logs")).await.0 == 403, !sees_inside);
    }
    for who in [&vic, &bob] {
        for action in ["suspend", "resume"] {
            assert_eq!(who.call("POST", &format!("{path}/{action}"), None).await.0, 403);
        }
        assert_eq!(who.delete(&path).await.0, 403);
    }
    let refused =
        vic.post("/workspaces", json!({ "name": "mine", "image": "busybox", "account": "lab" })).await;
    assert_eq!((refused.0, &refused.1["code"]), (403, &json!("forbidden")), "a viewer starts nothing");
    assert_eq!(
        amy.call("POST", &format!("{path}/suspend"), None).await.0,
        204,
        "an administrator looks after others"
    );
    assert_eq!(
        amy.call("POST", &format!("{path}/resume"), None).await.0,
        403,
        "and starts nothing in their name"
    );
    let pods: Api<Pod> = Api::namespaced(world.client.clone(), &ada.namespace().await);
    eventually("its Pod to go", async || pods.get_opt("desk").await.unwrap().is_none()).await;
}
