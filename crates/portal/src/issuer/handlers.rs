//! What programs of others ask. Errors are those of the RFCs, not the portal's own.

use axum::{body::Body, response::Response};
use http::{HeaderValue, StatusCode, header};
use maar_issuer::{Authorized, Issuer, Params, Refusal, SignedIn};
use maar_records::{Actor, ActorKind, Entry, Outcome, UserId};
use serde_json::{Value, json};

use crate::{
    error::{ApiError, Code},
    route::{Answer, Call},
};

/// The provider, where there is one.
pub(super) fn issuer(call: &Call) -> Result<&Issuer, ApiError> {
    let missing =
        || ApiError::new(Code::NotFound, "this portal is no OpenID provider: see --oidc-secret-file");
    call.portal.issuer.as_ref().ok_or_else(missing)
}

/// Who is signed in, and since when.
pub(super) async fn signed_in(call: &Call) -> Result<SignedIn, ApiError> {
    let records = &call.portal.records;
    let user = records.user(&UserId::new(&call.person()?.id)).await?;
    let at = match call.session_id() {
        Some(id) => Some(records.session_by_id(id).await?.created_at),
        None => None,
    };
    Ok(SignedIn { user, at })
}

fn params(call: &Call) -> Params {
    Params::parse(call.raw_body().as_str().unwrap_or_default().as_bytes())
}

fn authorization(call: &Call) -> Option<&str> {
    // What is no text is no secret of ours either.
    call.headers().get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or("?"))
}

fn told(result: Result<Value, Refusal>, scheme: &str) -> Answer {
    let (status, body, refused) = match result {
        Ok(body) => (200, body, None),
        Err(refusal) => (refusal.status(), refusal.body(), Some(refusal)),
    };
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(refusal) = refused.filter(|_| matches!(status, 401 | 403)) {
        let text = format!("{scheme} realm=\"maar\", error=\"{}\"", refusal.code);
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(header::WWW_AUTHENTICATE, value);
        }
    }
    Answer::whole(response)
}

/// `GET /.well-known/openid-configuration`.
pub(super) fn discovery(call: &Call) -> Result<Answer, ApiError> {
    Answer::json(&issuer(call)?.discovery())
}

/// `GET /oauth/keys`.
pub(super) async fn keys(call: Call) -> Result<Answer, ApiError> {
    Ok(told(issuer(&call)?.jwks().await, "Bearer"))
}

/// `GET /oauth/authorize`.
pub(super) async fn authorize(call: Call) -> Result<Answer, ApiError> {
    let (issuer, params) = (issuer(&call)?, Params::parse(call.query_text().as_bytes()));
    if call.caller.by_key() {
        return Err(ApiError::new(Code::Forbidden, "a key signs in nowhere else: use a browser"));
    }
    // What is asked in a frame or behind the page is not seen by whom it is asked of.
    if call.headers().get("sec-fetch-dest").is_some_and(|dest| dest != "document") {
        return Err(ApiError::new(Code::Forbidden, "this is for pages that somebody opens"));
    }
    // Whose password is not his own yet is nobody for others; he chooses one on the way.
    let who = match call.subject().person() {
        Some(person) if !person.must_change_password => Some(signed_in(&call).await?),
        _ => None,
    };
    match issuer.authorize(&params, who.as_ref()).await {
        Authorized::Wrong(refusal) => Ok(wrong(&refusal)),
        Authorized::Go(place) => {
            let (client, granted) = (client_of(call.query_text()), place.contains("code="));
            let outcome = if granted { Outcome::Done } else { Outcome::Denied };
            note(&call, "authorize", &client, outcome, None).await?;
            Answer::see_other(&place)
        }
        // Who has to sign in again is asked to by the question itself. The session that he has is his until he does:
        // any site can send him here.
        Authorized::Ask { id, .. } => Answer::see_other(&format!("/consent/{id}")),
    }
}

/// Only the user can be told, since it is not known who the client is.
fn wrong(refusal: &Refusal) -> Answer {
    let text = format!(
        "The program that sent you here made a mistake, and you are not signed in to it.\n\n{refusal}\n"
    );
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Answer::whole(response)
}

/// `POST /oauth/authorize`: cookies are not sent along with forms of other sites, so it begins anew.
pub(super) fn authorize_by_form(call: &Call) -> Result<Answer, ApiError> {
    issuer(call)?;
    let pairs = form_urlencoded::parse(call.raw_body().as_str().unwrap_or_default().as_bytes());
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    Answer::see_other(&format!("/oauth/authorize?{query}"))
}

/// `POST /oauth/token`.
pub(super) async fn token(call: Call) -> Result<Answer, ApiError> {
    let made = issuer(&call)?.token(&params(&call), authorization(&call)).await;
    // Who waits asks often, and nothing has happened.
    let waits = |refusal: &Refusal| matches!(refusal.code, "authorization_pending" | "slow_down");
    if !made.as_ref().is_err_and(waits) {
        let outcome = if made.is_ok() { Outcome::Done } else { Outcome::Denied };
        let client = client_of(call.raw_body().as_str().unwrap_or_default());
        let why = made.as_ref().err().map(ToString::to_string);
        note(&call, "issueToken", &client, outcome, why).await?;
    }
    Ok(told(made, "Basic"))
}

/// `GET /oauth/userinfo`.
pub(super) async fn userinfo(call: Call) -> Result<Answer, ApiError> {
    Ok(told(issuer(&call)?.userinfo(authorization(&call)).await, "Bearer"))
}

/// `POST /oauth/device`.
pub(super) async fn device(call: Call) -> Result<Answer, ApiError> {
    Ok(told(issuer(&call)?.device(&params(&call), authorization(&call)).await, "Basic"))
}

/// `POST /oauth/revoke`.
pub(super) async fn revoke(call: Call) -> Result<Answer, ApiError> {
    let done = issuer(&call)?.revoke(&params(&call), authorization(&call)).await;
    Ok(told(done.map(|()| json!({})), "Basic"))
}

/// The client that a request names, which is only said, for the log.
fn client_of(form: &str) -> String {
    let found = form_urlencoded::parse(form.as_bytes()).find(|(name, _)| name == "client_id");
    let text: String = found.map(|(_, id)| id.into_owned()).unwrap_or_default();
    let text: String = text.chars().filter(|one| !one.is_control()).take(64).collect();
    if text.is_empty() { "unknown".to_owned() } else { text }
}

async fn note(
    call: &Call,
    action: &str,
    client: &str,
    outcome: Outcome,
    why: Option<String>,
) -> Result<(), ApiError> {
    let mut entry = Entry {
        action: action.to_owned(),
        object_kind: "client".to_owned(),
        object_name: client.to_owned(),
        outcome,
        detail: why.map(|why| why.chars().take(256).collect()),
        ..call.entry()
    };
    if call.subject().person().is_none() {
        entry.actor = Actor { kind: ActorKind::Anonymous, id: None, name: client.to_owned(), via: None };
    }
    Ok(call.portal.records.append_audit(&entry).await?)
}
