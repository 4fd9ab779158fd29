//! Commands and connections of programs: `maar.exec.v1` and `maar.forward.v1`.

use std::time::Duration;

use http::Request;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::{
    browser::Browser,
    lives::reaches,
    socket::{Frame, Socket},
    world::{World, eventually},
};

pub(crate) fn request(browser: &Browser, path: &str, protocol: &str) -> Request<()> {
    browser
        .request("GET", path)
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-protocol", protocol)
        .body(())
        .unwrap()
}

/// A program with a key, and a workspace that runs on this machine.
async fn desk(world: &World) -> (Browser, Browser, String) {
    let ada = world.user("ada").await;
    let path = ada.workspace("desk", json!({ "nodes": ["local"], "command": ["sleep", "1d"] })).await;
    reaches(&ada, &path, "Running").await;
    let key = ada.key("cli", &["workspaces:read", "workspaces:write"]).await.1;
    (ada.program(&key), ada, path)
}

/// What a command writes to each, and how it ended.
pub(crate) async fn finish(socket: &mut Socket) -> (String, String, Value) {
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    loop {
        match socket.next().await {
            Frame::Binary(bytes) => match bytes[0] {
                1 => out.extend(&bytes[1..]),
                2 => errors.extend(&bytes[1..]),
                3 => {
                    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
                    return (text(out), text(errors), serde_json::from_slice(&bytes[1..]).unwrap());
                }
                other => panic!("{other} is no channel"),
            },
            other => panic!("{other:?} before the end"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_gets_input_and_gives_output_errors_and_its_code() {
    let Some(world) = World::local().await else { return };
    let (cli, ada, path) = desk(&world).await;
    let run = async |query: &str| {
        Socket::open(world.address, request(&cli, &format!("{path}/exec?{query}"), "maar.exec.v1")).await
    };
    let mut socket =
        run("command=sh&command=-c&command=cat;echo%20no%20%3E%262;exit%207&stdin=true").await.unwrap();
    socket.send(2, b"\0hello ").await;
    socket.send(2, b"\0world").await;
    socket.send(2, b"\0").await;
    let (out, errors, end) = finish(&mut socket).await;
    assert_eq!((out.as_str(), errors.as_str(), &end["code"]), ("hello world", "no\n", &json!(7)), "{end}");
    let mut socket = run("command=nothing-of-this-name").await.unwrap();
    assert_ne!(finish(&mut socket).await.2["code"], json!(0));
    for wrong in ["", "command=", "command=id&stdin=perhaps", "command=id&tty=true&rows=0"] {
        assert_eq!(run(wrong).await.err(), Some(422), "{wrong}");
    }
    let mut socket = run("command=cat&stdin=true").await.unwrap();
    socket.says("text").await;
    assert!(finish(&mut socket).await.2["message"].as_str().unwrap().contains("not understood"));
    let eve = world.user("eve").await;
    let foreign = eve.program(&eve.key("cli", &["workspaces:write"]).await.1);
    let path = format!("{path}/exec?command=id");
    assert_eq!(Socket::open(world.address, request(&foreign, &path, "maar.exec.v1")).await.err(), Some(404));
    let reads = ada.program(&ada.key("reads", &["workspaces:read"]).await.1);
    assert_eq!(Socket::open(world.address, request(&reads, &path, "maar.exec.v1")).await.err(), Some(403));
    let audited = async |action: &str| world.admin().await.get(&format!("/audit?action={action}")).await.1;
    eventually("the ends in the audit log", async || {
        audited("endExec").await["items"].as_array().unwrap().len() == 3
    })
    .await;
    assert!(
        !audited("endExec").await.to_string().contains("hello"),
        "what went through is nobody's business"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_carries_bytes_both_ways_until_the_key_is_revoked() {
    let Some(world) = World::local_with(|told| told.look_again = Duration::from_millis(200)).await else {
        return;
    };
    let (cli, ada, path) = desk(&world).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let open = async |port: &str| {
        let path = format!("{path}/forward?port={port}");
        Socket::open(world.address, request(&cli, &path, "maar.forward.v1")).await
    };
    for wrong in ["0", "x", "65536"] {
        assert_eq!(open(wrong).await.err(), Some(422), "{wrong}");
    }
    let mut socket = open(&port.to_string()).await.unwrap();
    let (mut program, _) = listener.accept().await.unwrap();
    socket.send(2, b"ping").await;
    let mut bytes = [0; 4];
    program.read_exact(&mut bytes).await.unwrap();
    assert_eq!(&bytes, b"ping");
    program.write_all(b"pong").await.unwrap();
    assert_eq!(socket.next().await, Frame::Binary(b"pong".to_vec()));
    let keys = ada.get("/me/keys").await.1;
    let id = keys["items"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(ada.delete(&format!("/keys/{id}")).await.0, 204);
    assert_eq!(socket.next().await, Frame::Close);
    assert_eq!(program.read(&mut bytes).await.unwrap_or(0), 0);
    assert_eq!(open("80").await.err(), Some(401), "its key is revoked");
}

/// A job of two Pods that run on this machine.
async fn train(ada: &Browser) -> String {
    // The first program of a Pod is not stopped by a signal that it does not wait for.
    let stops = json!(["sh", "-c", "trap exit TERM; sleep 1d & wait"]);
    let template = json!({ "spec": {
        "containers": [
            { "name": "main", "image": "busybox", "command": stops },
            { "name": "side", "image": "busybox", "command": stops, "env": [{ "name": "SIDE", "value": "yes" }] },
        ],
        "nodeSelector": { "kubernetes.io/hostname": "local" },
    } });
    let job = json!({ "metadata": { "name": "train" }, "spec": {
        "tasks": [{ "name": "worker", "replicas": 2, "template": template }],
    } });
    let (code, made) = ada.post("/jobs", job).await;
    assert_eq!(code, 201, "{made}");
    let path = format!("/jobs/{}/train", ada.namespace().await);
    reaches(ada, &path, "Running").await;
    eventually("both Pods", async || {
        let (_, pods) = ada.get(&format!("{path}/pods")).await;
        pods["items"].as_array().unwrap().iter().filter(|pod| pod["phase"] == "Running").count() == 2
    })
    .await;
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_of_a_job_are_entered_as_a_workspace_is() {
    let Some(world) = World::local().await else { return };
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    let path = train(&ada).await;
    let desk = ada.workspace("desk", json!({ "nodes": ["local"], "command": ["sleep", "1d"] })).await;
    reaches(&ada, &desk, "Running").await;
    let program =
        async |browser: &Browser, scopes: &[&str]| browser.program(&browser.key(scopes[0], scopes).await.1);
    let cli = program(&ada, &["jobs:write", "workspaces:write"]).await;
    let exec = async |cli: &Browser, path: &str, query: &str| {
        Socket::open(world.address, request(cli, &format!("{path}/exec?{query}"), "maar.exec.v1")).await
    };
    let says = async |query: &str| finish(&mut exec(&cli, &path, query).await.unwrap()).await.0;
    assert_eq!(says("command=hostname").await, "train-worker-0\n", "the first that runs");
    assert_eq!(says("command=hostname&pod=train-worker-1").await, "train-worker-1\n");
    let of_side = "command=sh&command=-c&command=echo%20$SIDE&container=";
    assert_eq!(
        (says(&format!("{of_side}side")).await, says(&format!("{of_side}main")).await),
        ("yes\n".into(), "\n".into())
    );
    for (query, want) in [
        ("command=id&pod=desk", 404),
        ("command=id&pod=train-worker-7", 404),
        ("command=id&pod=", 404),
        ("command=", 422),
    ] {
        assert_eq!(exec(&cli, &path, query).await.err(), Some(want), "{query}");
    }
    assert_eq!(exec(&cli, &desk, "command=id&pod=desk").await.err(), Some(422), "a workspace has one Pod");
    let end = finish(&mut exec(&cli, &path, "command=id&container=none").await.unwrap()).await.2;
    assert!(end["code"].is_null() && end["message"].as_str().unwrap().contains("container"), "{end}");
    let (foreign, reads) = (program(&eve, &["jobs:write"]).await, program(&ada, &["jobs:read"]).await);
    assert_eq!(exec(&foreign, &path, "command=id").await.err(), Some(404));
    assert_eq!(exec(&reads, &path, "command=id").await.err(), Some(403));

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let forward = async |cli: &Browser, more: &str| {
        let path = format!("{path}/forward?port={port}{more}");
        Socket::open(world.address, request(cli, &path, "maar.forward.v1")).await
    };
    let mut socket = forward(&cli, "&pod=train-worker-1").await.unwrap();
    let (mut there, _) = listener.accept().await.unwrap();
    socket.send(2, b"ping").await;
    let mut bytes = [0; 4];
    there.read_exact(&mut bytes).await.unwrap();
    assert_eq!(&bytes, b"ping");
    assert_eq!(forward(&cli, "&pod=desk").await.err(), Some(404), "a Pod of another");
    assert_eq!(forward(&foreign, "").await.err(), Some(404));
    drop(socket);
    assert_eq!(there.read(&mut bytes).await.unwrap_or(0), 0, "who has left leaves nothing open");
    eventually("the end in the audit log", async || {
        let log = world.admin().await.get("/audit?action=endForward").await.1;
        let name = format!("{}/train", path.split('/').nth(2).unwrap());
        let own = |one: &Value| one["objectKind"] == "job" && one["objectName"] == name.as_str();
        log["items"].as_array().unwrap().iter().any(own)
    })
    .await;
    assert_eq!(ada.post(&format!("{path}/suspend"), json!({})).await.0, 204);
    eventually("its rest", async || exec(&cli, &path, "command=id").await.err() == Some(409)).await;
}

/// Whether a program with this word in its command line runs on this machine.
pub(crate) fn runs(word: &str) -> bool {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|one| std::fs::read(one.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).contains(word))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_does_not_outlive_the_connection_of_who_ran_it() {
    let Some(world) = World::local().await else { return };
    let (cli, _ada, path) = desk(&world).await;
    let seconds = format!("98765.{}", world.address.port());
    let path = format!("{path}/exec?command=sleep&command={seconds}&stdin=true");
    let socket = Socket::open(world.address, request(&cli, &path, "maar.exec.v1")).await.unwrap();
    eventually("the command", async || runs(&seconds)).await;
    drop(socket);
    eventually("its end", async || !runs(&seconds)).await;
}
