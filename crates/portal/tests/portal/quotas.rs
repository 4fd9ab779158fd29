//! Quotas under bursts of requests, for everything they limit, and limits that differ.

use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use kube::{
    Api,
    api::{DeleteParams, ListParams},
};
use maar_api::{Quantity, ResourceList, resources::PodResources};
use maar_portal::{SpecialLimits, UserLimits};
use serde_json::{Value, json};

use super::{
    browser::Browser,
    world::{World, eventually},
};

pub(crate) const CARD: &str = "nvidia.com/gpu";

pub(crate) fn limits(list: &[(&str, &str)]) -> UserLimits {
    let mut limits = UserLimits::default();
    for (what, amount) in list {
        limits.set(what, amount.parse().unwrap()).unwrap();
    }
    limits
}

async fn world(list: &[(&str, &str)]) -> World {
    World::with(|settings| {
        settings.limits = limits(list);
        settings.requests_per_second = 1000;
    })
    .await
}

/// What all Pods of somebody ask for together, as the cluster has them.
pub(crate) async fn asked(world: &World, of: &Browser) -> ResourceList {
    let api: Api<Pod> = Api::namespaced(world.client.clone(), &of.namespace().await);
    let mut sum = ResourceList::default();
    for pod in api.list(&ListParams::default()).await.unwrap().items {
        sum += &PodResources::from_pod(&pod).unwrap().requests();
    }
    sum
}

pub(crate) fn pod(name: &str, (cards, cpu, memory): (usize, usize, usize)) -> Value {
    let resources = json!({ "requests": { "cpu": cpu.to_string(), "memory": format!("{memory}Gi") },
        "limits": { CARD: cards.to_string() } });
    let container =
        json!({ "name": "main", "image": "busybox", "command": ["sleep", "1d"], "resources": resources });
    json!({ "metadata": { "name": name }, "spec": { "containers": [container] } })
}

#[tokio::test]
async fn bursts_of_pods_of_every_size_never_exceed_cards_processors_or_memory() {
    let world = world(&[(CARD, "9"), ("cpu", "14"), ("memory", "40Gi")]).await;
    let ada = world.user("ada").await;
    let most = limits(&[(CARD, "9"), ("cpu", "14"), ("memory", "40Gi")]).requests;
    let ask = async |number: usize| {
        let size = (1 + number % 3, 1 + number % 4, 2 + number % 7);
        let (status, said) = ada.post("/pods", pod(&format!("p{number}"), size)).await;
        assert!(status == 201 || said["code"] == "quotaExceeded", "{status} {said}");
        // Not only in the end: whenever one was answered.
        let now = asked(&world, &ada).await;
        for (resource, limit) in &most {
            assert!(now.get(resource) <= *limit, "{resource}: {} of {limit}", now.get(resource));
        }
        status == 201
    };
    let made = futures::future::join_all((0..40).map(ask)).await;
    let made = made.into_iter().filter(|made| *made).count();
    assert!((3..=9).contains(&made), "{made}");
    // What is left is given to the last: one that asks for exactly that, and nobody after him.
    let left = |now: &ResourceList, what: &str| most.get(what) - now.get(what);
    let now = asked(&world, &ada).await;
    let (cards, cpu, memory) = (left(&now, CARD), left(&now, "cpu"), left(&now, "memory"));
    assert!([cards, cpu, memory].iter().all(|left| *left >= Quantity::default()));
    let mut last = pod("last", (0, 1, 1));
    last["spec"]["containers"][0]["resources"] =
        json!({ "requests": { "cpu": cpu, "memory": memory }, "limits": { CARD: cards } });
    let (status, said) = ada.post("/pods", last).await;
    assert_eq!(status, 201, "{said}");
    for (size, what) in [((1, 0, 0), CARD), ((0, 1, 0), "cpu"), ((0, 0, 1), "memory")] {
        let (status, said) = ada.post("/pods", pod("more", size)).await;
        assert_eq!((status, &said["code"]), (403, &json!("quotaExceeded")), "{what}: {said}");
        assert!(said["message"].as_str().unwrap().contains(what), "{said}");
    }
}

/// kube-controller-manager counts a quota anew from caches that may be behind, and then lets in what is too much.
#[tokio::test]
async fn what_a_cluster_lets_in_above_a_limit_does_not_run() {
    let world = world(&[("cpu", "5"), ("memory", "64Gi")]).await;
    let ada = world.user("ada").await;
    let first = pod("p0", (0, 2, 1));
    assert_eq!(ada.post("/pods", first).await.0, 201);
    let quotas: Api<ResourceQuota> = Api::namespaced(world.client.clone(), &ada.namespace().await);
    quotas.delete("maar-user", &DeleteParams::default()).await.unwrap();
    for number in 1..5 {
        let (status, said) = ada.post("/pods", pod(&format!("p{number}"), (0, 2, 1))).await;
        assert_eq!(status, 201, "nothing else refuses it: {said}");
    }
    let pods: Api<Pod> = Api::namespaced(world.client.clone(), &ada.namespace().await);
    let placed = async || {
        let all = pods.list(&ListParams::default()).await.unwrap().items;
        all.into_iter().filter(|pod| pod.spec.as_ref().unwrap().node_name.is_some()).collect::<Vec<_>>()
    };
    eventually("as many as fit", async || placed().await.len() == 2).await;
    // One that ends makes room for one, which was looked at before: so the others were, too.
    let name = placed().await[0].metadata.name.clone().unwrap();
    assert_eq!(ada.delete(&format!("/pods/{}/{name}", ada.namespace().await)).await.0, 204);
    eventually("another in its place", async || {
        let now = placed().await;
        assert!(now.len() <= 2, "{} Pods of two cores under a limit of five", now.len());
        now.len() == 2 && now.iter().all(|pod| pod.metadata.name.as_deref() != Some(name.as_str()))
    })
    .await;
}

#[tokio::test]
async fn workspaces_and_jobs_share_the_cards_of_their_user_and_wait_for_them_with_a_reason() {
    let world = world(&[(CARD, "3")]).await;
    let ada = world.user("ada").await;
    let desk = async |number: usize| {
        let more = json!({ "name": format!("w{number}"), "image": "busybox", "cards": { "count": 1 },
            "command": ["sleep", "1d"] });
        assert_eq!(ada.post("/workspaces", more).await.0, 201);
    };
    let job = async |number: usize| {
        let task = json!({ "name": "main", "cards": { "count": 1 }, "template": { "spec": { "containers": [
            { "name": "main", "image": "busybox", "command": ["sleep", "1d"] }] } } });
        let body = json!({ "metadata": { "name": format!("j{number}") }, "spec": { "tasks": [task] } });
        assert_eq!(ada.post("/jobs", body).await.0, 201);
    };
    let work =
        async |number: usize| if number.is_multiple_of(2) { desk(number).await } else { job(number).await };
    futures::future::join_all((0..8).map(work)).await;
    let three = Quantity::from_units(3);
    eventually("three cards to be used", async || {
        let now = asked(&world, &ada).await.get(CARD);
        assert!(now <= three, "{now}");
        now == three
    })
    .await;
    let waits = async || {
        for number in [0, 2, 4, 6] {
            let path = format!("/workspaces/{}/w{number}", ada.namespace().await);
            let (_, why) = ada.get(&format!("{path}/why")).await;
            if why["waits"] == true && why["sentences"].to_string().contains("exceeded quota") {
                return Some(path);
            }
        }
        None
    };
    eventually("a workspace that says why it waits", async || waits().await.is_some()).await;
    let quota = ada.get("/quota").await.1;
    assert_eq!((&quota["limits"][CARD], &quota["used"][CARD]), (&json!("3"), &json!("3")));
    // What ends makes room for what waits.
    let path = waits().await.unwrap();
    for number in 0..8 {
        let name = if number % 2 == 0 { "workspaces" } else { "jobs" };
        let other =
            format!("/{name}/{}/{}{number}", ada.namespace().await, if number % 2 == 0 { "w" } else { "j" });
        if other != path {
            assert_eq!(ada.delete(&other).await.0, 204);
        }
    }
    eventually("the one that waited", async || ada.get(&path).await.1["phase"] == "Running").await;
}

#[tokio::test]
async fn shares_of_cards_count_as_whole_cards_do_however_many_ask_at_once() {
    let world = world(&[(CARD, "1"), ("workspaces", "20")]).await;
    let ada = world.user("ada").await;
    let asks = async |number: usize| {
        let cards = if number == 0 { json!({ "count": 1 }) } else { json!({ "share": "0.3" }) };
        let body = json!({ "name": format!("w{number}"), "image": "busybox", "cards": cards, "command": ["sleep", "1d"] });
        let (status, said) = ada.post("/workspaces", body).await;
        assert_eq!(status, 201, "{said}");
    };
    futures::future::join_all((1..8).map(asks)).await;
    let given = async || {
        let items = ada.get("/workspaces").await.1["items"].as_array().unwrap().clone();
        items.iter().filter(|one| one["givenCards"].is_string()).count()
    };
    eventually("three shares", async || {
        let now = given().await;
        assert!(now <= 3, "{now} shares of 0.3 are more than one card");
        now == 3
    })
    .await;
    eventually("what is used", async || ada.get("/quota").await.1["used"][CARD] == "900m").await;
    asks(0).await;
    let whole = format!("/workspaces/{}/w0", ada.namespace().await);
    eventually("the whole card to be waited for", async || {
        ada.get(&whole).await.1["reason"] == "WaitingForNodes"
    })
    .await;
    assert_eq!(given().await, 3, "nobody has more by asking for a whole one");
    for number in 1..8 {
        assert_eq!(ada.delete(&whole.replace("w0", &format!("w{number}"))).await.0, 204);
    }
    eventually("the whole card", async || ada.get(&whole).await.1["phase"] == "Running").await;
}

#[tokio::test]
async fn limits_differ_by_user_and_account_and_follow_who_is_in_it() {
    let file = "users: { ada: { workspaces: 2 } }\naccounts: { lab: { workspaces: 3, nvidia.com/gpu: 4 } }";
    let world = World::with(|settings| {
        settings.limits.workspaces = 1;
        settings.special_limits = SpecialLimits::parse(file).unwrap();
        settings.requests_per_second = 1000;
    })
    .await;
    let (ada, bob) = (world.user("ada").await, world.user("bob").await);
    let shown = async |who: &Browser| who.get("/quota").await.1["limits"]["workspaces"].clone();
    assert_eq!((shown(&ada).await, shown(&bob).await), (json!("2"), json!("1")));
    let makes = async |who: &Browser, prefix: &str| {
        let ask = async |number: usize| {
            let body = json!({ "name": format!("{prefix}{number}"), "image": "busybox" });
            who.post("/workspaces", body).await.0 == 201
        };
        let made = futures::future::join_all((0..6).map(ask)).await;
        made.into_iter().filter(|made| *made).count()
    };
    assert_eq!((makes(&ada, "a").await, makes(&bob, "b").await), (2, 1));
    world.account("lab", &[("ada", "Member"), ("bob", "Member")], &bob).await;
    eventually("what the account allows", async || shown(&bob).await == "3").await;
    assert_eq!(shown(&ada).await, "2", "what is said of her holds");
    assert_eq!((makes(&ada, "c").await, makes(&bob, "d").await), (0, 2), "as soon as he is in it");
    assert_eq!(bob.get("/quota").await.1["limits"][CARD], "4");
}

#[tokio::test]
async fn limits_of_a_user_are_set_while_the_portal_runs_and_hold_at_once() {
    let world = world(&[("workspaces", "9")]).await;
    let (ada, bob, admin) = (world.user("ada").await, world.user("bob").await, world.admin().await);
    let path = format!("/users/{}/limits", ada.get("/me").await.1["id"].as_str().unwrap());
    let set = async |limits: Value| admin.put(&path, json!({ "limits": limits })).await;
    let makes = async |prefix: &str| {
        let ask = async |number: usize| {
            let body = json!({ "name": format!("{prefix}{number}"), "image": "busybox" });
            let (status, said) = ada.post("/workspaces", body).await;
            assert!(status == 201 || said["code"] == "quotaExceeded", "{said}");
            status == 201
        };
        let made = futures::future::join_all((0..6).map(ask)).await;
        made.into_iter().filter(|made| *made).count()
    };
    let (status, said) = set(json!({ "workspaces": 2, CARD: "1" })).await;
    assert_eq!((status, &said["set"]), (200, &json!({ "workspaces": "2", CARD: "1" })), "{said}");
    assert_eq!(
        (&said["limits"]["workspaces"], &said["limits"]["jobs"]),
        (&json!("2"), &json!("1000")),
        "{said}"
    );
    let shown = ada.get("/quota").await.1;
    assert_eq!((&shown["limits"]["workspaces"], &shown["limits"][CARD]), (&json!("2"), &json!("1")));
    assert_eq!(bob.get("/quota").await.1["limits"]["workspaces"], "9", "he is as he was");
    assert_eq!(makes("a").await, 2);
    // The cluster itself holds her to it as soon as it is said, not when she comes next.
    assert_eq!(set(json!({ "workspaces": 3 })).await.0, 200);
    let quotas: Api<ResourceQuota> = Api::namespaced(world.client.clone(), &ada.namespace().await);
    let hard =
        quotas.list(&ListParams::default()).await.unwrap().items[0].spec.clone().unwrap().hard.unwrap();
    assert_eq!(hard["count/workspaces.maar.io"].0, "3");
    assert!(!hard.contains_key(&format!("requests.{CARD}")), "what is not said any more is as for others");
    assert_eq!(makes("b").await, 1);
    // Who has more than that keeps it, and gets no more.
    assert_eq!(set(json!({ "workspaces": 1 })).await.0, 200);
    assert_eq!(makes("c").await, 0);
    assert_eq!(ada.get("/workspaces").await.1["items"].as_array().unwrap().len(), 3);
    let (_, log) = admin.get("/audit?action=setLimits&outcome=done").await;
    assert_eq!(
        (&log["items"][0]["objectName"], &log["items"][0]["before"], &log["items"][0]["after"]),
        (&json!("ada"), &json!({ "workspaces": "3" }), &json!({ "workspaces": "1" }))
    );
    for (wrong, field) in [
        (json!({ "workspace": 1 }), "limits.workspace"),
        (json!({ "workspaces": "500m" }), "limits.workspaces"),
        (json!({ "cpu": "-1" }), "limits.cpu"),
        (json!({ "cpu": "many" }), "body"),
    ] {
        let (status, said) = set(wrong).await;
        assert_eq!((status, &said["field"]), (422, &json!(field)), "{said}");
    }
    for who in [&ada, &bob] {
        assert_eq!(who.put(&path, json!({ "limits": { "workspaces": 99 } })).await.0, 404);
        assert_eq!(who.get(&path).await.0, 404);
    }
    assert_eq!(set(json!({})).await.1["limits"]["workspaces"], "9");
    assert_eq!(makes("d").await, 6);
}

#[tokio::test]
async fn an_account_has_never_more_than_it_may_however_many_of_its_users_ask_at_once() {
    let world = world(&[("workspaces", "20")]).await;
    let admin = world.admin().await;
    let (ada, bob, eve) = (world.user("ada").await, world.user("bob").await, world.user("eve").await);
    let users = [&ada, &bob, &eve];
    let lab = json!({ "name": "lab", "capability": { CARD: "3", "pods": "5" } });
    assert_eq!(admin.post("/accounts", lab).await.0, 201);
    for name in ["ada", "bob", "eve"] {
        assert_eq!(admin.put(&format!("/accounts/lab/members/{name}"), json!({})).await.0, 204);
    }
    for user in users {
        eventually("his part", async || user.get("/accounts/lab").await.0 == 200).await;
    }
    let pods: Api<Pod> = Api::all(world.client.clone());
    let of_lab = ListParams::default().labels("maar.io/account=lab");
    // Pods of the account that have a node, and their cards.
    let held = async || {
        let all = pods.list(&of_lab).await.unwrap().items;
        let placed = all.iter().filter(|pod| pod.spec.as_ref().unwrap().node_name.is_some());
        let cards = placed.clone().map(|pod| PodResources::from_pod(pod).unwrap().requests().get(CARD));
        (placed.clone().count(), cards.fold(Quantity::default(), |sum, one| sum + one))
    };
    let most = (5, Quantity::from_units(3));
    let within = async || {
        let now = held().await;
        assert!(now.0 <= most.0 && now.1 <= most.1, "{now:?} of {most:?}");
        now
    };
    // Twelve with a card each, and twelve without, of three users, all at once.
    let ask = async |number: usize| {
        let mut body = json!({ "name": format!("w{number}"), "image": "busybox", "account": "lab", "command": ["sleep", "1d"] });
        if number.is_multiple_of(2) {
            body["cards"] = json!({ "count": 1 });
        }
        let (status, said) = users[number % 3].post("/workspaces", body).await;
        assert_eq!(status, 201, "{said}");
        within().await;
    };
    futures::future::join_all((0..24).map(ask)).await;
    eventually("the account to be full", async || within().await.0 == most.0).await;
    // What goes makes room for as much as that, whoever waits; until nobody does.
    for number in 0..24 {
        let user = users[number % 3];
        let path = format!("/workspaces/{}/w{number}", user.namespace().await);
        assert_eq!(user.delete(&path).await.0, 204);
        let left = 23 - number;
        eventually("others in its place", async || {
            let (count, cards) = within().await;
            // Those with a card wait for cards, and others for places.
            count == most.0.min(left) || cards == most.1
        })
        .await;
    }
}
