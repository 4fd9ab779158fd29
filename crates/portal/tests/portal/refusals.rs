//! What is refused, and what the audit log says of it; and what must not be refused.

use axum::body::Body;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use serde_json::{Value, json};

use super::{
    browser::Browser,
    world::{World, eventually},
};

/// The entry of a request that was answered with `said`.
async fn entry(world: &World, said: &Value) -> Value {
    let (_, log) =
        world.admin().await.get(&format!("/audit?request={}", said["requestId"].as_str().unwrap())).await;
    log["items"][0].clone()
}

#[tokio::test]
async fn writes_to_what_is_not_there_are_in_the_audit_log() {
    let world = World::new().await;
    let (eve, admin) = (world.user("eve").await, world.admin().await);
    let ways = [
        ("DELETE", "/workspaces/user-ada/desk", "deleteWorkspace", "user-ada/desk", &eve),
        ("POST", "/jobs/user-ada/train/cancel", "cancelJob", "user-ada/train", &eve),
        ("DELETE", "/pods/kube-system/etcd", "deletePod", "kube-system/etcd", &eve),
        ("DELETE", "/keys/k-0", "revokeKey", "k-0", &eve),
        ("DELETE", "/templates/t-0", "deleteTemplate", "t-0", &eve),
        ("PUT", "/policies/none/enabled", "enablePolicy", "none", &admin),
        ("GET", "/workspaces/user-ada/desk/terminal", "openWorkspaceTerminal", "user-ada/desk", &eve),
    ];
    for (method, path, action, object, who) in ways {
        let (status, said) = who.call(method, path, (method != "GET").then(|| json!({}))).await;
        assert_eq!((status, &said["code"]), (404, &json!("notFound")), "{path}: {said}");
        let entry = entry(&world, &said).await;
        assert_eq!(
            (&entry["action"], &entry["outcome"], &entry["objectName"]),
            (&json!(action), &json!("denied"), &json!(object)),
            "{path}"
        );
    }
}

/// A change that a page of another site sends with the cookie of its visitor.
fn from_elsewhere(of: &Browser, method: &str, path: &str) -> http::Request<Body> {
    let request = http::Request::builder().method(method).uri(format!("/api/v1{path}"));
    let request = request.header("cookie", of.cookie()).header("content-type", "application/json");
    request
        .header("origin", "https://evil.example")
        .header("x-maar-request", "1")
        .body(Body::from("{}"))
        .unwrap()
}

#[tokio::test]
async fn changes_that_other_sites_tried_are_in_the_audit_log_of_whose_session_they_used() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let path = ada.workspace("desk", json!({})).await;
    let ways = [("POST", "/workspaces", "createWorkspace"), ("DELETE", &path, "deleteWorkspace")];
    for (method, path, action) in ways {
        let (status, _, said) = ada.send(from_elsewhere(&ada, method, path)).await;
        assert_eq!((status, &said["code"]), (403, &json!("crossSite")), "{said}");
        let entry = entry(&world, &said).await;
        assert_eq!(
            (&entry["action"], &entry["outcome"], &entry["actor"]["name"]),
            (&json!(action), &json!("denied"), &json!("ada"))
        );
    }
    // A terminal that a page of another site opens is no failure of ours, either.
    let request = http::Request::get(format!("/api/v1{path}/terminal")).header("cookie", ada.cookie());
    let request = request.header("origin", "https://evil.example").body(Body::empty()).unwrap();
    let (_, _, said) = ada.send(request).await;
    assert_eq!(
        (&said["code"], &entry(&world, &said).await["outcome"]),
        (&json!("crossSite"), &json!("denied"))
    );
    assert_eq!(ada.get(&path).await.0, 200, "nothing was done");
}

#[tokio::test]
async fn what_nobody_could_read_is_in_the_audit_log_and_strangers_do_not_fill_it() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let request = ada.request("POST", "/workspaces").header("content-type", "application/json");
    let (status, _, said) = ada.send(request.body(Body::from("{ \"hunter2")).unwrap()).await;
    assert_eq!(status, 422, "{said}");
    let written = entry(&world, &said).await;
    assert_eq!((&written["action"], &written["outcome"]), (&json!("createWorkspace"), &json!("failed")));
    assert!(!written.to_string().contains("hunter2"), "{written}");
    let (status, said) = world.browser().post("/workspaces", json!({})).await;
    assert_eq!((status, entry(&world, &said).await), (401, Value::Null));
}

#[tokio::test]
async fn a_pod_that_was_made_anew_is_not_deleted_by_who_saw_the_old_one() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let pod = json!({ "metadata": { "name": "one" }, "spec": { "containers": [
        { "name": "main", "image": "busybox", "command": ["sleep", "1d"] }] } });
    assert_eq!(ada.post("/pods", pod.clone()).await.0, 201);
    let namespace = ada.namespace().await;
    let path = format!("/pods/{namespace}/one");
    let api: Api<Pod> = Api::namespaced(world.client.clone(), &namespace);
    let anew = async || {
        api.delete("one", &DeleteParams::default().grace_period(0)).await.unwrap();
        eventually("the first to be gone", async || api.get_opt("one").await.unwrap().is_none()).await;
        let pod = serde_json::from_value(pod.clone()).unwrap();
        api.create(&PostParams::default(), &pod).await.unwrap();
    };
    // Between the look at the Pod and its end.
    let stop = world.stops_at("DELETE", "/pods/one");
    let between = async {
        stop.reached().await;
        anew().await;
        stop.go_on();
    };
    let ((status, said), ()) = futures::join!(ada.delete(&path), between);
    assert_eq!((status, &said["code"]), (409, &json!("conflict")), "{said}");
    assert!(api.get("one").await.unwrap().metadata.deletion_timestamp.is_none(), "it was not meant");
    eventually("the second to be seen and deleted", async || ada.delete(&path).await.0 == 204).await;
}

#[tokio::test]
async fn what_others_say_in_authorization_takes_nobodys_session() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let ask = async |said: &[&str], browser: &Browser| {
        let mut request = browser.request("GET", "/me");
        for value in said {
            request = request.header("authorization", *value);
        }
        let (status, _, body) = browser.send(request.body(Body::empty()).unwrap()).await;
        (status, body)
    };
    // What proxies, and browsers that were asked by one, send along.
    for foreign in ["Basic YWRhOmFkYQ==", "Bearer eyJhbGciOiJub25lIn0.e30.", "Negotiate YII", "Digest a=b"] {
        let (status, me) = ask(&[foreign], &ada).await;
        assert_eq!((status, &me["name"]), (200, &json!("ada")), "{foreign}: {me}");
        let (status, said) = ask(&[foreign], &world.browser()).await;
        assert_eq!((status, &said["code"]), (401, &json!("signedOut")), "{foreign}");
        // And a session stays one: changes need the header of our pages.
        let request = http::Request::post("/api/v1/workspaces").header("cookie", ada.cookie());
        let request = request.header("authorization", foreign).header("content-type", "application/json");
        let (_, _, said) = ada.send(request.body(Body::from("{}")).unwrap()).await;
        assert_eq!(said["code"], "crossSite", "{foreign}");
    }
    // A key that is one, and is not valid, is told, whatever the cookie says.
    let (status, said) = ask(&["Bearer maar_none"], &ada).await;
    assert_eq!((status, &said["message"]), (401, &json!("the API key is not valid")));
    let (_, secret) = ada.key("ci", &["jobs:read"]).await;
    for key in [format!("Bearer {secret}"), format!("bearer {secret}")] {
        assert_eq!(ask(&[&key], &world.browser()).await.1["name"], "ada", "{key}");
        assert_eq!(ask(&["Basic YWRhOmFkYQ==", &key], &world.browser()).await.1["name"], "ada");
    }
}

#[tokio::test]
async fn a_node_is_given_to_accounts_that_are_there_and_to_no_path() {
    let world = World::new().await;
    let admin = world.admin().await;
    let node = admin.get("/nodes").await.1["items"][0]["name"].as_str().unwrap().to_owned();
    for account in ["", "none", "default/status", "../nodes", "A b"] {
        let (status, said) =
            admin.put(&format!("/nodes/{node}/account"), json!({ "account": account })).await;
        assert_eq!((status, &said["field"]), (422, &json!("account")), "{account:?}: {said}");
    }
}
