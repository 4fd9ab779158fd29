//! Every route, asked by those who may not.

use maar_portal::openapi;
use maar_records::{Kubeconfig, KubeconfigId, UserId};
use serde_json::{Value, json};

use super::{
    browser::Browser,
    world::{World, clock_now, eventually},
};

/// All operations of the document: method, path, whether everyone may.
fn operations() -> Vec<(String, String, bool)> {
    let document = openapi();
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let public = operation["security"].as_array().unwrap().is_empty();
            all.push((method.to_uppercase(), path.clone(), public));
        }
    }
    all
}

#[tokio::test]
async fn nobody_reaches_anything_but_what_is_public() {
    let world = World::new().await;
    let nobody = world.browser();
    let mut public = Vec::new();
    for (method, path, open) in operations() {
        let path = path.replace(['{', '}'], "");
        let (status, said) = nobody.call(&method, &path, (method != "GET").then(|| json!({}))).await;
        if open {
            public.push(format!("{method} {path}"));
        } else {
            assert_eq!((status, &said["code"]), (401, &json!("signedOut")), "{method} {path}");
            assert!(said["requestId"].is_string(), "{said}");
        }
    }
    public.sort();
    let want = [
        "GET /.well-known/openid-configuration",
        "GET /api/docs",
        "GET /api/v1/login/provider/begin",
        "GET /api/v1/login/provider/callback",
        "GET /api/v1/login/providers",
        "GET /api/v1/openapi.json",
        "GET /oauth/authorize",
        "GET /oauth/keys",
        "GET /oauth/userinfo",
        "POST /api/v1/login",
        "POST /api/v1/login/development",
        "POST /api/v1/login/provider",
        "POST /oauth/authorize",
        "POST /oauth/device",
        "POST /oauth/revoke",
        "POST /oauth/token",
        "POST /oauth/userinfo",
    ];
    assert_eq!(public, want);
}

/// What belongs to ada, by the parameters of paths.
async fn belongings(world: &World, ada: &Browser) -> Vec<(&'static str, String)> {
    let workspace = ada.workspace("desk", json!({})).await;
    let namespace = workspace.split('/').nth(2).unwrap().to_owned();
    let job = json!({ "metadata": { "name": "desk" }, "spec": { "tasks": [{ "name": "main", "template": { "spec": {
        "containers": [{ "name": "main", "image": "busybox" }] } } }] } });
    assert_eq!(ada.post("/jobs", job).await.0, 201);
    world.account("secret", &[("ada", "Admin")], ada).await;
    let (key, _) = ada.key("ci", &["jobs:read"]).await;
    let session = ada.get("/me/sessions").await.1["items"][0]["id"].as_str().unwrap().to_owned();
    let user = ada.get("/me").await.1["id"].as_str().unwrap().to_owned();
    let template = json!({ "kind": "workspace", "name": "desk", "body": { "image": "busybox" } });
    let template = ada.post("/templates", template).await.1["id"].as_str().unwrap().to_owned();
    let kubeconfig = Kubeconfig {
        id: KubeconfigId::new("d-0123456789abcdef01234567"),
        user: UserId::new(&user),
        mode: "token".to_owned(),
        device: "desk".to_owned(),
        created_at: clock_now(),
        expires_at: clock_now() + jiff::SignedDuration::from_hours(1),
        revoked_at: None,
    };
    world.records.create_kubeconfig(&kubeconfig).await.unwrap();
    let kubeconfig = kubeconfig.id.to_string();
    vec![
        ("namespace", namespace),
        ("key", key),
        ("session", session),
        ("user", user),
        ("template", template),
        ("kubeconfig", kubeconfig),
    ]
}

fn fill(path: &str, things: &[(&'static str, String)]) -> String {
    let thing = |name: &str| things.iter().find(|(key, _)| *key == name).unwrap().1.clone();
    let id = if path.contains("/keys/") {
        thing("key")
    } else if path.contains("/kubeconfigs/") {
        thing("kubeconfig")
    } else if path.contains("/templates/") {
        thing("template")
    } else if path.contains("/sessions/{id}") {
        thing("session")
    } else {
        thing("user")
    };
    let name = if path.contains("/accounts/") { "secret" } else { "desk" };
    path.replace("{namespace}", &thing("namespace")).replace("{name}", name).replace("{id}", &id)
}

#[tokio::test]
async fn a_stranger_reaches_nothing_of_another_and_learns_of_nothing() {
    let world = World::new().await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    let things = belongings(&world, &ada).await;
    let nothing: Vec<(&str, String)> = things.iter().map(|(kind, _)| (*kind, "none".to_owned())).collect();
    eventually("the job", async || {
        ada.get("/jobs").await.1["items"].as_array().is_some_and(|all| !all.is_empty())
    })
    .await;
    // Nodes are nobody's; see nodes.rs for who changes them.
    let named =
        operations().into_iter().filter(|(_, path, _)| path.contains('{') && !path.contains("/nodes/"));
    for (method, path, _) in named {
        let filled = fill(&path, &things);
        let body = (method != "GET").then(|| json!({}));
        let (status, said) = eve.call(&method, &filled, body.clone()).await;
        assert_eq!((status, &said["code"]), (404, &json!("notFound")), "{method} {path}: {said}");
        // Word for word what is said of something that does not exist.
        let missing = fill(&path, &nothing);
        let (status, other) = eve.call(&method, &missing, body).await;
        assert_eq!((status, &other["message"]), (404, &said["message"]), "{method} {path}");
    }
    for path in [
        "/pods",
        "/templates",
        "/volumes",
        "/apps",
        "/images",
        "/quota",
        "/workspaces",
        "/jobs",
        "/accounts",
        "/me/keys",
        "/me/sessions",
        "/me/kubeconfigs",
    ] {
        let text = eve.get(path).await.1.to_string();
        assert!(!text.contains("desk") && !text.contains("secret"), "{path}: {text}");
    }
    for path in ["/users", "/audit", "/audit/export"] {
        assert_eq!(eve.get(path).await.0, 403, "{path}");
    }
    assert_eq!(eve.post("/users", json!({ "name": "mallory" })).await.0, 403);
    let still: Value = ada.get("/workspaces").await.1;
    assert_eq!(still["items"][0]["name"], "desk", "nothing was done");
}
