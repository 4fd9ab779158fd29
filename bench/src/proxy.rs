//! What the proxy of apps adds to a connection straight to the app.
//!
//! The app is a server in this process, on a thread of its own: a Pod of this machine's own node has its loopback. The
//! same client asks it directly and through the portal, one request after another, in turns, so that whatever else the
//! machine does is in both. Each hop is in the figure: portal, port-forward, API server, kubelet.

use std::convert::Infallible;
use std::net::TcpListener;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::cli::Options;
use crate::desk::{Desk, found};
use crate::report::Report;
use crate::statistics::Rounds;

/// Of each kind in each round, after those that warm up.
const REQUESTS: usize = 2000;
const WARM: usize = 100;
/// How many are sent on connections of their own.
const NEW: usize = 200;
/// Milliseconds more, of the slowest in a hundred.
const PROMISED: f64 = 2.0;
/// What a small answer of a notebook is like.
const ANSWER: &[u8] = &[b'x'; 1024];
/// What a message of a kernel is like.
const MESSAGE: usize = 256;

/// Runs `maar up` and an app.
pub(crate) async fn run(options: &Options, report: &mut Report) -> anyhow::Result<()> {
    Report::say("==> the proxy of apps");
    let Some(maar) = found(options, "the proxy of apps", &["bwrap"], report).await? else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let desk = Desk::start(maar, folder.path()).await?;
    let measured = measure(&desk, options.rounds, report).await;
    desk.stop().await?;
    measured
}

async fn measure(desk: &Desk, rounds: usize, report: &mut Report) -> anyhow::Result<()> {
    let port = app()?;
    let direct = Way::straight(port);
    let through = Way::enter(desk, port).await?;
    for (what, kind) in [("GET", Kind::Get), ("POST", Kind::Post), ("WebSocket message", Kind::Message)] {
        let (mut near, mut far, mut added) = (Rounds::default(), Rounds::default(), Rounds::default());
        let mut usually = Rounds::default();
        for _ in 0..rounds {
            let (straight, carried) = (kind.ask(&direct).await?, kind.ask(&through).await?);
            near.push(straight.late());
            far.push(carried.late());
            added.push(carried.late() - straight.late());
            usually.push(carried.middle() - straight.middle());
        }
        Report::say(&format!(
            "    {what}, p99: direct {near} ms, through the proxy {far} ms, more by {added} ms; p50: more by {usually} ms"
        ));
        report.figure(
            &format!("proxy: {what}, ms"),
            json!({ "directP99": near, "throughP99": far, "addedP99": added, "addedP50": usually }),
        );
        report.under(&format!("proxy: {what}, p99 added"), added.median(), PROMISED, " ms");
    }
    let mut lane = through.open().await?;
    let mut new = Rounds::default();
    for _ in 0..NEW {
        let start = Instant::now();
        through.send(&mut lane, Method::GET, "/close").await?;
        new.push(milliseconds(start.elapsed()));
    }
    Report::say(&format!("    GET on a new connection to the Pod, median: {new} ms"));
    report.figure("proxy: GET on a new connection to the Pod, ms", json!({ "median": new.median() }));
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// How long requests took, the shortest first.
struct Took(Vec<Duration>);

impl Took {
    fn new(mut took: Vec<Duration>) -> Self {
        took.sort();
        Self(took)
    }

    /// The slowest in a hundred, in milliseconds.
    fn late(&self) -> f64 {
        self.at(99)
    }

    /// The middle one, in milliseconds.
    fn middle(&self) -> f64 {
        self.at(50)
    }

    fn at(&self, percent: usize) -> f64 {
        self.0.get(self.0.len() * percent / 100).copied().map(milliseconds).unwrap_or_default()
    }
}

/// What is sent.
#[derive(Clone, Copy)]
enum Kind {
    Get,
    Post,
    Message,
}

impl Kind {
    /// How long each took.
    async fn ask(self, way: &Way) -> anyhow::Result<Took> {
        let mut took = Vec::with_capacity(WARM + REQUESTS);
        let mut lane = way.open().await?;
        if matches!(self, Self::Message) {
            let mut socket = way.upgrade(lane).await?;
            let mut message = vec![b'm'; MESSAGE];
            for _ in 0..WARM + REQUESTS {
                let start = Instant::now();
                socket.write_all(&message).await?;
                socket.read_exact(&mut message).await?;
                took.push(start.elapsed());
            }
        } else {
            let method = if matches!(self, Self::Get) { Method::GET } else { Method::POST };
            for _ in 0..WARM + REQUESTS {
                let start = Instant::now();
                way.send(&mut lane, method.clone(), "/").await?;
                took.push(start.elapsed());
            }
        }
        Ok(Took::new(took.split_off(WARM)))
    }
}

type Lane = SendRequest<Full<Bytes>>;

/// A way to the app.
struct Way {
    address: String,
    host: String,
    cookie: String,
}

impl Way {
    fn straight(port: u16) -> Self {
        let address = format!("127.0.0.1:{port}");
        Self { host: address.clone(), address, cookie: String::new() }
    }

    /// Through the portal, by a ticket as a browser gets it.
    async fn enter(desk: &Desk, port: u16) -> anyhow::Result<Self> {
        let opened = desk.ask("POST", &format!("{}/ports/{port}/open", desk.path()), json!({})).await?;
        let url = opened["url"].as_str().context("an app has an address")?;
        let rest = url.strip_prefix("http://").context("apps are served without TLS here")?;
        let (host, path) = rest.split_once('/').context("the ticket is a path")?;
        let way = Self { address: desk.authority.clone(), host: host.to_owned(), cookie: String::new() };
        let request = way.request(Method::GET, &format!("/{path}"));
        let answer = way.open().await?.send_request(request.body(Full::default())?).await?;
        let cookie = answer.headers().get(header::SET_COOKIE).and_then(|value| value.to_str().ok());
        let cookie = cookie.and_then(|text| text.split(';').next());
        Ok(Self { cookie: cookie.context("nobody is let in")?.to_owned(), ..way })
    }

    async fn open(&self) -> anyhow::Result<Lane> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let (lane, connection) = handshake(TokioIo::new(stream)).await?;
        // Ends with the lane; a failure shows in the request that was under way.
        tokio::spawn(connection.with_upgrades());
        Ok(lane)
    }

    fn request(&self, method: Method, path: &str) -> http::request::Builder {
        let request = Request::builder().method(method).uri(path).header(header::HOST, &self.host);
        request.header(header::COOKIE, &self.cookie)
    }

    async fn send(&self, lane: &mut Lane, method: Method, path: &str) -> anyhow::Result<()> {
        let body = if method == Method::POST { Bytes::from_static(ANSWER) } else { Bytes::new() };
        lane.ready().await?;
        let answer = lane.send_request(self.request(method, path).body(Full::new(body))?).await?;
        ensure!(answer.status().is_success(), "{path}: {}", answer.status());
        let bytes = answer.into_body().collect().await?.to_bytes();
        ensure!(bytes == ANSWER, "{path}: another answer came");
        Ok(())
    }

    async fn upgrade(&self, mut lane: Lane) -> anyhow::Result<TokioIo<hyper::upgrade::Upgraded>> {
        let request = self.request(Method::GET, "/socket");
        let request = request.header(header::CONNECTION, "Upgrade").header(header::UPGRADE, "websocket");
        let answer = lane.send_request(request.body(Full::default())?).await?;
        ensure!(answer.status() == StatusCode::SWITCHING_PROTOCOLS, "/socket: {}", answer.status());
        Ok(TokioIo::new(hyper::upgrade::on(answer).await?))
    }
}

/// Starts the app; the port on which it listens.
fn app() -> anyhow::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Ends with the process.
    std::thread::spawn(move || runtime.block_on(serve(listener)));
    Ok(port)
}

async fn serve(listener: TcpListener) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let connection = hyper::server::conn::http1::Builder::new();
        let connection = connection.serve_connection(TokioIo::new(stream), service_fn(answer));
        // A connection that fails shows at the client.
        tokio::spawn(connection.with_upgrades());
    }
}

async fn answer(mut request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.headers().contains_key(header::UPGRADE) {
        tokio::spawn(echo(hyper::upgrade::on(&mut request)));
        let mut switched = Response::new(Full::default());
        *switched.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = switched.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        return Ok(switched);
    }
    let close = request.uri().path() == "/close";
    // What was sent is read, so that the connection can be used again.
    let _ = request.into_body().collect().await;
    let mut answer = Response::new(Full::new(Bytes::from_static(ANSWER)));
    if close {
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(answer)
}

async fn echo(upgrade: hyper::upgrade::OnUpgrade) {
    let Ok(upgraded) = upgrade.await else { return };
    let (mut from, mut to) = tokio::io::split(TokioIo::new(upgraded));
    let _ = tokio::io::copy(&mut from, &mut to).await;
}
