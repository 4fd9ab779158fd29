//! The proxy over sockets: a visitor who sends what he likes, an app that answers what it likes, and what each of them
//! gets to see.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, extract::Request};
use futures::{FutureExt as _, future::BoxFuture};
use maar_gateway::ports::{AppLabel, Apps, Entry, Gate, Io, Pass, Proof, Proxy, Refusal, Visit};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    time::timeout,
};

const PATIENCE: Duration = Duration::from_secs(20);
const PORTAL: &str = "http://portal.test";

/// Lets in who has the cookie `good`, to an app that is somewhere on this machine.
struct Door {
    app: SocketAddr,
    over: watch::Receiver<bool>,
    connections: Mutex<usize>,
}

impl Gate for Door {
    fn enter(&self, entry: Entry) -> BoxFuture<'_, Result<Pass, Refusal>> {
        let right = entry.proof == Proof::Ticket("ticket".to_owned());
        let pass = Pass { key: "key".to_owned(), cookie: "good".to_owned(), seconds: 60 };
        async move { if right { Ok(pass) } else { Err(Refusal::Stale) } }.boxed()
    }

    fn visit<'a>(
        &'a self,
        label: &'a AppLabel,
        key: &'a str,
        cookie: &'a str,
    ) -> BoxFuture<'a, Result<Visit, Refusal>> {
        let right = cookie == "good" && (key.is_empty() || key == "key");
        let visit = Visit {
            id: cookie.to_owned(),
            namespace: "n".to_owned(),
            pod: "p".to_owned(),
            port: label.port(),
        };
        async move { if right { Ok(visit) } else { Err(Refusal::SignedOut) } }.boxed()
    }

    fn ended(&self, _: &Visit) -> BoxFuture<'static, ()> {
        let mut over = self.over.clone();
        async move {
            // Nobody ends it if nobody is left who could.
            if over.wait_for(|over| *over).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
        .boxed()
    }

    fn connect(&self, _: &Visit) -> BoxFuture<'static, Result<Io, Refusal>> {
        *self.connections.lock().unwrap() += 1;
        let app = self.app;
        async move {
            match TcpStream::connect(app).await {
                // As that of a port-forward which ended without a word.
                Ok(stream) => Ok(Io { stream: Box::new(stream), failure: async { None }.boxed() }),
                Err(_) => Err(Refusal::Silent),
            }
        }
        .boxed()
    }
}

struct World {
    address: SocketAddr,
    label: AppLabel,
    app: TcpListener,
    door: Arc<Door>,
    over: watch::Sender<bool>,
}

async fn world(apps: Apps) -> World {
    let app = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (over, ends) = watch::channel(false);
    let door = Arc::new(Door { app: app.local_addr().unwrap(), over: ends, connections: Mutex::default() });
    let withheld = vec![http::HeaderName::from_static("x-sso-secret")];
    let proxy = Proxy::new(Arc::<Door>::clone(&door), apps, PORTAL.to_owned(), withheld);
    let router = Router::new().fallback(move |request: Request| {
        let proxy = proxy.clone();
        async move { proxy.serve(request, Some("10.0.0.7".parse().unwrap())).await }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    World { address, label: AppLabel::of("user-ada", "desk", 8888), app, door, over }
}

async fn by_domain() -> World {
    world(Apps::below("apps.test", &[PORTAL.to_owned()]).unwrap()).await
}

impl World {
    fn host(&self) -> String {
        format!("{}.apps.test", self.label)
    }

    /// Sends lines as they are and reads until the other end closes.
    async fn says(&self, lines: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(lines.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// A request of somebody who was let in.
    async fn get(&self, path: &str, more: &str) -> String {
        let host = self.host();
        self.says(&format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: maar-app=good\r\nConnection: close\r\n{more}\r\n"
        ))
        .await
    }

    /// The head of the next request that reaches the app, which is answered with `answer`.
    async fn app(&self, answer: &str) -> String {
        let (mut stream, _) = timeout(PATIENCE, self.app.accept()).await.unwrap().unwrap();
        let head = head(&mut stream).await;
        stream.write_all(answer.as_bytes()).await.unwrap();
        head
    }

    /// Whether anything reached the app.
    async fn app_was_reached(&self) -> bool {
        timeout(Duration::from_millis(50), self.app.accept()).await.is_ok()
    }
}

async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(timeout(PATIENCE, stream.read_u8()).await.unwrap().unwrap());
    }
    String::from_utf8(head).unwrap().to_lowercase()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("nothing")
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";

#[tokio::test]
async fn cookies_and_keys_of_the_portal_never_reach_an_app() {
    let world = by_domain().await;
    let more = "Cookie: maar-session=secret; own=1\r\nAuthorization: Bearer maar_secret\r\nX-Sso-Secret: secret\r\n\
                X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-User: root\r\nX-Real-Ip: 1.2.3.4\r\nAccept: */*\r\n";
    let (answer, head) = tokio::join!(world.get("/a%20b?c=d&e", more), world.app(OK));
    assert_eq!(status(&answer), "200", "{answer}");
    assert!(answer.ends_with("hello"), "{answer}");
    assert!(head.starts_with("get /a%20b?c=d&e http/1.1\r\n"), "{head}");
    assert!(!head.contains("secret") && !head.contains("maar") && !head.contains("1.2.3.4"), "{head}");
    assert!(head.contains("cookie: own=1\r\n") && head.contains("x-forwarded-for: 10.0.0.7\r\n"), "{head}");
    assert!(head.contains(&format!("host: {}\r\n", world.host())), "{head}");
}

#[tokio::test]
async fn an_app_sets_no_cookie_for_others_and_none_of_ours() {
    let world = by_domain().await;
    let answer = "HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Domain=apps.test\r\nSet-Cookie: maar-session=evil\r\n\
                  Clear-Site-Data: \"*\"\r\nContent-Length: 0\r\n\r\n";
    let (seen, _) = tokio::join!(world.get("/", ""), world.app(answer));
    assert!(seen.contains("set-cookie: a=1\r\n"), "{seen}");
    assert!(!seen.contains("evil") && !seen.to_lowercase().contains("clear-site"), "{seen}");
}

#[tokio::test]
async fn requests_that_could_be_read_in_two_ways_reach_no_app() {
    let world = by_domain().await;
    let host = world.host();
    let begin = format!("POST / HTTP/1.1\r\nHost: {host}\r\nCookie: maar-app=good\r\nConnection: close\r\n");
    let smuggled = format!("GET /smuggled HTTP/1.1\r\nHost: {host}\r\n\r\n");
    for (what, lines) in [
        ("two lengths", format!("{begin}Content-Length: 0\r\nContent-Length: 44\r\n\r\n{smuggled}")),
        ("a folded header", format!("{begin}X-A: 1\r\n Transfer-Encoding: chunked\r\n\r\n")),
        ("a space before the colon", format!("{begin}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n")),
        ("two hosts", format!("{begin}Host: portal.test\r\nContent-Length: 0\r\n\r\n")),
        (
            "another host in the target",
            format!(
                "GET http://portal.test/ HTTP/1.1\r\nHost: {host}\r\nCookie: maar-app=good\r\nConnection: close\r\n\r\n"
            ),
        ),
        (
            "a strange host",
            format!("GET / HTTP/1.1\r\nHost: u@{host}\r\nCookie: maar-app=good\r\nConnection: close\r\n\r\n"),
        ),
        ("trace", begin.replace("POST", "TRACE") + "\r\n"),
    ] {
        let answer = world.says(&lines).await;
        assert_eq!(status(&answer), "400", "{what}: {answer}");
        assert!(!world.app_was_reached().await, "{what}");
    }
    // Whether it is refused or read as chunks: what hides behind the end never becomes a request of its own.
    let both = format!("{begin}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}");
    let (answer, seen) = tokio::join!(world.says(&both), async {
        let reached = timeout(Duration::from_secs(1), world.app.accept()).await;
        match reached {
            Ok(Ok((mut stream, _))) => {
                let head = head(&mut stream).await;
                stream.write_all(OK.as_bytes()).await.unwrap();
                let mut rest = Vec::new();
                let _ = timeout(Duration::from_secs(1), stream.read_to_end(&mut rest)).await;
                head + &String::from_utf8_lossy(&rest)
            }
            _ => String::new(),
        }
    });
    assert!(!seen.contains("smuggled"), "{seen}");
    assert!(!(seen.contains("content-length: 5") && seen.contains("transfer-encoding")), "{seen}");
    assert!(matches!(status(&answer), "400" | "200"), "{answer}");
}

#[tokio::test]
async fn pages_of_other_apps_do_not_use_this_one() {
    let world = by_domain().await;
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    for more in [
        "Origin: http://9999--evil--0123456789abcdef.apps.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
        "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors\r\n",
        &format!("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: websocket\r\n{upgrade}"),
    ] {
        let answer = world.get("/", more).await;
        assert_eq!(status(&answer), "403", "{more}: {answer}");
        assert!(!world.app_was_reached().await, "{more}");
    }
}

#[tokio::test]
async fn nobody_is_let_in_without_a_cookie_and_redirects_lead_to_the_app_alone() {
    let world = by_domain().await;
    let host = world.host();
    let ask = async |path: &str, host: &str| {
        world.says(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")).await
    };
    assert_eq!(status(&ask("/", &host).await), "401");
    assert_eq!(status(&ask("/", "desk.apps.test").await), "404");
    let entered = ask("/.maar/enter?secret=ticket&to=//evil.example&next=https://evil.example", &host).await;
    assert_eq!(status(&entered), "303");
    assert!(entered.contains("location: /\r\n") && !entered.contains("evil"), "{entered}");
    assert!(entered.contains("set-cookie: maar-app=good; Path=/; HttpOnly; SameSite=Lax"), "{entered}");
    for wrong in ["/.maar/enter?secret=wrong", "/.maar/enter", "/.maar/link?secret=ticket"] {
        assert_eq!(status(&ask(wrong, &host).await), "401", "{wrong}");
    }
    assert_eq!(status(&ask("/.maar/other?secret=ticket", &host).await), "404");
    assert!(!world.app_was_reached().await);
}

#[tokio::test]
async fn a_path_that_climbs_is_refused() {
    let world = world(Apps::by_path("http://gpu-apps.test:8443", &[PORTAL.to_owned()]).unwrap()).await;
    let ask = async |path: &str| {
        let lines = format!(
            "GET {path} HTTP/1.1\r\nHost: gpu-apps.test:8443\r\nCookie: maar-app=good\r\nConnection: close\r\n\r\n"
        );
        world.says(&lines).await
    };
    let label = &world.label;
    for (path, want) in [
        (format!("/apps/{label}/key/../../x"), "400"),
        (format!("/apps/{label}/key/%2e%2e/x"), "400"),
        (format!("/apps/{label}/key/a/..%2f..%2fx"), "400"),
        (format!("/apps/{label}/other/"), "401"),
        (format!("/apps/{label}/key"), "404"),
        ("/".to_owned(), "404"),
    ] {
        assert_eq!(status(&ask(&path).await), want, "{path}");
        assert!(!world.app_was_reached().await, "{path}");
    }
    let entered = ask(&format!("/apps/{label}/.maar/enter?secret=ticket")).await;
    assert!(entered.contains(&format!("location: /apps/{label}/key/\r\n")), "{entered}");
    assert!(entered.contains(&format!("Path=/apps/{label}/key/;")), "{entered}");
    let redirect = "HTTP/1.1 302 Found\r\nLocation: /tree\r\nContent-Length: 0\r\n\r\n";
    let page = format!("/apps/{label}/key/lab?a=b");
    let (answer, head) = tokio::join!(ask(&page), world.app(redirect));
    assert!(head.starts_with("get /lab?a=b http/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("x-forwarded-prefix: /apps/{label}/key\r\n")), "{head}");
    assert!(answer.contains(&format!("location: /apps/{label}/key/tree\r\n")), "{answer}");
}

#[tokio::test]
async fn connections_become_others_and_end_with_the_visit() {
    let world = by_domain().await;
    let mut visitor = TcpStream::connect(world.address).await.unwrap();
    let host = world.host();
    let ask = format!(
        "GET /socket HTTP/1.1\r\nHost: {host}\r\nCookie: maar-app=good\r\nOrigin: http://{host}\r\n\
         Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n"
    );
    visitor.write_all(ask.as_bytes()).await.unwrap();
    let (mut app, _) = timeout(PATIENCE, world.app.accept()).await.unwrap().unwrap();
    let asked = head(&mut app).await;
    assert!(
        asked.contains("upgrade: websocket\r\n") && asked.contains("sec-websocket-key: x\r\n"),
        "{asked}"
    );
    app.write_all(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        .await
        .unwrap();
    let answered = head(&mut visitor).await;
    assert!(answered.starts_with("http/1.1 101") && answered.contains("upgrade: websocket"), "{answered}");
    let mut bytes = [0; 4];
    visitor.write_all(b"ping").await.unwrap();
    timeout(PATIENCE, app.read_exact(&mut bytes)).await.unwrap().unwrap();
    assert_eq!(&bytes, b"ping");
    app.write_all(b"pong").await.unwrap();
    timeout(PATIENCE, visitor.read_exact(&mut bytes)).await.unwrap().unwrap();
    assert_eq!(&bytes, b"pong");
    world.over.send(true).unwrap();
    assert_eq!(timeout(PATIENCE, app.read(&mut bytes)).await.unwrap().unwrap_or(0), 0, "it has ended");
    assert_eq!(timeout(PATIENCE, visitor.read(&mut bytes)).await.unwrap().unwrap_or(0), 0, "at both ends");
}

/// All apps by path have one origin: a cookie for all of it would go to all of them.
#[tokio::test]
async fn a_cookie_that_comes_with_a_websocket_stays_below_the_path_of_its_app() {
    let world = world(Apps::by_path("http://gpu-apps.test", &[PORTAL.to_owned()]).unwrap()).await;
    let mut visitor = TcpStream::connect(world.address).await.unwrap();
    let path = format!("/apps/{}/key", world.label);
    let ask = format!(
        "GET {path}/socket HTTP/1.1\r\nHost: gpu-apps.test\r\nCookie: maar-app=good\r\nOrigin: http://gpu-apps.test\r\n\
         Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n"
    );
    visitor.write_all(ask.as_bytes()).await.unwrap();
    let switches = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                    Set-Cookie: a=1; Path=/; Domain=gpu-apps.test\r\n\r\n";
    world.app(switches).await;
    let answered = head(&mut visitor).await;
    assert!(answered.starts_with("http/1.1 101"), "{answered}");
    assert!(answered.contains(&format!("set-cookie: a=1; path={path}/\r\n")), "{answered}");
}

#[tokio::test]
async fn what_an_app_sends_arrives_as_it_is_sent_and_breaks_off_with_the_visit() {
    let world = by_domain().await;
    let mut visitor = TcpStream::connect(world.address).await.unwrap();
    let ask = format!("GET /events HTTP/1.1\r\nHost: {}\r\nCookie: maar-app=good\r\n\r\n", world.host());
    visitor.write_all(ask.as_bytes()).await.unwrap();
    let (mut app, _) = timeout(PATIENCE, world.app.accept()).await.unwrap().unwrap();
    head(&mut app).await;
    let begin = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n7\r\ndata: a\r\n";
    app.write_all(begin).await.unwrap();
    head(&mut visitor).await;
    let mut part = [0; 64];
    let length = timeout(PATIENCE, visitor.read(&mut part)).await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&part[..length]).contains("data: a"), "before the answer has ended");
    world.over.send(true).unwrap();
    let mut rest = Vec::new();
    timeout(PATIENCE, visitor.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert!(!String::from_utf8_lossy(&rest).contains("0\r\n\r\n"), "it does not look whole: {rest:?}");
}

/// A long poll: nothing comes, not even a head, until there is something to say.
#[tokio::test]
async fn an_app_may_be_silent_for_hours_before_it_answers_unless_the_visit_ends() {
    let world = by_domain().await;
    let asks = async || {
        let mut visitor = TcpStream::connect(world.address).await.unwrap();
        let ask = format!(
            "GET /poll HTTP/1.1\r\nHost: {}\r\nCookie: maar-app=good\r\nConnection: close\r\n\r\n",
            world.host()
        );
        visitor.write_all(ask.as_bytes()).await.unwrap();
        let (mut app, _) = timeout(PATIENCE, world.app.accept()).await.unwrap().unwrap();
        head(&mut app).await;
        (visitor, app)
    };
    let rest = async |mut visitor: TcpStream| {
        let mut answer = String::new();
        timeout(PATIENCE, visitor.read_to_string(&mut answer)).await.unwrap().unwrap();
        answer
    };
    let (visitor, mut app) = asks().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_hours(2)).await;
    tokio::time::resume();
    app.write_all(OK.as_bytes()).await.unwrap();
    let answer = rest(visitor).await;
    assert!(status(&answer) == "200" && answer.ends_with("hello"), "{answer}");

    let (visitor, mut app) = asks().await;
    world.over.send(true).unwrap();
    assert_eq!(status(&rest(visitor).await), "401", "it is not heard by who may no longer");
    assert_eq!(timeout(PATIENCE, app.read(&mut [0])).await.unwrap().unwrap_or(0), 0, "nor asked on");
}

#[tokio::test]
async fn large_bodies_stream_and_are_never_whole_in_memory() {
    let world = by_domain().await;
    let total: usize = 64 << 20;
    let host = world.host();
    let mut visitor = TcpStream::connect(world.address).await.unwrap();
    let ask = format!(
        "POST /upload HTTP/1.1\r\nHost: {host}\r\nCookie: maar-app=good\r\nContent-Length: {total}\r\nConnection: close\r\n\r\n"
    );
    visitor.write_all(ask.as_bytes()).await.unwrap();
    let part = vec![7_u8; 1 << 20];
    visitor.write_all(&part).await.unwrap();
    // The app has the beginning before the visitor has sent the rest.
    let (mut app, _) = timeout(PATIENCE, world.app.accept()).await.unwrap().unwrap();
    let asked = head(&mut app).await;
    assert!(asked.contains(&format!("content-length: {total}\r\n")), "{asked}");
    let mut seen = vec![0; part.len()];
    timeout(PATIENCE, app.read_exact(&mut seen)).await.unwrap().unwrap();
    let sending = async {
        for _ in 1..64 {
            visitor.write_all(&part).await.unwrap();
        }
        let mut answer = Vec::new();
        visitor.read_to_end(&mut answer).await.unwrap();
        String::from_utf8(answer).unwrap()
    };
    let taking = async {
        let mut left = total - part.len();
        while left > 0 {
            let length = app.read(&mut seen).await.unwrap();
            assert!(length > 0, "{left} bytes are missing");
            left -= length;
        }
        app.write_all(OK.as_bytes()).await.unwrap();
    };
    let (answer, ()) = timeout(PATIENCE, async { tokio::join!(sending, taking) }).await.unwrap();
    assert!(answer.ends_with("hello"), "{answer}");
}

#[tokio::test]
async fn a_connection_is_kept_for_its_visitor_and_one_that_died_is_replaced() {
    let world = by_domain().await;
    let host = world.host();
    let mut visitor = TcpStream::connect(world.address).await.unwrap();
    let ask = format!("GET / HTTP/1.1\r\nHost: {host}\r\nCookie: maar-app=good\r\n\r\n");
    let kept = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let mut body = [0; 5];
    visitor.write_all(ask.as_bytes()).await.unwrap();
    let (mut app, _) = timeout(PATIENCE, world.app.accept()).await.unwrap().unwrap();
    for _ in 0..2 {
        head(&mut app).await;
        app.write_all(kept.as_bytes()).await.unwrap();
        head(&mut visitor).await;
        timeout(PATIENCE, visitor.read_exact(&mut body)).await.unwrap().unwrap();
        put_back().await;
        visitor.write_all(ask.as_bytes()).await.unwrap();
    }
    assert_eq!(*world.door.connections.lock().unwrap(), 1);
    // The third request is on its way on the same connection, and dies there.
    head(&mut app).await;
    drop(app);
    let (mut app, _) = timeout(PATIENCE, world.app.accept()).await.unwrap().unwrap();
    head(&mut app).await;
    app.write_all(kept.as_bytes()).await.unwrap();
    assert!(head(&mut visitor).await.starts_with("http/1.1 200"));
    assert_eq!(*world.door.connections.lock().unwrap(), 2);
}

/// A connection is put back when its answer was read to the end: by tasks of this thread that have all they need.
async fn put_back() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_cannot_be_sent_twice_uses_a_connection_again_and_is_sent_once() {
    let world = by_domain().await;
    let mut visitor = TcpStream::connect(world.address).await.unwrap();
    let ask = format!(
        "POST / HTTP/1.1\r\nHost: {}\r\nCookie: maar-app=good\r\nContent-Length: 4\r\n\r\nsent",
        world.host()
    );
    let kept = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let (mut sent, mut body) = ([0; 4], [0; 5]);
    visitor.write_all(ask.as_bytes()).await.unwrap();
    let (mut app, _) = timeout(PATIENCE, world.app.accept()).await.unwrap().unwrap();
    for _ in 0..2 {
        head(&mut app).await;
        timeout(PATIENCE, app.read_exact(&mut sent)).await.unwrap().unwrap();
        app.write_all(kept.as_bytes()).await.unwrap();
        head(&mut visitor).await;
        timeout(PATIENCE, visitor.read_exact(&mut body)).await.unwrap().unwrap();
        put_back().await;
        visitor.write_all(ask.as_bytes()).await.unwrap();
    }
    assert_eq!(*world.door.connections.lock().unwrap(), 1);
    // The third has reached the app, which may have done what it asks for.
    head(&mut app).await;
    drop(app);
    assert!(head(&mut visitor).await.starts_with("http/1.1 503"));
    assert!(!world.app_was_reached().await);
    assert_eq!(*world.door.connections.lock().unwrap(), 1);
}

#[tokio::test]
async fn an_app_that_hangs_up_without_an_answer_is_said_to_be_out_of_reach() {
    let world = by_domain().await;
    let hang_up = async { drop(world.app.accept().await.unwrap()) };
    let (answer, ()) = tokio::join!(world.get("/", ""), hang_up);
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
}

#[tokio::test]
async fn where_nothing_listens_a_page_says_so() {
    let world = by_domain().await;
    let World { app, .. } = &world;
    let address = app.local_addr().unwrap();
    let door = Arc::new(Door { app: address, over: world.over.subscribe(), connections: Mutex::default() });
    let proxy = Proxy::new(
        door,
        Apps::below("apps.test", &[PORTAL.to_owned()]).unwrap(),
        PORTAL.to_owned(),
        Vec::new(),
    );
    drop(world.app);
    let label = AppLabel::of("user-ada", "desk", 8888);
    let request = http::Request::builder()
        .uri("/")
        .header("host", format!("{label}.apps.test"))
        .header("cookie", "maar-app=good")
        .header("accept", "text/html")
        .header("accept-language", "zh-CN")
        .body(axum::body::Body::empty())
        .unwrap();
    let response = proxy.serve(request, None).await;
    assert_eq!(response.status(), 502);
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    assert!(String::from_utf8_lossy(&bytes).contains("此端口上还没有程序监听"));
}
