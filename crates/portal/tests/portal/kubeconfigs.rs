//! Kubeconfigs on the embedded cluster, used as kubectl uses them.

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::{
    certificates::v1::CertificateSigningRequest,
    core::v1::{ConfigMap, Pod, Secret, ServiceAccount},
    rbac::v1::RoleBinding,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Api, Client, Config,
    api::{ListParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use maar_embedded::Listener;
use maar_portal::{CertificateRequest, KubeconfigSettings, certificate_name};
use maar_records::KubeconfigId;
use serde_json::{Value, json};

use super::{
    browser::Browser,
    world::{World, clock_now, eventually},
};

async fn world() -> World {
    World::with(|settings| {
        settings.kubeconfig = Some(KubeconfigSettings::at("https://127.0.0.1:1", None));
    })
    .await
}

/// A client by a kubeconfig of the portal, which does not know where this test lets the cluster listen.
async fn client(world: &World, listener: &Listener, text: &str) -> Client {
    let mut whole: Value = serde_saphyr::from_str(text).unwrap();
    let known: Value = serde_saphyr::from_str(&world.cluster().kubeconfig(listener).unwrap()).unwrap();
    whole["clusters"][0]["cluster"] = known["clusters"][0]["cluster"].clone();
    let read: Kubeconfig = serde_json::from_value(whole).unwrap();
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

async fn listen(world: &World) -> Listener {
    world.cluster().listen("127.0.0.1:0".parse().unwrap()).await.unwrap()
}

async fn made(browser: &Browser, asked: Value) -> (String, String) {
    let (status, said) = browser.post("/me/kubeconfigs", asked).await;
    assert_eq!(status, 201, "{said}");
    (said["id"].as_str().unwrap().to_owned(), said["kubeconfig"].as_str().unwrap().to_owned())
}

async fn lists(client: &Client, namespace: &str) -> Result<(), u16> {
    let found = Api::<Pod>::namespaced(client.clone(), namespace).list(&ListParams::default()).await;
    match found {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(status.code),
        Err(other) => panic!("{other}"),
    }
}

async fn refused<K>(client: &Client, namespace: &str) -> bool
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned,
{
    let found = Api::<K>::namespaced(client.clone(), namespace).list(&ListParams::default()).await;
    matches!(found, Err(kube::Error::Api(status)) if status.code == 403)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_works_in_the_own_namespace_and_nowhere_else_until_it_is_revoked() {
    let world = world().await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    let listener = listen(&world).await;
    let (own, theirs) = (ada.namespace().await, eve.namespace().await);
    eve.workspace("desk", json!({})).await;
    for mode in ["certificate", "token"] {
        let (id, text) = made(&ada, json!({ "mode": mode, "device": "laptop" })).await;
        let kubectl = client(&world, &listener, &text).await;
        assert_eq!(lists(&kubectl, &own).await, Ok(()), "{mode}");
        assert_eq!(lists(&kubectl, &theirs).await, Err(403), "{mode}: of others");
        assert_eq!(lists(&kubectl, "maar-system").await, Err(403), "{mode}: of Maar");
        assert!(refused::<Secret>(&kubectl, &own).await, "{mode}: secrets");
        assert!(refused::<RoleBinding>(&kubectl, &own).await, "{mode}: bindings");
        let pod =
            json!({ "metadata": { "name": "x" }, "spec": { "containers": [{ "name": "x", "image": "x" }] } });
        let pods: Api<Pod> = Api::namespaced(kubectl.clone(), &own);
        let denied = pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await;
        assert!(
            matches!(denied, Err(kube::Error::Api(status)) if status.code == 403),
            "{mode}: Pods past the rules"
        );
        let map: ConfigMap =
            serde_json::from_value(json!({ "metadata": { "name": format!("by-{mode}") } })).unwrap();
        let maps: Api<ConfigMap> = Api::namespaced(kubectl.clone(), &own);
        maps.create(&PostParams::default(), &map).await.unwrap();
        // A stranger cannot even know of it; its owner ends it.
        assert_eq!(eve.delete(&format!("/kubeconfigs/{id}")).await.0, 404);
        assert_eq!(ada.delete(&format!("/kubeconfigs/{id}")).await.0, 204);
        let after = lists(&kubectl, &own).await;
        assert!(matches!(after, Err(401 | 403)), "{mode}: {after:?}");
    }
    let (_, listed) = ada.get("/me/kubeconfigs").await;
    assert!(listed["items"].as_array().unwrap().iter().all(|one| one["revoked"] == true), "{listed}");
    // Nothing is left in the cluster but what holds.
    let requests: Api<CertificateSigningRequest> = Api::all(world.client.clone());
    assert!(requests.list(&ListParams::default()).await.unwrap().items.is_empty());
    let accounts: Api<ServiceAccount> = Api::namespaced(world.client.clone(), "maar-devices");
    let left = accounts.list(&ListParams::default()).await.unwrap().items;
    assert!(left.iter().all(|one| !one.metadata.name.as_deref().unwrap().starts_with("maar-d-")));
    listener.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_stays_on_the_machine_and_is_certified_for_its_owner_alone() {
    let world = world().await;
    let ada = world.user("ada").await;
    let listener = listen(&world).await;
    let user = ada.get("/me").await.1["id"].as_str().unwrap().to_owned();
    let id = "d-0123456789abcdef01234567";
    let own = CertificateRequest::new(&certificate_name(&user, id)).unwrap();
    let ask =
        |id: &str, csr: &str| json!({ "mode": "certificate", "device": "laptop", "id": id, "csr": csr });
    for (what, name) in [
        ("another user", certificate_name("u-other", id)),
        ("another device", certificate_name(&user, "d-000000000000000000000000")),
        ("an administrator", "kubernetes-admin".to_owned()),
        ("a part of the cluster", "system:kube-controller-manager".to_owned()),
    ] {
        let other = CertificateRequest::new(&name).unwrap();
        let (status, said) = ada.post("/me/kubeconfigs", ask(id, &other.request)).await;
        assert_eq!((status, &said["field"]), (422, &json!("csr")), "{what}: {said}");
    }
    for wrong in ["d-1", "D-0123456789abcdef01234567", "d-0123456789abcdef0123456g", "../x"] {
        let (status, said) = ada.post("/me/kubeconfigs", ask(wrong, &own.request)).await;
        assert_eq!((status, &said["field"]), (422, &json!("id")), "{wrong}");
    }
    let (_, text) = made(&ada, ask(id, &own.request)).await;
    assert!(!text.contains("client-key-data"));
    let kubectl = client(&world, &listener, &own.complete(&text).unwrap()).await;
    assert_eq!(lists(&kubectl, &ada.namespace().await).await, Ok(()));
    // The same once more is somebody else's, or a mistake.
    assert_eq!(ada.post("/me/kubeconfigs", ask(id, &own.request)).await.0, 409);
    assert_eq!(lists(&kubectl, &ada.namespace().await).await, Ok(()), "what holds is not taken away by that");
    listener.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_disabled_has_no_kubectl_any_more() {
    let world = world().await;
    let (admin, ada) = (world.admin().await, world.user("ada").await);
    let listener = listen(&world).await;
    let (_, text) = made(&ada, json!({ "mode": "certificate", "device": "laptop" })).await;
    let kubectl = client(&world, &listener, &text).await;
    let (own, id) = (ada.namespace().await, ada.get("/me").await.1["id"].as_str().unwrap().to_owned());
    assert_eq!(lists(&kubectl, &own).await, Ok(()));
    assert_eq!(admin.put(&format!("/users/{id}"), json!({ "disabled": true })).await.0, 200);
    assert_eq!(lists(&kubectl, &own).await, Err(403), "the certificate is believed, and may nothing");
    listener.stop().await;
}

/// What is taken away while it is made is not there afterwards, however the two meet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kubeconfig_that_is_revoked_while_it_is_made_may_nothing() {
    let world = world().await;
    let ada = world.user("ada").await;
    let user = ada.get("/me").await.1["id"].as_str().unwrap().to_owned();
    let bindings: Api<RoleBinding> = Api::namespaced(world.client.clone(), &ada.namespace().await);
    for round in 0..8 {
        let id = format!("d-{round:024x}");
        let csr = CertificateRequest::new(&certificate_name(&user, &id)).unwrap().request;
        let asked = json!({ "mode": "certificate", "device": "laptop", "id": id, "csr": csr });
        let path = format!("/kubeconfigs/{id}");
        let revoking = async {
            // As soon as there is something to revoke, and a little later from round to round.
            while world.records.kubeconfig(&KubeconfigId::new(&id)).await.is_err() {
                tokio::task::yield_now().await;
            }
            for _ in 0..round * 4 {
                tokio::task::yield_now().await;
            }
            ada.delete(&path).await.0
        };
        let ((status, said), revoked) = tokio::join!(ada.post("/me/kubeconfigs", asked), revoking);
        assert!(matches!((status, revoked), (201 | 409, 204)), "round {round}: {status} {revoked} {said}");
        let left = bindings.get_opt(&format!("maar-{id}")).await.unwrap();
        assert!(left.is_none(), "round {round}: {status}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_kubectl_works_beyond_the_end_of_its_user() {
    let world = world().await;
    let (admin, ada) = (world.admin().await, world.user("ada").await);
    let listener = listen(&world).await;
    let (own, id) = (ada.namespace().await, ada.get("/me").await.1["id"].as_str().unwrap().to_owned());
    let ends = async |end: jiff::Timestamp| {
        let (status, said) = admin.put(&format!("/users/{id}"), json!({ "expires": end.to_string() })).await;
        assert_eq!(status, 200, "{said}");
    };
    let after = |minutes| clock_now() + jiff::SignedDuration::from_mins(minutes);
    let mut all = Vec::new();
    for mode in ["certificate", "token"] {
        let (_, text) = made(&ada, json!({ "mode": mode, "device": mode, "hours": 12 })).await;
        all.push(client(&world, &listener, &text).await);
        assert_eq!(lists(&all[all.len() - 1], &own).await, Ok(()), "{mode}");
    }
    let end = after(60);
    ends(end).await;
    for kubectl in &all {
        let gone = lists(kubectl, &own).await;
        assert!(matches!(gone, Err(401 | 403)), "it would have worked beyond the end: {gone:?}");
    }
    let asked = json!({ "mode": "certificate", "device": "laptop", "hours": 12 });
    let (status, said) = ada.post("/me/kubeconfigs", asked.clone()).await;
    assert_eq!(status, 201, "{said}");
    let until: jiff::Timestamp = said["expires"].as_str().unwrap().parse().unwrap();
    assert!(until <= end, "{until} is after {end}");
    let kubectl = client(&world, &listener, said["kubeconfig"].as_str().unwrap()).await;
    assert_eq!(lists(&kubectl, &own).await, Ok(()));
    ends(after(120)).await;
    assert_eq!(lists(&kubectl, &own).await, Ok(()), "what ends sooner goes on");
    ends(after(5)).await;
    assert_eq!(ada.post("/me/kubeconfigs", asked).await.0, 409, "the cluster makes none for so short");
    ends(after(-1)).await;
    assert_eq!(lists(&kubectl, &own).await, Err(403), "he has ended");
    listener.stop().await;
}

#[tokio::test]
async fn hours_not_years_and_keys_that_are_made_for_less_get_none() {
    let world = world().await;
    let ada = world.user("ada").await;
    let (_, offer) = ada.get("/kubeconfig").await;
    assert_eq!((&offer["modes"], &offer["longestHours"]), (&json!(["certificate", "token"]), &json!(24)));
    for hours in [0, 25, 8760, -1] {
        let (status, said) =
            ada.post("/me/kubeconfigs", json!({ "mode": "token", "device": "x", "hours": hours })).await;
        assert_eq!((status, &said["field"]), (422, &json!("hours")), "{hours}");
    }
    let (status, said) = ada.post("/me/kubeconfigs", json!({ "mode": "oidc", "device": "x" })).await;
    assert_eq!((status, &said["field"]), (422, &json!("mode")), "there is no provider here");
    for scopes in [&["workspaces:read"][..], &["workspaces:write"], &["jobs:write"]] {
        let (_, key) = ada.key(&scopes.join(" "), scopes).await;
        let (status, said) =
            ada.program(&key).post("/me/kubeconfigs", json!({ "mode": "token", "device": "x" })).await;
        assert_eq!((status, &said["code"]), (403, &json!("scopeMissing")), "{scopes:?}");
    }
    let (_, key) = ada.key("both", &["workspaces:write", "jobs:write"]).await;
    made(&ada.program(&key), json!({ "mode": "token", "device": "x", "hours": 1 })).await;
    let none = World::new().await;
    let bob = none.user("bob").await;
    assert_eq!(bob.get("/kubeconfig").await.1["modes"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_ended_by_itself_leaves_nothing_in_the_cluster() {
    let world = World::with(|settings| {
        settings.kubeconfig = Some(KubeconfigSettings::at("https://127.0.0.1:1", None));
        settings.look_after = Duration::from_millis(50);
    })
    .await;
    let ada = world.user("ada").await;
    let own = ada.namespace().await;
    let (lives, _) = made(&ada, json!({ "mode": "token", "device": "laptop" })).await;
    let bindings: Api<RoleBinding> = Api::namespaced(world.client.clone(), &own);
    let accounts: Api<ServiceAccount> = Api::namespaced(world.client.clone(), "maar-devices");
    // What one has left that was made yesterday.
    let known = world.records.kubeconfig(&KubeconfigId::new(&lives)).await.unwrap();
    let ended = KubeconfigId::new("d-0123456789abcdef01234567");
    let copy =
        |name: &str| ObjectMeta { name: Some(name.replace(&lives, ended.as_str())), ..ObjectMeta::default() };
    let name = format!("maar-{lives}");
    let binding = bindings.get(&name).await.unwrap();
    let binding = RoleBinding { metadata: copy(&name), ..binding };
    bindings.create(&PostParams::default(), &binding).await.unwrap();
    let account = ServiceAccount { metadata: copy(&name), ..ServiceAccount::default() };
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let now = clock_now();
    let (created_at, expires_at) =
        (now - SignedDuration::from_hours(24), now - SignedDuration::from_hours(12));
    let yesterday = maar_records::Kubeconfig { id: ended.clone(), created_at, expires_at, ..known };
    world.records.create_kubeconfig(&yesterday).await.unwrap();
    let left = async |id: &str| {
        let name = format!("maar-{id}");
        let binding = bindings.get_opt(&name).await.unwrap().is_some();
        (binding, accounts.get_opt(&name).await.unwrap().is_some())
    };
    eventually("the end of what it left", async || left(ended.as_str()).await == (false, false)).await;
    assert_eq!(left(&lives).await, (true, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_made_for_a_device_takes_the_place_of_what_it_had() {
    let world = world().await;
    let listener = listen(&world).await;
    let (ada, bob) = (world.user("ada").await, world.user("bob").await);
    let make = async |browser: &Browser, device: &str, more: Value| {
        let mut asked = json!({ "mode": "token", "device": device });
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client(&world, &listener, &made(browser, asked).await.1).await
    };
    let (own, his) = (ada.namespace().await, bob.namespace().await);
    let first = make(&ada, "laptop", json!({})).await;
    let (phone, foreign) = (make(&ada, "phone", json!({})).await, make(&bob, "laptop", json!({})).await);
    assert_eq!(lists(&first, &own).await, Ok(()));
    let second = make(&ada, "laptop", json!({})).await;
    assert!(matches!(lists(&first, &own).await, Err(401 | 403)), "what the laptop had before");
    for (name, client, namespace) in
        [("laptop", &second, &own), ("phone", &phone, &own), ("bob's laptop", &foreign, &his)]
    {
        assert_eq!(lists(client, namespace).await, Ok(()), "{name}");
    }
    // Who looks after it himself says so.
    let third = make(&ada, "laptop", json!({ "replace": false })).await;
    assert_eq!((lists(&second, &own).await, lists(&third, &own).await), (Ok(()), Ok(())));
    make(&ada, "laptop", json!({ "replace": true })).await;
    assert!(lists(&second, &own).await.is_err() && lists(&third, &own).await.is_err());
    let (_, log) = world.admin().await.get("/audit?action=createKubeconfig").await;
    let replaced = &log["items"][0]["after"]["replaced"];
    assert_eq!(replaced.as_array().map(Vec::len), Some(2), "{log}");
}
