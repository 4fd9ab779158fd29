//! The only way to a handler: who asks, from where, about what, and whether that is allowed.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::{
    RequestExt as _, RequestPartsExt as _, Router,
    body::{Body, HttpBody as _},
    extract::{ConnectInfo, Path, Request, WebSocketUpgrade},
    response::Response,
    routing::{MethodFilter, MethodRouter, on},
};
use http::{HeaderValue, header};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::time::Instant;

use super::{Answer, Call, Method, Route, audit, body, call::Upgrade};
use crate::{
    access::{Denied, Verb, decide},
    error::{ApiError, Code},
    identity::{self, Caller, Whence, authenticate, cross_site, own_page},
    portal::Portal,
    template::filled,
};

/// The router of everything in `table`, and of nothing else.
pub(crate) fn router(portal: &Arc<Portal>, table: Vec<Route>) -> Router {
    let mut methods: BTreeMap<String, MethodRouter> = BTreeMap::new();
    for route in table {
        let filter = match route.method {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
            Method::Put => MethodFilter::PUT,
            Method::Delete => MethodFilter::DELETE,
        };
        let path = route.full_path();
        let (portal, route) = (Arc::clone(portal), Arc::new(route));
        let handler = move |request: Request| serve(Arc::clone(&portal), Arc::clone(&route), request);
        let others = methods.remove(&path).unwrap_or_default();
        methods.insert(path, others.merge(on(filter, handler)));
    }
    let mut router = Router::new();
    for (path, of_path) in methods {
        let refuse = Arc::clone(portal);
        let of_path = of_path.fallback(move || refused(Arc::clone(&refuse), Code::MethodNotAllowed));
        router = router.route(&path, of_path);
    }
    let refuse = Arc::clone(portal);
    router.fallback(move |request: Request| elsewhere(Arc::clone(&refuse), request))
}

/// What is no route: a page, or nothing.
async fn elsewhere(portal: Arc<Portal>, request: Request) -> Response {
    let path = request.uri().path();
    if path == "/api" || path.starts_with("/api/") {
        return refused(portal, Code::NotFound).await;
    }
    let page = crate::web::serve(request.method(), request.uri(), request.headers());
    mark(page, &portal)
}

#[expect(clippy::unused_async, reason = "axum wants handlers to be")]
async fn refused(portal: Arc<Portal>, code: Code) -> Response {
    let message = if code == Code::NotFound { "there is nothing here" } else { "not with this method" };
    let id = portal.request_id();
    mark(finish(ApiError::new(code, message).into_response(&id), &id), &portal)
}

async fn serve(portal: Arc<Portal>, route: Arc<Route>, request: Request) -> Response {
    let (id, begin) = (portal.request_id(), Instant::now());
    let mut user = None;
    let response = match handle(&portal, &route, request, &id, &mut user).await {
        Ok(answer) => answer.into_response(),
        Err(error) => error.into_response(&id),
    };
    portal.metrics.answered(route.name, response.status().as_u16(), begin.elapsed());
    let response = counting(&portal, &route, response);
    // Neither the path nor the query: they hold names of people, and once in a while secrets.
    tracing::info!(
        request.id = id,
        route = route.name,
        status = response.status().as_u16(),
        user = user.as_deref().unwrap_or("-"),
        duration_ms = begin.elapsed().as_millis(),
        "answered"
    );
    mark(finish(response, &id), &portal)
}

/// Says with every answer that nobody has to show who he is.
fn mark(mut response: Response, portal: &Portal) -> Response {
    if portal.settings.development {
        response.headers_mut().insert("x-maar-development", HeaderValue::from_static("true"));
    }
    response
}

/// Counts an answer that is sent as it comes for as long as it is.
fn counting(portal: &Portal, route: &Route, response: Response) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    let open = portal.metrics.open(route.name);
    response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _ = &open;
            frame
        }))
    })
}

/// Headers of every answer.
fn finish(mut response: Response, id: &str) -> Response {
    let headers = response.headers_mut();
    let fixed = [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    ];
    for (name, value) in fixed {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if let Ok(value) = HeaderValue::from_str(id) {
        headers.insert("x-request-id", value);
    }
    response
}

async fn handle(
    portal: &Arc<Portal>,
    route: &Arc<Route>,
    mut request: Request,
    id: &str,
    user: &mut Option<String>,
) -> Result<Answer, ApiError> {
    let path = request.extract_parts::<Path<BTreeMap<String, String>>>().await;
    let path = path.map(|Path(path)| path).unwrap_or_default();
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip());
    let (mut parts, sent) = request.into_parts();
    let from = Whence::of(peer, &parts.headers, &portal.settings.trusted_proxies);
    let known =
        if route.foreign { Ok(Caller::NOBODY) } else { authenticate(portal, &parts.headers, from).await };
    let caller = match known {
        Ok(caller) => caller,
        Err(refused) => {
            limit(portal, &Caller::NOBODY, from.address, route)?;
            return Err(refused);
        }
    };
    *user = caller.subject.person().map(|person| person.name.clone());
    // Before everything that is written down when it is refused.
    limit(portal, &caller, from.address, route)?;
    let agent =
        parts.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let upgrade = Upgrade::default();
    if route.verb == Verb::Enter {
        *upgrade.0.lock() = parts.extract::<WebSocketUpgrade>().await.ok();
    }
    let mut call = Call {
        portal: Arc::clone(portal),
        caller,
        request_id: id.to_owned(),
        address: from.address,
        agent,
        uri: parts.uri,
        headers: parts.headers,
        path,
        body: Value::Null,
        found: super::Found::Nothing,
        upgrade,
    };
    let mut account = None;
    let allowed = examine(&mut call, route, sent, &mut account).await;
    if !route.audited() {
        allowed?;
        return (route.handler)(call).await;
    }
    let allowed = match allowed {
        // What strangers are refused is not written down: they could fill the log with it.
        Err(denied) if call.subject().person().is_none() => return Err(denied),
        other => other,
    };
    // In a task of its own: who closes the page in the middle of a change does not leave it half made, and how it ended is
    // written down.
    let change = tokio::spawn(change(Arc::clone(portal), Arc::clone(route), call, account, allowed));
    change.await.unwrap_or_else(|lost| Err(ApiError::unavailable("the portal", lost)))
}

/// Does what is allowed, and writes down what came of it.
async fn change(
    portal: Arc<Portal>,
    route: Arc<Route>,
    call: Call,
    account: Option<String>,
    allowed: Result<(), ApiError>,
) -> Result<Answer, ApiError> {
    let result = match allowed {
        Ok(()) => {
            // Before it is done: should the process die in the middle, another finds it here and tells of it.
            portal.records.begin_audit(&audit::begun(&route, &call, account.clone())).await?;
            (route.handler)(call.clone()).await
        }
        Err(denied) => Err(denied),
    };
    // A write that cannot be written down is told as failed, so that nobody relies on it. A terminal does not begin.
    let entry = audit::entry(&route, &call, account, &result);
    portal.records.append_audit(&entry).await?;
    result
}

/// Reads what was sent and finds what it is about, and whether that may be done. `account` becomes the one that pays for
/// the thing.
async fn examine(
    call: &mut Call,
    route: &Route,
    sent: Body,
    account: &mut Option<String>,
) -> Result<(), ApiError> {
    let portal = Arc::clone(&call.portal);
    if route.method.writes() && !call.caller.by_key() && !route.foreign {
        cross_site(&call.headers, &portal.settings.origins)?;
    }
    // Nobody's body is read before it is known that somebody may send one.
    if call.subject().person().is_none() {
        allow(&call.caller, route, &route.target.object(call.subject(), &Value::Null))?;
    }
    let body = match (route.method.writes(), route.foreign) {
        (true, true) => body::form(&call.headers, sent).await?,
        (true, false) => body::read(&call.headers, sent).await?,
        (false, _) => Value::Null,
    };
    let (body, unfilled) = begin_from(&portal, &call.caller, route, body).await;
    call.body = body;
    let (found, object) = route.target.find(&portal, call.subject(), &call.path, &call.body).await?;
    call.found = found;
    account.clone_from(&object.account);
    allow(&call.caller, route, &object)?;
    if route.verb == Verb::Enter && !call.caller.by_key() {
        own_page(&call.headers, &portal.settings.origins)?;
    }
    unfilled.map_or(Ok(()), Err)
}

/// The body with what the template says that it names. If there is no such, it is not done, and written down like everything
/// that is not.
async fn begin_from(
    portal: &Portal,
    caller: &Caller,
    route: &Route,
    body: Value,
) -> (Value, Option<ApiError>) {
    let Some(kind) = route.template else { return (body, None) };
    match filled(portal, &caller.subject, kind, body.clone()).await {
        Ok(whole) => (whole, None),
        Err(error) => (body, Some(error)),
    }
}

/// Strangers are counted by where they come from, and signing in apart from the rest: others at the same address who read
/// what everyone may read keep nobody out.
fn limit(portal: &Portal, caller: &Caller, address: Option<IpAddr>, route: &Route) -> Result<(), ApiError> {
    let who = match (caller.subject.person(), address) {
        (Some(person), _) => person.id.clone(),
        (None, address) => {
            let door = if route.foreign {
                "tool"
            } else if route.signs_in() {
                "login"
            } else {
                "page"
            };
            format!("{door} {}", address.map(identity::counted).unwrap_or_default())
        }
    };
    portal.rates.take(&who, Instant::now()).map_err(ApiError::too_many)
}

fn allow(caller: &Caller, route: &Route, object: &crate::access::Object) -> Result<(), ApiError> {
    decide(&caller.subject, route.verb, object).map_err(|denied| match denied {
        Denied::SignedOut => ApiError::new(Code::SignedOut, "sign in first"),
        Denied::PasswordChange => ApiError::new(
            Code::PasswordChangeRequired,
            "change your password first: it was set by somebody else",
        ),
        Denied::Scope => ApiError::new(Code::ScopeMissing, "this API key is not made for that"),
        // Things that must not be known of, and work that cannot be made for an account one has no part in.
        Denied::Hidden
            if matches!(
                route.target,
                super::Target::New(..) | super::Target::Asker(_) | super::Target::Cluster(_)
            ) =>
        {
            ApiError::new(Code::Forbidden, "you may not do this")
        }
        Denied::Hidden => ApiError::not_found(&format!("this {}", route.target.word())),
        Denied::Forbidden => ApiError::new(Code::Forbidden, "you may not do this"),
    })
}
