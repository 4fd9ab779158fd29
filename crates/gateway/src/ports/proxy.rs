//! Carries requests of visitors to their apps.

use std::{fmt, net::IpAddr, sync::Arc, time::Duration};

use axum::body::Body;
use futures::{FutureExt as _, future::BoxFuture};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, Version, header};
use http_body::Body as _;
use hyper::{body::Incoming, client::conn::http1, upgrade::OnUpgrade};
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use super::{
    Apps, Entry, Gate, Proof, Refusal, Visit,
    apps::Asked,
    body::Until,
    escape::climbs,
    headers::{Told, set_visitor, to_app, to_visitor, visitor},
    page::page,
    pool::{IDLE, Pool},
    site::{check_frame, check_origin, host_of, upgrade},
};

/// How long a Pod may take to open a connection.
const CONNECT: Duration = Duration::from_secs(15);
/// How long it is waited for the Pod's own words about a connection that broke.
const WORDS: Duration = Duration::from_millis(500);
/// How long a connection may have waited that is used for what cannot be sent twice. Servers close what waits for longer
/// (the shortest usual time is two seconds), and a request that meets the end of its connection is lost.
const YOUNG: Duration = Duration::from_secs(1);
/// The longest secret that is looked at.
const LONGEST: usize = 256;

/// The proxy. Clones share their connections.
#[derive(Clone)]
pub struct Proxy {
    gate: Arc<dyn Gate>,
    apps: Apps,
    /// Where people go on who are not let in.
    portal: String,
    withheld: Arc<[HeaderName]>,
    pool: Pool,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Proxy").field("apps", &self.apps).finish_non_exhaustive()
    }
}

impl Proxy {
    /// A proxy for apps found at `apps`, beside the portal at the origin `portal`. Headers that are `withheld` are for
    /// the portal only.
    pub fn new(gate: Arc<dyn Gate>, apps: Apps, portal: String, withheld: Vec<HeaderName>) -> Self {
        Self { gate, apps, portal, withheld: withheld.into(), pool: Pool::default() }
    }

    /// Whether a request is for an app and not for the portal beside which this proxy stands.
    pub fn is_for_app<B>(&self, request: &Request<B>) -> bool {
        let named = request.headers().get_all(header::HOST).iter().filter_map(|value| value.to_str().ok());
        let target = request.uri().authority().map(http::uri::Authority::as_str);
        // Whoever names an app at all, also in a second header, is none of the portal's visitors.
        named.chain(target).any(|host| self.apps.holds(host))
    }

    /// Answers a request that `peer` sent.
    pub async fn serve(&self, request: Request<Body>, peer: Option<IpAddr>) -> Response<Body> {
        let asked = request.headers().clone();
        match self.answer(request, peer).await {
            Ok(response) => response,
            Err(refusal) => page(refusal, &asked, &self.portal),
        }
    }

    async fn answer(&self, request: Request<Body>, peer: Option<IpAddr>) -> Result<Response<Body>, Refusal> {
        let host = host_of(&request)?;
        let asked = self.apps.read(&host, request.uri().path()).ok_or(Refusal::Unknown)?;
        check_frame(request.method(), request.headers())?;
        if !asked.prefix.is_empty() && climbs(&asked.path) {
            return Err(Refusal::Bad);
        }
        if let Some(door) = asked.path.strip_prefix("/.maar/") {
            if request.method() != Method::GET {
                return Err(Refusal::Bad);
            }
            let proof = proof(door, request.uri().query().unwrap_or_default())?;
            return self.enter(&asked, proof, peer).await;
        }
        check_origin(request.method(), request.headers(), &self.apps.origin(&asked.label))?;
        let secure = self.apps.secure() && asked.prefix.is_empty();
        let cookie = visitor(request.headers(), secure).filter(|cookie| cookie.len() <= LONGEST);
        let cookie = cookie.ok_or(Refusal::SignedOut)?;
        let visit = self.gate.visit(&asked.label, &asked.key, &cookie).await?;
        self.carry(request, &host, &asked, visit, peer).await
    }

    /// Lets somebody in and leads him to the app. Where to is never a part of the request.
    async fn enter(
        &self,
        asked: &Asked,
        proof: Proof,
        address: Option<IpAddr>,
    ) -> Result<Response<Body>, Refusal> {
        let pass = self.gate.enter(Entry { label: asked.label.clone(), proof, address }).await?;
        let prefix =
            if asked.prefix.is_empty() { String::new() } else { format!("{}/{}", asked.prefix, pass.key) };
        let cookie = set_visitor(&pass.cookie, pass.seconds, &prefix, self.apps.secure());
        let place = HeaderValue::from_str(&format!("{prefix}/"));
        let (Some(cookie), Ok(place)) = (cookie, place) else { return Err(Refusal::Unreachable) };
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SEE_OTHER;
        let headers = response.headers_mut();
        headers.insert(header::SET_COOKIE, cookie);
        headers.insert(header::LOCATION, place);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        Ok(response)
    }

    async fn carry(
        &self,
        mut request: Request<Body>,
        host: &str,
        asked: &Asked,
        visit: Visit,
        peer: Option<IpAddr>,
    ) -> Result<Response<Body>, Refusal> {
        let wanted = upgrade(request.headers());
        let near = wanted.is_some().then(|| hyper::upgrade::on(&mut request));
        *request.uri_mut() = target(asked, request.uri()).ok_or(Refusal::Bad)?;
        *request.version_mut() = Version::HTTP_11;
        let told = Told {
            host,
            prefix: &asked.prefix,
            secure: self.apps.secure(),
            peer,
            upgrade: wanted.as_deref(),
            withheld: &self.withheld,
        };
        to_app(request.headers_mut(), &told);
        let mut ended = self.gate.ended(&visit);
        // An app may be silent for hours before it answers, and its visitor be no longer one by then.
        let mut response = tokio::select! {
            answered = self.send(&visit, request) => answered?,
            () = &mut ended => return Err(Refusal::SignedOut),
        };
        let far = hyper::upgrade::on(&mut response);
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            // An app that switches without being asked is not understood by who asked.
            let near = near.ok_or(Refusal::Unreachable)?;
            return Ok(switch(response, &told, (near, far), ended));
        }
        to_visitor(response.headers_mut(), &told);
        let exact = response.body().size_hint().exact().is_some_and(|length| length < 1 << 16);
        Ok(response.map(|body| {
            let body = Body::new(body);
            if exact { body } else { Body::new(Until::new(body, ended)) }
        }))
    }

    /// Sends a request on a connection that was kept, if there is one that will do, else on a new one.
    async fn send(&self, visit: &Visit, mut request: Request<Body>) -> Result<Response<Incoming>, Refusal> {
        let upgrades = request.headers().contains_key(header::UPGRADE);
        let repeats = matches!(*request.method(), Method::GET | Method::HEAD)
            && request.body().size_hint().exact() == Some(0);
        let within = if repeats { IDLE } else { YOUNG };
        if !upgrades && let Some(mut kept) = self.pool.take(visit, within) {
            let again = repeats.then(|| copy(&request));
            match kept.try_send_request(request).await {
                Ok(response) => {
                    self.pool.keep(visit.clone(), kept);
                    return Ok(response);
                }
                Err(mut error) => {
                    // The other end has closed it at this moment: what was not sent comes back.
                    let Some(unanswered) = error.take_message().or(again) else {
                        tracing::debug!(error = %error.error(), "an app closed a connection that was in use");
                        return Err(Refusal::Unreachable);
                    };
                    request = unanswered;
                }
            }
        }
        let io = timeout(CONNECT, self.gate.connect(visit)).await.map_err(|_| Refusal::Unreachable)??;
        let handshake = http1::handshake::<_, Body>(TokioIo::new(io.stream)).await;
        let (mut sender, connection) = handshake.map_err(|_| Refusal::Unreachable)?;
        tokio::spawn(connection.with_upgrades());
        // It is over, without a word, when the stream into the Pod breaks, and is asked again below.
        let mut failure = io.failure.fuse();
        let answered = tokio::select! {
            answered = sender.send_request(request) => answered,
            Some(_) = &mut failure => return Err(Refusal::Silent),
        };
        match answered {
            Ok(response) => {
                if response.status() != StatusCode::SWITCHING_PROTOCOLS {
                    self.pool.keep(visit.clone(), sender);
                }
                Ok(response)
            }
            Err(error) => {
                tracing::debug!(%error, "an app did not answer");
                let words = timeout(WORDS, failure).await.ok().flatten();
                Err(if words.is_some() { Refusal::Silent } else { Refusal::Unreachable })
            }
        }
    }
}

/// By what somebody at a door wants to be let in.
fn proof(door: &str, query: &str) -> Result<Proof, Refusal> {
    let make = match door {
        "enter" => Proof::Ticket,
        "link" => Proof::Link,
        _ => return Err(Refusal::Unknown),
    };
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let secret = pairs.find(|(name, _)| name == "secret").map(|(_, value)| value.into_owned());
    secret.filter(|secret| (1..=LONGEST).contains(&secret.len())).map(make).ok_or(Refusal::Stale)
}

/// The same request once more; only of those without a body.
fn copy(request: &Request<Body>) -> Request<Body> {
    let mut copy = Request::new(Body::empty());
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    copy
}

/// The path and the query as the app sees them.
fn target(asked: &Asked, uri: &Uri) -> Option<Uri> {
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}{query}", asked.path).parse().ok()
}

/// Lets both ends talk as they agreed, until one has enough or the visit ends.
fn switch(
    mut response: Response<Incoming>,
    told: &Told<'_>,
    (near, far): (OnUpgrade, OnUpgrade),
    ended: BoxFuture<'static, ()>,
) -> Response<Body> {
    let to = response.headers().get(header::UPGRADE).cloned();
    to_visitor(response.headers_mut(), told);
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    if let Some(to) = to {
        headers.insert(header::UPGRADE, to);
    }
    tokio::spawn(async move {
        let (Ok(near), Ok(far)) = tokio::join!(near, far) else { return };
        let (mut near, mut far) = (TokioIo::new(near), TokioIo::new(far));
        tokio::select! {
            _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
            () = ended => {}
        }
    });
    response.map(|_| Body::empty())
}
