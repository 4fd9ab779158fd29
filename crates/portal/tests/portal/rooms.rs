//! How many workspaces an account and a user may have: counted whether they run or not, and exact however many ask at once.

use k8s_openapi::api::core::v1::{Namespace, ResourceQuota};
use kube::{Api, api::DeleteParams};
use maar_api::v1alpha1::Account;
use serde_json::{Value, json};

use super::{
    browser::Browser,
    world::{World, eventually},
};

/// `lab`, a part of `faculty`, with three members.
async fn world(faculty: Value, lab: Value) -> (World, [Browser; 3]) {
    let world = World::with(|settings| settings.requests_per_second = 1000).await;
    let admin = world.admin().await;
    let users = [world.user("ada").await, world.user("bob").await, world.user("eve").await];
    for (name, mut account) in [("faculty", faculty), ("lab", lab)] {
        account["name"] = json!(name);
        let (status, said) = admin.post("/accounts", account).await;
        assert_eq!(status, 201, "{said}");
    }
    for name in ["ada", "bob", "eve"] {
        assert_eq!(admin.put(&format!("/accounts/lab/members/{name}"), json!({})).await.0, 204);
    }
    for user in &users {
        eventually("his part", async || user.get("/accounts/lab").await.0 == 200).await;
    }
    (world, users)
}

/// Whether it was made; else the account is full and says so.
async fn asks(user: &Browser, name: &str, account: &str) -> bool {
    let (status, said) =
        user.post("/workspaces", json!({ "name": name, "image": "busybox", "account": account })).await;
    assert!(
        status == 201 || (said["code"] == "quotaExceeded" && said["field"] == "account"),
        "{status} {said}"
    );
    status == 201
}

#[tokio::test]
async fn an_account_has_no_more_workspaces_than_it_may_through_however_many_portals_they_are_asked_for() {
    let faculty = json!({ "capability": { "workspaces": "5" } });
    let lab = json!({ "parent": "faculty", "memberCapability": { "workspaces": "3" } });
    let (world, users) = world(faculty, lab).await;
    let other = world.another_portal().await;
    let others: Vec<Browser> = users.iter().map(|user| user.at(other.clone())).collect();
    let ask = async |number: usize| {
        let who = number % 3;
        let user = if number.is_multiple_of(2) { &users[who] } else { &others[who] };
        asks(user, &format!("w{number}"), "lab").await.then_some((who, number))
    };
    let made = futures::future::join_all((0..24).map(ask)).await;
    let made: Vec<(usize, usize)> = made.into_iter().flatten().collect();
    assert_eq!(made.len(), 5, "{made:?}");
    for who in 0..3 {
        assert!(made.iter().filter(|(of, _)| *of == who).count() <= 3, "{made:?}");
    }
    // Nothing is left behind of those who were asked for.
    let accounts: Api<Account> = Api::all(world.client.clone());
    let left = accounts.get("faculty").await.unwrap().metadata.annotations.unwrap_or_default();
    assert!(left.is_empty(), "{left:?}");
    // Suspended ones are there, and count. What is taken away makes room for one.
    let (who, number) = made[0];
    let path = format!("/workspaces/{}/w{number}", users[who].namespace().await);
    assert_eq!(users[who].call("POST", &format!("{path}/suspend"), None).await.0, 204);
    assert!(!asks(&users[who], "more", "lab").await);
    assert_eq!(users[who].delete(&path).await.0, 204);
    eventually("its end", async || users[who].get(&path).await.0 == 404).await;
    assert!(asks(&others[who], "more", "lab").await);
    assert!(!asks(&users[who], "still-more", "lab").await);
    // Accounts that say nothing of it have no limit, and one that is named twice is told so.
    assert!(asks(&users[who], "free", "default").await);
    let again = json!({ "name": "more", "image": "busybox", "account": "lab" });
    assert_eq!(users[who].post("/workspaces", again).await.1["code"], "conflict");
    // People see it where they see what else they may have.
    let (_, quota) = users[who].get("/quota").await;
    let of_lab = quota["accounts"].as_array().unwrap().iter().find(|one| one["name"] == "lab").unwrap();
    assert_eq!(of_lab["used"]["workspaces"], "5", "{of_lab}");
    assert_eq!(of_lab["cap"]["workspaces"], "3", "{of_lab}");
    let (_, seen) = world.admin().await.get("/accounts/faculty").await;
    assert_eq!(
        (&seen["used"]["workspaces"], &seen["capability"]["workspaces"]),
        (&json!("5"), &json!("5")),
        "those of the accounts below count: {seen}"
    );
}

#[tokio::test]
async fn a_member_has_no_more_workspaces_of_an_account_than_he_may() {
    let (world, [ada, bob, _]) = world(json!({}), json!({ "memberCapability": { "workspaces": "2" } })).await;
    let admin = world.admin().await;
    let cap = json!({ "cap": { "workspaces": "1" } });
    assert_eq!(admin.put("/accounts/lab/members/bob", cap).await.0, 204);
    eventually("his cap", async || {
        let quota = bob.get("/quota").await.1;
        let mut accounts = quota["accounts"].as_array().unwrap().iter();
        accounts.any(|one| one["name"] == "lab" && one["cap"]["workspaces"] == "1")
    })
    .await;
    let made = async |user: &Browser, most: usize| {
        let names: Vec<String> = (0..6).map(|number| format!("w{number}")).collect();
        let asked = futures::future::join_all(names.iter().map(|name| asks(user, name, "lab"))).await;
        assert_eq!(asked.into_iter().filter(|made| *made).count(), most);
    };
    made(&ada, 2).await;
    made(&bob, 1).await;
    let (_, said) =
        bob.post("/workspaces", json!({ "name": "more", "image": "busybox", "account": "lab" })).await;
    let message = said["message"].as_str().unwrap();
    assert!(message.contains("account lab") && message.contains("1 workspace"), "{message}");
}

/// kube-controller-manager counts a quota anew from caches that may be behind, and then lets in what is too much: here nothing
/// of it is left.
#[tokio::test]
async fn a_user_has_no_more_workspaces_than_he_may_whatever_the_quota_lets_in() {
    let world = World::with(|settings| {
        settings.limits.workspaces = 5;
        settings.requests_per_second = 1000;
    })
    .await;
    let (ada, bob) = (world.user("ada").await, world.user("bob").await);
    let other = ada.at(world.another_portal().await);
    let ask = async |of: &Browser, name: &str| {
        let (status, said) = of.post("/workspaces", json!({ "name": name, "image": "busybox" })).await;
        assert!(status == 201 || said["code"] == "quotaExceeded", "{status} {said}");
        (status == 201).then_some(name.to_owned()).ok_or(said)
    };
    ask(&ada, "first").await.unwrap();
    ask(&other, "second").await.unwrap();
    let namespace = ada.namespace().await;
    let quotas: Api<ResourceQuota> = Api::namespaced(world.client.clone(), &namespace);
    quotas.delete("maar-user", &DeleteParams::default()).await.unwrap();
    let names: Vec<String> = (0..24).map(|number| format!("w{number}")).collect();
    let asked = names
        .iter()
        .enumerate()
        .map(async |(number, name)| ask(if number.is_multiple_of(2) { &ada } else { &other }, name).await);
    let (made, refused): (Vec<_>, Vec<_>) =
        futures::future::join_all(asked).await.into_iter().partition(Result::is_ok);
    assert_eq!(made.len(), 3, "{made:?}");
    let message = refused[0].as_ref().unwrap_err()["message"].as_str().unwrap();
    assert!(message.starts_with("you may have 5 workspaces, and have 5"), "{message}");
    // Nothing is left behind of those who were asked for.
    let namespaces: Api<Namespace> = Api::all(world.client.clone());
    let left = namespaces.get(&namespace).await.unwrap().metadata.annotations.unwrap_or_default();
    assert!(left.keys().all(|name| !name.starts_with("maar.io/room-")), "{left:?}");
    ask(&bob, "his").await.unwrap();
    let path = format!("/workspaces/{namespace}/first");
    assert_eq!(ada.delete(&path).await.0, 204);
    eventually("its end", async || other.get(&path).await.0 == 404).await;
    ask(&other, "next").await.unwrap();
    ask(&ada, "still-more").await.unwrap_err();
}

/// Who closes the page in the middle of it leaves nothing half done: no place that is kept for nothing, no change of which
/// nobody knows how it ended.
#[tokio::test]
async fn what_was_asked_for_is_done_to_its_end_when_who_asked_is_gone() {
    let (world, [ada, ..]) = world(json!({}), json!({ "capability": { "workspaces": "1" } })).await;
    let stop = world.stops_at("POST", "/workspaces");
    tokio::select! {
        made = asks(&ada, "desk", "lab") => panic!("{made}"),
        () = stop.reached() => {}
    }
    stop.go_on();
    let path = format!("/workspaces/{}/desk", ada.namespace().await);
    eventually("the workspace", async || ada.get(&path).await.0 == 200).await;
    let admin = world.admin().await;
    eventually("how it ended in the log", async || {
        let (_, log) = admin.get("/audit?action=createWorkspace").await;
        log["items"].as_array().unwrap().iter().any(|entry| entry["outcome"] == "done")
    })
    .await;
    let accounts: Api<Account> = Api::all(world.client.clone());
    let left = accounts.get("lab").await.unwrap().metadata.annotations.unwrap_or_default();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(ada.delete(&path).await.0, 204);
    eventually("its end", async || ada.get(&path).await.0 == 404).await;
    assert!(asks(&ada, "next", "lab").await, "the place is free at once");
}

#[tokio::test]
async fn a_portal_that_was_killed_between_asking_and_making_keeps_no_room_for_ever() {
    let (world, [ada, ..]) = world(json!({}), json!({ "capability": { "workspaces": "1" } })).await;
    let stop = world.stops_at("POST", "/workspaces");
    tokio::select! {
        // The cluster never hears of it.
        made = asks(&ada, "lost", "lab") => panic!("{made}"),
        () = stop.reached() => {}
    }
    assert!(!asks(&ada, "next", "lab").await, "it may still be made");
    // Longer than a portal tries, and longer than an API server works on what it was asked.
    world.clock.by(3 * 60 + 1);
    let again = world.browser();
    assert_eq!(again.login("ada", super::world::PASSWORD).await.0, 200);
    assert!(asks(&again, "next", "lab").await);
}
