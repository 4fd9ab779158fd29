//! Somebody who asks the portal: plain hyper, one connection per lane.

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    body::Incoming,
    client::conn::http1::{SendRequest, handshake},
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

const PASSWORD: &str = "correct horse battery";

/// One connection; requests on it go one after another.
pub(super) struct Lane {
    authority: String,
    sender: SendRequest<Full<Bytes>>,
    /// What says who asks.
    pub(super) proof: Option<Proof>,
}

impl Lane {
    pub(super) async fn open(authority: &str, proof: Option<Proof>) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(authority).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // Ends with the lane; a failure shows in the request that was under way.
        tokio::spawn(connection);
        Ok(Self { authority: authority.to_owned(), sender, proof })
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> anyhow::Result<Response<Incoming>> {
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, &self.authority);
        if let Some((name, value)) = &self.proof {
            request = request.header(name, value);
        }
        request = request
            .header("x-maar-request", "1")
            .header(header::ORIGIN, format!("http://{}", self.authority));
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        self.sender.ready().await?;
        let answer = self.sender.send_request(request.body(Full::new(body))?).await?;
        ensure!(answer.status().is_success(), "{path}: {}", answer.status());
        Ok(answer)
    }

    /// The whole body of an answer.
    pub(super) async fn get(&mut self, path: &str) -> anyhow::Result<Bytes> {
        Ok(self.send(Method::GET, path, Bytes::new()).await?.into_body().collect().await?.to_bytes())
    }

    pub(super) async fn json(&mut self, method: Method, path: &str, body: &Value) -> anyhow::Result<Value> {
        let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        let bytes = self.send(method, path, body).await?.into_body().collect().await?.to_bytes();
        Ok(if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes)? })
    }
}

/// What says who asks.
pub(super) type Proof = (header::HeaderName, String);

/// A new user, signed in.
pub(super) async fn newcomer(authority: &str, admin: &Proof, name: &str) -> anyhow::Result<Proof> {
    let mut lane = Lane::open(authority, Some(admin.clone())).await?;
    let made = lane.json(Method::POST, "/api/v1/users", &json!({ "name": name })).await?;
    sign_in(authority, name, made["password"].as_str().context("a user without a password")?).await
}

/// Signs in with a password that has to be changed; what says who that is.
pub(super) async fn sign_in(authority: &str, name: &str, first: &str) -> anyhow::Result<Proof> {
    let mut lane = Lane::open(authority, None).await?;
    let login = json!({ "name": name, "password": first });
    let answer = lane.send(Method::POST, "/api/v1/login", login.to_string().into()).await?;
    let cookie = answer.headers().get(header::SET_COOKIE).context("a login without a cookie")?;
    let cookie = cookie.to_str()?.split(';').next().context("an empty cookie")?.to_owned();
    answer.into_body().collect().await?;
    lane.proof = Some((header::COOKIE, cookie));
    let change = json!({ "current": first, "new": PASSWORD });
    lane.json(Method::PUT, "/api/v1/me/password", &change).await?;
    lane.proof.context("nobody is signed in")
}

/// Server-sent events, one after another.
pub(super) struct Events {
    body: Incoming,
    text: String,
    _lane: Lane,
}

impl Events {
    /// Opens the stream of changes and waits until it says that it is ready.
    pub(super) async fn open(mut lane: Lane) -> anyhow::Result<Self> {
        let body = lane.send(Method::GET, "/api/v1/changes", Bytes::new()).await?.into_body();
        let mut events = Self { body, text: String::new(), _lane: lane };
        let (name, _) = events.next().await?;
        ensure!(name == "ready", "the stream began with {name}");
        Ok(events)
    }

    /// The next event: its name and what it says.
    pub(super) async fn next(&mut self) -> anyhow::Result<(String, Value)> {
        loop {
            while let Some(end) = self.text.find("\n\n") {
                let event: String = self.text.drain(..end + 2).collect();
                let field =
                    |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                if let (Some(name), Some(data)) = (field("event:"), field("data:")) {
                    return Ok((name.to_owned(), serde_json::from_str(data)?));
                }
            }
            let frame = self.body.frame().await.context("the stream of changes ended")??;
            if let Some(data) = frame.data_ref() {
                self.text.push_str(&String::from_utf8_lossy(data));
            }
        }
    }

    /// Waits for an event that is so.
    pub(super) async fn until(&mut self, so: impl Fn(&str, &Value) -> bool) -> anyhow::Result<()> {
        loop {
            let (name, data) = self.next().await?;
            if so(&name, &data) {
                return Ok(());
            }
        }
    }
}
