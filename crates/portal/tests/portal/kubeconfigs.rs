//! Kubeconfigs on the embedded cluster, used as kubectl uses them.

use k8s_openapi::api::{
    certificates::v1::CertificateSigningRequest,
    core::v1::{ConfigMap, Pod, Secret, ServiceAccount},
    rbac::v1::RoleBinding,
};
use kube::{
    Api, Client, Config,
    api::{ListParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use maar_embedded::Listener;
use maar_portal::{CertificateRequest, KubeconfigSettings, certificate_name};
use serde_json::{Value, json};

use super::{browser::Browser, world::World};

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
    let accounts: Api<ServiceAccount> = Api::namespaced(world.client.clone(), "maar-system");
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
