//! Shells inside workspaces and jobs.

use std::time::Duration;

use http::Request;
use serde_json::{Value, json};

use super::{
    browser::Browser,
    lives::reaches,
    socket::{Frame, Socket},
    world::{ORIGIN, World, eventually},
};

/// The request that a page of `origin` makes.
pub(crate) fn request(browser: &Browser, path: &str, origin: Option<&str>) -> Request<()> {
    let mut request = browser
        .request("GET", path)
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-protocol", "maar.terminal.v1");
    if let Some(origin) = origin {
        request = request.header("origin", origin);
    }
    request.body(()).unwrap()
}

pub(crate) async fn open(world: &World, browser: &Browser, path: &str) -> Result<Socket, u16> {
    Socket::open(world.address, request(browser, path, Some(ORIGIN))).await
}

/// A workspace that runs, by the path of its terminal.
async fn desk(browser: &Browser, more: Value) -> (String, String) {
    let path = browser.workspace("desk", more).await;
    reaches(browser, &path, "Running").await;
    (path.clone(), format!("{path}/terminal?columns=100&rows=30"))
}

pub(crate) async fn audited(world: &World, action: &str) -> Vec<Value> {
    let (_, log) = world.admin().await.get(&format!("/audit?action={action}")).await;
    log["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_shell_is_opened_used_ended_and_written_down() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let (_, path) = desk(&ada, json!({})).await;
    let mut socket = open(&world, &ada, &path).await.unwrap();
    let Frame::Text(ready) = socket.next().await else { panic!("ready comes first") };
    assert_eq!(ready["ready"]["pod"], "desk");
    assert!(ready["ready"]["container"].is_string(), "{ready}");
    socket.says(r#"{"resize":{"columns":120,"rows":40}}"#).await;
    socket.types("hostname\r").await;
    socket.shows("desk\r\n").await;
    socket.types("exit 3\r").await;
    let end = socket.end().await;
    assert_eq!(end["code"], 3, "{end}");
    assert_eq!(socket.next().await, Frame::Close);
    let begun = audited(&world, "openWorkspaceTerminal").await;
    assert_eq!(
        (begun.len(), &begun[0]["actor"]["name"], &begun[0]["outcome"]),
        (1, &json!("ada"), &json!("done"))
    );
    eventually("its end in the audit log", async || audited(&world, "closeTerminal").await.len() == 1).await;
    let ended = audited(&world, "closeTerminal").await;
    assert_eq!((&ended[0]["after"]["code"], &ended[0]["after"]["pod"]), (&json!(3), &json!("desk")));
    assert_eq!(ended[0]["requestId"], begun[0]["requestId"]);
    assert!(!ended[0].to_string().contains("hostname"), "what was typed is nobody's business");
}

#[tokio::test]
async fn a_terminal_is_for_its_owner_and_for_pages_of_the_portal() {
    let world = World::new().await;
    let (ada, eve, amy) = (world.user("ada").await, world.user("eve").await, world.user("amy").await);
    world.account("lab", &[("ada", "Member"), ("amy", "Admin")], &ada).await;
    let (workspace, path) = desk(&ada, json!({ "account": "lab" })).await;
    let status = async |request: Request<()>| Socket::open(world.address, request).await.err();
    assert_eq!(status(request(&world.browser(), &path, Some(ORIGIN))).await, Some(401), "nobody");
    assert_eq!(status(request(&eve, &path, Some(ORIGIN))).await, Some(404), "a stranger");
    assert_eq!(status(request(&amy, &path, Some(ORIGIN))).await, Some(403), "who looks after the account");
    assert_eq!(
        status(request(&world.admin().await, &path, Some(ORIGIN))).await,
        Some(403),
        "an administrator"
    );
    for origin in [None, Some("https://evil.example"), Some("null")] {
        assert_eq!(status(request(&ada, &path, origin)).await, Some(403), "{origin:?}");
    }
    let denied = audited(&world, "openWorkspaceTerminal").await;
    assert_eq!(denied.len(), 6, "also of strangers: {denied:?}");
    assert!(denied.iter().all(|entry| entry["outcome"] != "done"), "{denied:?}");

    let read = ada.program(&ada.key("read", &["workspaces:read"]).await.1);
    assert_eq!(status(request(&read, &path, None)).await, Some(403), "a key that only reads");
    let write = ada.program(&ada.key("write", &["workspaces:write"]).await.1);
    let mut socket = Socket::open(world.address, request(&write, &path, None)).await.unwrap();
    assert!(matches!(socket.next().await, Frame::Text(_)));

    let (status, _, said) = ada
        .send(ada.request("GET", &path).header("origin", ORIGIN).body(axum::body::Body::empty()).unwrap())
        .await;
    assert_eq!((status, &said["field"]), (422, &json!("upgrade")));
    for size in ["columns=0", "rows=60000", "columns=x"] {
        let path = format!("{workspace}/terminal?{size}");
        assert_eq!(open(&world, &ada, &path).await.err(), Some(422), "{size}");
    }
}

#[tokio::test]
async fn a_terminal_ends_with_the_session_and_not_before() {
    let world = World::with(|settings| settings.look_again = Duration::from_millis(200)).await;
    let ada = world.user("ada").await;
    let (_, path) = desk(&ada, json!({})).await;
    let mut socket = open(&world, &ada, &path).await.unwrap();
    socket.next().await;
    socket.types("echo one\r").await;
    socket.shows("one\r\n").await;
    assert_eq!(ada.call("POST", "/logout", None).await.0, 204);
    let end = socket.end().await;
    assert_eq!(end["code"], Value::Null);
    assert!(end["message"].as_str().unwrap().contains("session"), "{end}");
}

#[tokio::test]
async fn terminals_have_limits() {
    let world = World::with(|settings| {
        settings.terminals.most = 2;
        settings.terminals.ping = Duration::from_millis(200);
    })
    .await;
    let ada = world.user("ada").await;
    let (_, path) = desk(&ada, json!({})).await;
    let mut first = open(&world, &ada, &path).await.unwrap();
    let mut second = open(&world, &ada, &path).await.unwrap();
    assert_eq!(open(&world, &ada, &path).await.err(), Some(429), "one too many");
    first.next().await;
    // Larger than any frame may be.
    first.send(2, &vec![b'a'; 300 * 1024]).await;
    assert!(first.end().await["message"].as_str().unwrap().contains("broke"));
    // A seat is free again.
    eventually("a free seat", async || open(&world, &ada, &path).await.is_ok()).await;
    second.next().await;
    second.says(r#"{"exec":["reboot"]}"#).await;
    assert!(second.end().await["message"].as_str().unwrap().contains("not understood"));
    // A browser that fell asleep is taken for gone.
    let mut asleep = loop {
        if let Ok(socket) = open(&world, &ada, &path).await {
            break socket;
        }
    };
    asleep.alive = false;
    assert!(asleep.end().await["message"].as_str().unwrap().contains("does not answer"));
}

#[tokio::test]
async fn a_terminal_in_which_nobody_types_ends() {
    let world = World::with(|settings| settings.terminals.idle = Duration::from_millis(300)).await;
    let ada = world.user("ada").await;
    let (_, path) = desk(&ada, json!({})).await;
    let mut socket = open(&world, &ada, &path).await.unwrap();
    assert!(socket.end().await["message"].as_str().unwrap().contains("nobody has typed"));
}

#[tokio::test]
async fn terminals_of_jobs_are_in_their_own_pods_only() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    ada.workspace("desk", json!({})).await;
    let job = json!({ "metadata": { "name": "train" }, "spec": { "tasks": [{ "name": "main", "template": { "spec": {
        "containers": [{ "name": "one", "image": "busybox", "command": ["sleep", "1d"] }, { "name": "two", "image": "busybox", "command": ["sleep", "1d"] }] } } }] } });
    assert_eq!(ada.post("/jobs", job).await.0, 201);
    let path = format!("/jobs/{}/train", ada.namespace().await);
    reaches(&ada, &path, "Running").await;
    let mut socket = open(&world, &ada, &format!("{path}/terminal?container=two")).await.unwrap();
    let Frame::Text(ready) = socket.next().await else { panic!("ready comes first") };
    assert_eq!(ready["ready"]["container"], "two");
    assert_eq!(open(&world, &ada, &format!("{path}/terminal?pod=desk")).await.err(), Some(404));
    let mut socket = open(&world, &ada, &format!("{path}/terminal?container=none")).await.unwrap();
    assert!(socket.end().await["message"].as_str().unwrap().contains("container"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_shell_has_a_real_screen() {
    let Some(world) = World::local().await else { return };
    let ada = world.user("ada").await;
    let (_, path) = desk(&ada, json!({ "nodes": ["local"], "command": ["sleep", "1d"] })).await;
    let mut socket = open(&world, &ada, &path).await.unwrap();
    assert!(matches!(socket.next().await, Frame::Text(_)));
    socket.types("echo $((6*7))\n").await;
    socket.shows("42\r\n").await;
    // The first size is set by another message than what is typed, so it is asked for until it has arrived.
    socket.types("while [ \"$(stty size)\" != '30 100' ]; do sleep 0.05; done; echo fir''st\n").await;
    socket.shows("first\r\n").await;
    socket.says(r#"{"resize":{"columns":133,"rows":44}}"#).await;
    socket.types("while [ \"$(stty size)\" != '44 133' ]; do sleep 0.05; done; echo sec''ond\n").await;
    socket.shows("second\r\n").await;
    socket.types("exit 5\n").await;
    // Not which: dash cannot give the terminal back to a group outside its sandbox, and says so by its own code.
    assert!(socket.end().await["code"].is_i64());
}
