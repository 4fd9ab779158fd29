//! Programs of workspaces as pages: who sees them, and what they cannot do.

use std::{net::SocketAddr, time::Duration};

use maar_portal::{Apps, Settings};
use maar_testkit::ports::free_port;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use super::{
    absent::absent,
    browser::Browser,
    lives::reaches,
    world::{ORIGIN, World, eventually},
};

const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn settings(settings: &mut Settings) {
    settings.apps = Some(Apps::below("apps.test", &[ORIGIN.to_owned()]).unwrap());
    settings.look_again = Duration::from_millis(100);
}

/// A program that listens on this machine's loopback, which is that of Pods on the local node. It shows what it is
/// asked, and keeps the answer open below `/stream`.
pub(crate) async fn program() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let head = head(&mut stream).await;
                if head.starts_with("GET /stream") {
                    let begin = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegun\r\n";
                    stream.write_all(begin.as_bytes()).await.unwrap();
                    let mut rest = [0];
                    let _ = stream.read(&mut rest).await;
                    return;
                }
                let length = head.len();
                let answer =
                    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{head}");
                stream.write_all(answer.as_bytes()).await.unwrap();
            });
        }
    });
    port
}

pub(crate) async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(timeout(PATIENCE, stream.read_u8()).await.unwrap().unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// A browser at an app.
pub(crate) struct Visitor {
    pub(crate) address: SocketAddr,
    pub(crate) host: String,
    pub(crate) cookie: Option<String>,
}

impl Visitor {
    /// Follows a link of the portal.
    pub(crate) async fn follows(address: SocketAddr, url: &str) -> (String, Self) {
        let rest = url.strip_prefix("http://").unwrap();
        let (host, path) = rest.split_once('/').unwrap();
        let mut visitor = Self { address, host: host.to_owned(), cookie: None };
        let answer = visitor.get(&format!("/{path}")).await;
        visitor.cookie = answer
            .lines()
            .find_map(|line| line.strip_prefix("set-cookie: "))
            .map(|cookie| cookie.split(';').next().unwrap().to_owned());
        (answer, visitor)
    }

    /// The same at another listener.
    pub(crate) fn at(&self, address: SocketAddr) -> Self {
        Self { address, host: self.host.clone(), cookie: self.cookie.clone() }
    }

    pub(crate) async fn sends(&self, method: &str, path: &str, more: &str) -> TcpStream {
        self.asks(method, path, "close", more).await
    }

    /// Asks for the connection to become another.
    pub(crate) async fn switches(&self, path: &str, more: &str) -> TcpStream {
        self.asks("GET", path, "Upgrade", more).await
    }

    async fn asks(&self, method: &str, path: &str, connection: &str, more: &str) -> TcpStream {
        let cookie = self.cookie.as_ref().map(|cookie| format!("Cookie: {cookie}\r\n")).unwrap_or_default();
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let host = &self.host;
        let ask = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: {connection}\r\n{cookie}{more}\r\n"
        );
        stream.write_all(ask.as_bytes()).await.unwrap();
        stream
    }

    /// Everything that comes until the other end closes.
    pub(crate) async fn rest(stream: &mut TcpStream) -> String {
        let mut answer = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
        String::from_utf8(answer).unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> String {
        Self::rest(&mut self.sends("GET", path, "").await).await
    }

    pub(crate) async fn status(&self, path: &str) -> u16 {
        status(&self.get(path).await)
    }
}

pub(crate) fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

pub(crate) async fn desk(browser: &Browser, more: Value) -> String {
    let mut body = json!({ "nodes": ["local"], "command": ["sleep", "1d"] });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let path = browser.workspace("desk", body).await;
    reaches(browser, &path, "Running").await;
    path
}

pub(crate) async fn opened(world: &World, browser: &Browser, path: &str, port: u16) -> Visitor {
    let (code, said) = browser.post(&format!("{path}/ports/{port}/open"), json!({})).await;
    assert_eq!(code, 200, "{said}");
    let (answer, visitor) = Visitor::follows(world.address, said["url"].as_str().unwrap()).await;
    assert_eq!(status(&answer), 303, "{answer}");
    visitor
}

async fn share(browser: &Browser, path: &str, port: u16, body: Value) -> (u16, Value) {
    browser.put(&format!("{path}/ports/{port}/sharing"), body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_is_seen_by_its_owner_on_an_origin_of_its_own() {
    let Some(world) = World::local_with(settings).await else { return };
    let (ada, port) = (world.user("ada").await, program().await);
    let path = desk(&ada, json!({})).await;
    let (code, said) = ada.post(&format!("{path}/ports/{port}/open"), json!({})).await;
    assert_eq!(code, 200, "{said}");
    let url = said["url"].as_str().unwrap();
    assert!(url.starts_with(&format!("http://{port}--desk--")) && url.contains(".apps.test/.maar/"), "{url}");
    let (answer, visitor) = Visitor::follows(world.address, url).await;
    assert!(answer.contains("location: /\r\n") && answer.contains("HttpOnly; SameSite=Lax"), "{answer}");
    let shown = visitor.get("/lab?a=b").await;
    assert_eq!(status(&shown), 200, "{shown}");
    assert!(shown.contains("GET /lab?a=b HTTP/1.1") && !shown.contains("maar-app"), "{shown}");
    let (again, _) = Visitor::follows(world.address, url).await;
    assert_eq!(status(&again), 401, "a link is for one use");
    // The API of the portal is not on this host, and pages of the portal are not, either.
    let nobody = Visitor { cookie: None, host: visitor.host.clone(), address: world.address };
    assert_eq!(nobody.status("/api/v1/me").await, 401);
    assert!(visitor.get("/api/v1/me").await.contains("GET /api/v1/me"), "this is the app's");
    // A cookie of one app opens no other, and none of the portal's doors.
    let other = Visitor {
        host: visitor.host.replace(&port.to_string(), "9"),
        cookie: visitor.cookie.clone(),
        address: world.address,
    };
    assert_eq!(other.status("/").await, 401);
    let (_, log) = world.admin().await.get("/audit?action=visitPort").await;
    let outcomes: Vec<_> = log["items"].as_array().unwrap().iter().map(|one| &one["outcome"]).collect();
    assert_eq!(outcomes, ["denied", "done"], "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visit_ends_with_the_session_and_so_does_what_is_open() {
    let Some(world) = World::local_with(settings).await else { return };
    let (ada, port) = (world.user("ada").await, program().await);
    let path = desk(&ada, json!({})).await;
    let visitor = opened(&world, &ada, &path, port).await;
    assert_eq!(visitor.status("/").await, 200);
    let mut stream = visitor.sends("GET", "/stream", "").await;
    head(&mut stream).await;
    assert_eq!(ada.call("POST", "/logout", None).await.0, 204);
    let mut rest = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert!(!String::from_utf8_lossy(&rest).contains("\r\n0\r\n"), "it breaks off");
    eventually("the end of the visit", async || visitor.status("/").await == 401).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_is_private_until_it_is_shared_and_again_when_that_is_taken_back() {
    let Some(world) = World::local_with(settings).await else { return };
    let (ada, bob, eve) = (world.user("ada").await, world.user("bob").await, world.user("eve").await);
    let amy = world.user("amy").await;
    world.account("lab", &[("ada", "Member"), ("bob", "Viewer"), ("amy", "Admin")], &ada).await;
    let port = program().await;
    let path = desk(&ada, json!({ "account": "lab" })).await;
    let open =
        async |browser: &Browser| browser.post(&format!("{path}/ports/{port}/open"), json!({})).await.0;
    assert_eq!((open(&bob).await, open(&eve).await, open(&amy).await), (403, 404, 403), "private");
    assert_eq!(open(&world.admin().await).await, 403, "also to administrators");
    for (browser, want) in [(&bob, 403), (&eve, 404), (&amy, 403)] {
        let (code, said) = share(browser, &path, port, json!({ "kind": "account" })).await;
        assert_eq!(code, want, "only its owner shares: {said}");
    }
    assert_eq!(share(&ada, &path, port, json!({ "kind": "account" })).await.0, 200);
    assert_eq!((open(&bob).await, open(&eve).await), (200, 404));
    let visitor = opened(&world, &bob, &path, port).await;
    assert_eq!(visitor.status("/").await, 200);
    let (_, list) = bob.get(&format!("{path}/ports")).await;
    assert_eq!(list["items"][0]["sharing"]["kind"], "account", "{list}");
    assert!(list["served"] == true && list["notServedBecause"].is_null(), "{list}");
    assert_eq!(share(&amy, &path, port, json!({ "kind": "private" })).await.0, 200, "who looks after it");
    eventually("the end of sharing", async || visitor.status("/").await == 403).await;
    assert_eq!(open(&bob).await, 403);
    for wrong in [
        json!({ "kind": "link", "hours": 0 }),
        json!({ "kind": "link", "hours": 10_000 }),
        json!({ "kind": "everybody" }),
        json!({ "kind": "private", "hours": 1 }),
        json!({}),
    ] {
        assert_eq!(share(&ada, &path, port, wrong.clone()).await.0, 422, "{wrong}");
    }
    assert_eq!(ada.post(&format!("{path}/ports/0/open"), json!({})).await.0, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_link_lets_in_until_it_is_replaced() {
    let Some(world) = World::local_with(settings).await else { return };
    let (ada, port) = (world.user("ada").await, program().await);
    let path = desk(&ada, json!({})).await;
    let (code, said) = share(&ada, &path, port, json!({ "kind": "link", "hours": 2 })).await;
    assert_eq!(code, 200, "{said}");
    let link = said["link"].as_str().unwrap().to_owned();
    assert!(said["expires"].is_string(), "{said}");
    let (_, list) = ada.get(&format!("{path}/ports")).await;
    assert!(!list.to_string().contains("secret"), "the link is shown once: {list}");
    let (answer, first) = Visitor::follows(world.address, &link).await;
    assert_eq!(status(&answer), 303, "{answer}");
    let (answer, second) = Visitor::follows(world.address, &link).await;
    assert_eq!(status(&answer), 303, "it is for many: {answer}");
    assert_eq!((first.status("/").await, second.status("/").await), (200, 200));
    let wrong = link.replace("secret=", "secret=x");
    assert_eq!(status(&Visitor::follows(world.address, &wrong).await.0), 401);
    let elsewhere = link.replace(&format!("{port}--"), "9--");
    assert_eq!(status(&Visitor::follows(world.address, &elsewhere).await.0), 401, "of another port");
    assert_eq!(share(&ada, &path, port, json!({ "kind": "link" })).await.0, 200);
    eventually("the end of the old link", async || first.status("/").await == 401).await;
    assert_eq!(status(&Visitor::follows(world.address, &link).await.0), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_link_and_who_came_by_it_end_when_its_hours_are_over() {
    let Some(world) = World::local_with(settings).await else { return };
    let (ada, port) = (world.user("ada").await, program().await);
    let path = desk(&ada, json!({})).await;
    let (_, said) = share(&ada, &path, port, json!({ "kind": "link", "hours": 2 })).await;
    let link = said["link"].as_str().unwrap();
    world.clock.by(2 * 3600 - 60);
    let (answer, visitor) = Visitor::follows(world.address, link).await;
    assert_eq!(status(&answer), 303, "a minute before: {answer}");
    let seconds = answer.split("Max-Age=").nth(1).unwrap().split([';', '\r']).next().unwrap();
    assert!((1..=60).contains(&seconds.parse::<u32>().unwrap()), "no longer than the link: {answer}");
    assert_eq!(visitor.status("/").await, 200);
    let mut stream = visitor.sends("GET", "/stream", "").await;
    head(&mut stream).await;
    world.clock.by(61);
    eventually("the end of the visit", async || visitor.status("/").await == 401).await;
    let mut rest = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert!(!String::from_utf8_lossy(&rest).contains("\r\n0\r\n"), "what is open breaks off");
    assert_eq!(status(&Visitor::follows(world.address, link).await.0), 401, "the link is over");
    let (_, list) = ada.get(&format!("{path}/ports")).await;
    let shared = list["items"].as_array().unwrap().iter().any(|one| one["sharing"]["kind"] == "link");
    assert!(!shared, "nor is it said to be shared: {list}");
    assert_eq!(opened(&world, &ada, &path, port).await.status("/").await, 200, "its owner comes as before");
}

/// A job whose program people use by a browser is opened as a workspace is, and is another than a workspace of its name.
#[tokio::test(flavor = "multi_thread")]
async fn an_app_of_a_job_is_seen_by_its_owner_and_those_it_is_shared_with() {
    let Some(world) = World::local_with(settings).await else { return };
    let (ada, bob, eve) = (world.user("ada").await, world.user("bob").await, world.user("eve").await);
    world.account("lab", &[("ada", "Member"), ("bob", "Viewer")], &ada).await;
    let port = program().await;
    let stops = json!(["sh", "-c", "trap exit TERM; sleep 1d & wait"]);
    let template = json!({ "spec": {
        "containers": [{ "name": "main", "image": "busybox", "command": stops }],
        "nodeSelector": { "kubernetes.io/hostname": "local" },
    } });
    let job = json!({ "metadata": { "name": "desk" }, "spec": {
        "type": "Jupyter", "account": "lab", "launch": { "port": port },
        "tasks": [{ "name": "main", "replicas": 1, "template": template }],
    } });
    let (code, made) = ada.post("/jobs", job).await;
    assert_eq!(code, 201, "{made}");
    let path = format!("/jobs/{}/desk", ada.namespace().await);
    let (_, list) = ada.get(&format!("{path}/ports")).await;
    assert_eq!(list["items"], json!([{ "port": port, "name": "jupyter", "sharing": { "kind": "private" } }]));
    let visitor = opened(&world, &ada, &path, port).await;
    eventually("the job", async || visitor.status("/").await == 200).await;
    assert!(visitor.get("/lab?a=b").await.contains("GET /lab?a=b HTTP/1.1"));

    let open =
        async |browser: &Browser| browser.post(&format!("{path}/ports/{port}/open"), json!({})).await.0;
    assert_eq!((open(&bob).await, open(&eve).await, open(&world.admin().await).await), (403, 404, 403));
    assert_eq!(share(&bob, &path, port, json!({ "kind": "account" })).await.0, 403);
    assert_eq!(share(&ada, &path, port, json!({ "kind": "account" })).await.0, 200);
    let guest = opened(&world, &bob, &path, port).await;
    assert_eq!((guest.status("/").await, open(&eve).await), (200, 404));

    // A workspace of the same name is elsewhere, and not shared.
    let other = desk(&ada, json!({ "account": "lab" })).await;
    let beside = opened(&world, &ada, &other, port).await;
    assert_ne!(beside.host, visitor.host);
    let posing = Visitor { host: beside.host.clone(), ..visitor.at(world.address) };
    assert_eq!(posing.status("/").await, 401, "the cookie of the job is not for the workspace");
    assert_eq!(bob.post(&format!("{other}/ports/{port}/open"), json!({})).await.0, 403);

    let (_, log) = world.admin().await.get("/audit?action=visitPort").await;
    let about = |one: &&Value| one["objectKind"] == "job" && one["outcome"] == "done";
    assert_eq!(log["items"].as_array().unwrap().iter().filter(about).count(), 2, "{log}");
    assert_eq!(ada.post(&format!("{path}/cancel"), json!({})).await.0, 204);
    eventually("the end of the job", async || visitor.status("/").await == 409).await;
    assert_eq!(ada.delete(&path).await.0, 204);
    eventually("the end", async || ada.get(&path).await.0 == 404).await;
    assert_eq!((visitor.status("/").await, beside.status("/").await), (401, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_that_does_not_run_and_a_port_where_nothing_listens_say_so() {
    let Some(world) = World::local_with(settings).await else { return };
    let ada = world.user("ada").await;
    // The first program of a Pod is not stopped by a signal that it does not wait for.
    let stops = json!(["sh", "-c", "trap exit TERM; sleep 1d & wait"]);
    let path = desk(&ada, json!({ "command": stops })).await;
    let silent = {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        taken.local_addr().unwrap().port()
    };
    let visitor = opened(&world, &ada, &path, silent).await;
    assert_eq!(visitor.status("/").await, 502, "nothing listens");
    assert_eq!(ada.post(&format!("{path}/suspend"), json!({})).await.0, 204);
    reaches(&ada, &path, "Suspended").await;
    assert_eq!(visitor.status("/").await, 409);
    assert_eq!(ada.delete(&path).await.0, 204);
    eventually("the end", async || ada.get(&path).await.0 == 404).await;
    assert_eq!(visitor.status("/").await, 401, "there is nothing any more");
}

#[tokio::test]
async fn an_app_cannot_call_the_portal_as_its_visitor() {
    let world = World::with(settings).await;
    let ada = world.user("ada").await;
    let origin = "http://8888--desk--0123456789abcdef.apps.test";
    let send = async |method: &str, path: &str, more: &[(&'static str, &str)]| {
        let mut request = ada.request(method, path);
        request.headers_mut().unwrap().insert("origin", origin.parse().unwrap());
        for (name, value) in more {
            request = request.header(*name, *value);
        }
        ada.send(request.body(axum::body::Body::from("{}")).unwrap()).await
    };
    let json = [("content-type", "application/json")];
    let (code, headers, said) = send("POST", "/workspaces", &json).await;
    assert_eq!((code, &said["code"]), (403, &json!("crossSite")));
    assert!(!headers.contains_key("access-control-allow-origin"));
    let (_, headers, _) = send("GET", "/me", &[("sec-fetch-site", "same-site")]).await;
    assert!(headers.keys().all(|name| !name.as_str().starts_with("access-control")), "{headers:?}");
    let (code, headers, _) =
        send("OPTIONS", "/workspaces", &[("access-control-request-method", "POST")]).await;
    assert_eq!(code, 405);
    assert!(headers.keys().all(|name| !name.as_str().starts_with("access-control")), "{headers:?}");
    let path = ada.workspace("desk", json!({})).await;
    reaches(&ada, &path, "Running").await;
    for way in ["terminal", "forward?port=80", "exec?command=id"] {
        let (code, _, said) = send("GET", &format!("{path}/{way}"), &[]).await;
        assert_eq!((code, &said["code"]), (403, &json!("crossSite")), "{way}");
    }
}

#[tokio::test]
async fn where_no_place_for_apps_was_said_there_are_none() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let path = ada.workspace("desk", json!({})).await;
    let (code, said) = ada.post(&format!("{path}/ports/80/open"), json!({})).await;
    assert_eq!(code, 503, "{said}");
    assert!(said["message"].as_str().unwrap().contains("--apps-domain"), "{said}");
    let (_, list) = ada.get(&format!("{path}/ports")).await;
    assert_eq!((&list["served"], &list["items"]), (&json!(false), &json!([])), "{list}");
    assert!(list["notServedBecause"].as_str().unwrap().contains("--apps-domain"), "{list}");
}

/// An interpreter that Pods of the local node find, too.
pub(crate) fn python() -> Option<&'static str> {
    let found = ["/usr/bin/python3", "/usr/local/bin/python3"]
        .into_iter()
        .find(|path| std::path::Path::new(path).exists());
    if found.is_none() {
        absent("python3 in /usr/bin");
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_server_in_a_workspace_is_used_by_http_and_websocket() {
    let Some(python) = python() else { return };
    let Some(world) = World::local_with(settings).await else { return };
    let (ada, port) = (world.user("ada").await, free_port());
    let command = json!([python, "-c", include_str!("echo.py"), port.to_string()]);
    let path = desk(&ada, json!({ "command": command })).await;
    let visitor = opened(&world, &ada, &path, port).await;
    eventually("the server", async || visitor.status("/").await == 200).await;
    let shown = visitor.get("/a?b=c").await;
    assert!(shown.ends_with(&format!("python says: {} /a?b=c", visitor.host)), "{shown}");

    let upgrade = format!(
        "Origin: http://{}\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        visitor.host
    );
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    let ask = format!(
        "GET /socket HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nCookie: {}\r\n{upgrade}\r\n",
        visitor.host,
        visitor.cookie.as_ref().unwrap()
    );
    stream.write_all(ask.as_bytes()).await.unwrap();
    let answer = head(&mut stream).await.to_lowercase();
    assert!(
        answer.starts_with("http/1.1 101") && answer.contains("s3pplmbitxaq9kygzzhzrbk+xoo="),
        "{answer}"
    );
    let masked: Vec<u8> =
        b"hello".iter().zip([1, 2, 3, 4].iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
    stream.write_all(&[&[0x81, 0x85, 1, 2, 3, 4][..], &masked].concat()).await.unwrap();
    let mut frame = [0; 7];
    timeout(PATIENCE, stream.read_exact(&mut frame)).await.unwrap().unwrap();
    assert_eq!(&frame, b"\x81\x05hello");

    // A large upload, by its sum.
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    let (piece, count) = (vec![b'a'; 1 << 20], 16);
    let ask = format!(
        "POST /upload HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nCookie: {}\r\nContent-Length: {}\r\n\r\n",
        visitor.host,
        visitor.cookie.as_ref().unwrap(),
        piece.len() * count
    );
    stream.write_all(ask.as_bytes()).await.unwrap();
    for _ in 0..count {
        stream.write_all(&piece).await.unwrap();
    }
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    let sum = Sha256::digest(vec![b'a'; piece.len() * count]);
    assert!(answer.ends_with(&format!("{sum:x}")), "{answer}");
}
