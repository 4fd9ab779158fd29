//! Quotas under bursts of requests, for everything they limit, and limits that differ.

use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::ListParams};
use maar_api::{Quantity, ResourceList, resources::PodResources};
use maar_portal::{SpecialLimits, UserLimits};
use serde_json::{Value, json};

use super::{
    browser::Browser,
    world::{World, eventually},
};

const CARD: &str = "nvidia.com/gpu";

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
async fn asked(world: &World, of: &Browser) -> ResourceList {
    let api: Api<Pod> = Api::namespaced(world.client.clone(), &of.namespace().await);
    let mut sum = ResourceList::default();
    for pod in api.list(&ListParams::default()).await.unwrap().items {
        sum += &PodResources::from_pod(&pod).unwrap().requests();
    }
    sum
}

fn pod(name: &str, (cards, cpu, memory): (usize, usize, usize)) -> Value {
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
