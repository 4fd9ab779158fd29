//! Accounts, policies, and what administrators see of sessions, keys and the log.

use kube::{Api, api::PostParams};
use maar_api::v1alpha1::{Account, Workspace};
use serde_json::{Value, json};

use super::{
    browser::Browser,
    world::{World, eventually},
};

fn policy(hours: i64) -> Value {
    json!({ "longRunning": { "batchHours": hours, "interactiveHours": hours, "warnHours": 0 } })
}

async fn account(world: &World, name: &str) -> Account {
    Api::<Account>::all(world.client.clone()).get(name).await.unwrap()
}

#[tokio::test]
async fn accounts_are_made_changed_and_ended() {
    let world = World::new().await;
    let (admin, ada) = (world.admin().await, world.user("ada").await);
    let lab =
        json!({ "name": "lab", "displayName": "Lab", "capability": { "nvidia.com/gpu": "8", "cpu": "64" } });
    assert_eq!(ada.post("/accounts", lab.clone()).await.0, 403);
    let (status, made) = admin.post("/accounts", lab.clone()).await;
    assert_eq!((status, &made["name"]), (201, &json!("lab")), "{made}");
    assert_eq!(admin.post("/accounts", lab).await.0, 409);
    assert_eq!(admin.post("/accounts", json!({ "name": "Not A Name" })).await.0, 422);
    assert_eq!(admin.post("/accounts", json!({ "name": "x", "parent": "none" })).await.1["field"], "parent");
    assert_eq!(admin.post("/accounts", json!({ "name": "vision", "parent": "lab" })).await.0, 201);
    assert_eq!(admin.put("/accounts/lab", json!({ "parent": "vision" })).await.1["field"], "parent");
    let (status, said) = admin.put("/accounts/lab", json!({ "capability": { "nvidia.com/gpu": "4" } })).await;
    assert_eq!((status, &said["capability"]), (200, &json!({ "nvidia.com/gpu": "4" })), "{said}");
    let (_, log) = admin.get("/audit?action=changeAccount&outcome=done").await;
    assert_eq!(log["items"][0]["before"]["capability"]["cpu"], "64", "{log}");
    assert_eq!(log["items"][0]["after"]["capability"], json!({ "nvidia.com/gpu": "4" }));
    let (_, shown) = admin.get("/accounts/lab").await;
    assert_eq!((&shown["everyone"], &shown["weight"]), (&json!(false), &json!(1)), "{shown}");
    assert!(shown["memberCapability"].is_object() && shown["pools"].is_array(), "{shown}");
    let (status, said) = admin.delete("/accounts/lab").await;
    assert_eq!((status, &said["code"]), (409, &json!("conflict")), "an account is below it");
    assert_eq!(admin.delete("/accounts/vision").await.0, 204);
    eventually("the end of lab", async || admin.delete("/accounts/lab").await.0 == 204).await;
}

#[tokio::test]
async fn an_account_admin_looks_after_his_members_and_no_further() {
    let world = World::new().await;
    let (admin, ada, bob) = (world.admin().await, world.user("ada").await, world.user("bob").await);
    let spec = json!({ "name": "lab", "capability": { "nvidia.com/gpu": "8" } });
    assert_eq!(admin.post("/accounts", spec).await.0, 201);
    assert_eq!(admin.post("/accounts", json!({ "name": "rich" })).await.0, 201);
    assert_eq!(admin.put("/accounts/lab/members/ada", json!({ "role": "Admin" })).await.0, 204);
    eventually("ada to administer lab", async || ada.get("/accounts/lab").await.1["role"] == "admin").await;
    let part = json!({ "role": "Member", "cap": { "nvidia.com/gpu": "2" } });
    assert_eq!(ada.put("/accounts/lab/members/bob", part).await.0, 204);
    eventually("bob to belong to it", async || bob.get("/accounts/lab").await.1["role"] == "member").await;
    let members = account(&world, "lab").await.spec.members;
    assert_eq!(members.len(), 2, "{members:?}");
    let too_much = json!({ "role": "Member", "cap": { "nvidia.com/gpu": "9" } });
    let (status, said) = ada.put("/accounts/lab/members/bob", too_much).await;
    assert_eq!((status, &said["field"]), (422, &json!("cap.nvidia.com/gpu")), "{said}");
    assert_eq!(ada.put("/accounts/lab/members/nobody", json!({})).await.1["field"], "user");
    // Not what the account has, not other accounts, not the platform.
    assert_eq!(ada.put("/accounts/lab", json!({ "capability": { "nvidia.com/gpu": "999" } })).await.0, 403);
    assert_eq!(ada.put("/accounts/rich/members/ada", json!({ "role": "Admin" })).await.0, 404);
    assert_eq!(ada.put("/accounts/lab/members/bob", json!({ "role": "PlatformAdmin" })).await.0, 422);
    assert_eq!(bob.put("/accounts/lab/members/bob", json!({ "role": "Admin" })).await.0, 403);
    let id = ada.get("/me").await.1["id"].as_str().unwrap().to_owned();
    assert_eq!(ada.put(&format!("/users/{id}"), json!({ "platformAdmin": true })).await.0, 404);
    assert_eq!(ada.delete("/accounts/lab/members/bob").await.0, 204);
    assert_eq!(ada.delete("/accounts/lab/members/bob").await.0, 404);
    let (_, log) = admin.get("/audit?action=removeMember&outcome=done").await;
    assert_eq!(
        (&log["items"][0]["objectName"], &log["items"][0]["before"]["role"]),
        (&json!("lab/bob"), &json!("Member"))
    );
}

#[tokio::test]
async fn members_set_at_once_are_all_there() {
    let world = World::new().await;
    let admin = world.admin().await;
    assert_eq!(admin.post("/accounts", json!({ "name": "lab" })).await.0, 201);
    for name in ["a", "b", "c", "d"] {
        assert_eq!(admin.post("/users", json!({ "name": name })).await.0, 201);
    }
    let paths = ["a", "b", "c", "d"].map(|name| format!("/accounts/lab/members/{name}"));
    let set = async |path: &str| admin.put(path, json!({})).await.0;
    let all = tokio::join!(set(&paths[0]), set(&paths[1]), set(&paths[2]), set(&paths[3]));
    assert_eq!(all, (204, 204, 204, 204));
    assert_eq!(account(&world, "lab").await.spec.members.len(), 4);
}

async fn enable(admin: &Browser, on: bool) -> (u16, Value) {
    admin.put("/policies/lab/enabled", json!({ "enabled": on })).await
}

#[tokio::test]
async fn a_policy_is_previewed_before_it_is_switched_on() {
    let world = World::new().await;
    let (admin, ada) = (world.admin().await, world.user("ada").await);
    world.account("lab", &[("ada", "Admin")], &ada).await;
    for (method, path) in [
        ("GET", "/policies"),
        ("POST", "/policies/preview"),
        ("PUT", "/policies/lab"),
        ("PUT", "/policies/lab/enabled"),
        ("DELETE", "/policies/lab"),
    ] {
        let body = (method != "GET").then(|| json!({}));
        assert_eq!(ada.call(method, path, body).await.0, 403, "{method} {path}");
    }
    let desk = json!({ "account": "lab", "command": ["sleep", "1d"] });
    let path = ada.workspace("desk", desk).await;
    eventually("the desk to run", async || ada.get(&path).await.1["phase"] == "Running").await;
    let (status, said) = admin.put("/policies/lab", policy(1)).await;
    assert_eq!((status, &said["enabled"]), (200, &json!(false)), "{said}");
    assert_eq!(enable(&admin, true).await.1["code"], "previewRequired");
    // A preview of something else is none of this.
    let other = json!({ "account": "lab", "policy": policy(2) });
    assert_eq!(admin.post("/policies/preview", other).await.0, 200);
    assert_eq!(enable(&admin, true).await.0, 409);
    eventually("the policy to be known", async || {
        admin.get("/policies").await.1["items"][0]["account"] == "lab"
    })
    .await;
    let (status, shown) = admin.post("/policies/preview", json!({ "account": "lab" })).await;
    assert_eq!((status, &shown["leftAlone"], &shown["findings"]), (200, &json!(1), &json!([])), "{shown}");
    let (status, said) = enable(&admin, true).await;
    assert_eq!((status, &said["enabled"]), (200, &json!(true)), "{said}");
    assert!(
        said["preview"]["hash"] == shown["hash"]
            && !account(&world, "lab").await.spec.cleanup.unwrap().dry_run
    );
    // Whoever changes it switches it off; the same again changes nothing.
    assert_eq!(admin.put("/policies/lab", policy(1)).await.1["enabled"], true);
    assert_eq!(admin.put("/policies/lab", policy(3)).await.1["enabled"], false);
    assert_eq!(enable(&admin, true).await.0, 409);
    assert_eq!(admin.delete("/policies/lab").await.0, 204);
    assert!(account(&world, "lab").await.spec.cleanup.is_none());
    assert_eq!(admin.delete("/policies/lab").await.0, 404);
}

#[tokio::test]
async fn the_night_suspends_what_nobody_protects_and_says_so() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let path = ada.workspace("desk", json!({ "command": ["sleep", "1d"] })).await;
    let kept = ada.workspace("kept", json!({ "command": ["sleep", "1d"] })).await;
    assert_eq!(ada.put(&format!("{kept}/protection"), json!({ "hours": 5 })).await.0, 204);
    let now = super::world::clock_now();
    let planned = maar_jobs::suspend(&world.client, now, true).await.unwrap();
    assert_eq!(planned.len(), 2);
    assert_ne!(ada.get(&path).await.1["state"], "Suspended", "a dry run changes nothing");
    let told = maar_jobs::suspend(&world.client, now, false).await.unwrap();
    assert!(
        matches!(&told[..], [(_, _, maar_jobs::Night::Suspended), (_, _, maar_jobs::Night::Kept(_))]),
        "{told:?}"
    );
    eventually("the desk to be suspended", async || ada.get(&path).await.1["phase"] == "Suspended").await;
    let (_, shown) = ada.get(&path).await;
    assert_eq!(shown["reason"], "CleanedUpNightly", "{shown}");
    assert!(shown["message"].as_str().unwrap().contains("nightly clean-up"), "{shown}");
    assert_eq!(ada.get(&kept).await.1["state"], "Running");
    // In the morning it goes on, and the night is forgotten.
    assert_eq!(ada.call("POST", &format!("{path}/resume"), None).await.0, 204);
    eventually("the desk to run again", async || ada.get(&path).await.1["phase"] == "Running").await;
    assert_eq!(ada.call("POST", &format!("{path}/suspend"), None).await.0, 204);
    eventually("the desk to be suspended again", async || ada.get(&path).await.1["phase"] == "Suspended")
        .await;
    assert_eq!(ada.get(&path).await.1["reason"], "Suspended", "that was she");
}

#[tokio::test]
async fn nights_are_part_of_a_policy_and_a_preview_looks_ahead() {
    let world = World::new().await;
    let (admin, ada) = (world.admin().await, world.user("ada").await);
    world.account("lab", &[("ada", "Member")], &ada).await;
    let path = ada.workspace("desk", json!({ "account": "lab", "command": ["sleep", "1d"] })).await;
    eventually("the desk to run", async || ada.get(&path).await.1["phase"] == "Running").await;
    // Twelve hours from now, whenever that is.
    let later = super::world::clock_now() + jiff::SignedDuration::from_hours(12);
    let night =
        |at: &str, zone: &str| json!({ "nightly": { "at": at, "timeZone": zone, "warnMinutes": 30 } });
    let policy = night(&later.strftime("%H:%M").to_string(), "UTC");
    for (wrong, field) in
        [(night("24:00", "UTC"), "nightly.at"), (night("23:00", "Mars"), "nightly.timeZone")]
    {
        assert_eq!(admin.put("/policies/lab", wrong).await.1["field"], field);
    }
    assert_eq!(admin.put("/policies/lab", policy.clone()).await.0, 200);
    let (_, shown) = admin.post("/policies/preview", json!({ "account": "lab", "policy": policy })).await;
    let found = &shown["findings"][0];
    assert_eq!(
        (&found["name"], &found["action"], &found["rule"]),
        (&json!("desk"), &json!("warn"), &json!("Nightly"))
    );
    let end: jiff::Timestamp = found["end"].as_str().unwrap().parse().unwrap();
    assert!(end <= later && later.duration_since(end) < jiff::SignedDuration::from_mins(1), "{shown}");
}

#[tokio::test]
async fn warnings_of_policies_are_on_the_first_page() {
    let world = World::new().await;
    let (admin, ada) = (world.admin().await, world.user("ada").await);
    let account: Account = serde_json::from_value(json!({ "metadata": { "name": "lab" }, "spec": {
        "members": [{ "user": "ada", "role": "Member" }],
        "cleanup": { "longRunning": { "batchHours": 1, "interactiveHours": 1, "warnHours": 1 } },
    } }))
    .unwrap();
    Api::all(world.client.clone()).create(&PostParams::default(), &account).await.unwrap();
    eventually("the account", async || ada.get("/accounts/lab").await.0 == 200).await;
    let path = ada.workspace("desk", json!({ "account": "lab", "command": ["sleep", "1d"] })).await;
    eventually("the desk to run", async || ada.get(&path).await.1["phase"] == "Running").await;
    let (_, shown) = admin.post("/policies/preview", json!({ "account": "lab" })).await;
    let finding = &shown["findings"][0];
    assert_eq!((&finding["name"], &finding["rule"]), (&json!("desk"), &json!("LongRunning")), "{shown}");
    // The round of clean-up is once a minute; what it writes is written here instead.
    let desks: Api<Workspace> = Api::namespaced(world.client.clone(), &ada.namespace().await);
    let told = json!({ "status": { "cleanup": { "rule": "LongRunning", "account": "lab", "endTime": "2030-01-01T00:00:00Z" } } });
    let merge = kube::api::Patch::Merge(&told);
    desks.patch_status("desk", &kube::api::PatchParams::default(), &merge).await.unwrap();
    eventually("the warning", async || ada.get("/overview").await.1["messages"][0]["name"] == "desk").await;
    let (_, first) = ada.get("/overview").await;
    assert_eq!(
        (&first["messages"][0]["kind"], &first["messages"][0]["at"]),
        (&json!("cleanup"), &json!("2030-01-01T00:00:00Z"))
    );
}

#[tokio::test]
async fn administrators_see_sessions_and_keys_of_all_and_end_them() {
    let world = World::new().await;
    let (admin, ada) = (world.admin().await, world.user("ada").await);
    let (id, secret) = ada.key("ci", &["jobs:read"]).await;
    for path in ["/sessions", "/keys"] {
        assert_eq!(ada.get(path).await.0, 403, "{path}");
    }
    let (_, sessions) = admin.get("/sessions?limit=500").await;
    let owners: Vec<&str> =
        sessions["items"].as_array().unwrap().iter().map(|one| one["user"].as_str().unwrap()).collect();
    assert!(owners.contains(&"ada") && owners.contains(&"admin"), "{sessions}");
    let (_, keys) = admin.get("/keys").await;
    assert_eq!((&keys["items"][0]["id"], &keys["items"][0]["user"]), (&json!(id), &json!("ada")));
    assert!(!keys.to_string().contains(&secret));
    assert_eq!(admin.delete(&format!("/keys/{id}")).await.0, 204);
    assert_eq!(ada.program(&secret).get("/jobs").await.0, 401);
}

#[tokio::test]
async fn the_log_is_filtered_and_exported_whole() {
    let world = World::new().await;
    let (admin, ada) = (world.admin().await, world.user("ada").await);
    let path = ada.workspace("desk", json!({})).await;
    assert_eq!(ada.delete(&path).await.0, 204);
    let (_, done) = admin.get("/audit?actor=ada&action=deleteWorkspace&kind=workspace&outcome=done").await;
    let entry = &done["items"][0];
    assert!(entry["before"]["image"] == "busybox" && entry["after"].is_null(), "{done}");
    assert_eq!(admin.get("/audit?actor=ada&outcome=denied").await.1["items"], json!([]));
    assert_eq!(admin.get("/audit?outcome=perhaps").await.0, 422);
    let (status, text) = admin.get("/audit/export?actor=ada").await;
    let lines: Vec<Value> =
        text.as_str().unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(status == 200 && lines.len() >= 3, "{text}");
    assert!(lines.iter().all(|line| line["actor"]["name"] == "ada"));
    let places: Vec<i64> = lines.iter().map(|line| line["position"].as_i64().unwrap()).collect();
    assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "oldest first: {places:?}");
}
