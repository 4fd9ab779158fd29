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
