//! What people are asked before a program acts in their name, on pages of the portal.

use jiff::{SignedDuration, Timestamp};
use maar_issuer::Refusal;
use maar_records::{Attempt, AttemptLimit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::handlers::{issuer, signed_in};
use crate::{
    error::{ApiError, Code},
    route::{Answer, Call},
};

/// How often somebody may type codes of devices: they are short.
const TYPED: AttemptLimit = AttemptLimit { burst: 20, every: SignedDuration::from_secs(30) };

/// What a client asks for.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConsentView {
    /// What it calls itself.
    client: String,
    scopes: Vec<String>,
    /// Where the answer goes.
    redirect: String,
    /// Whether it has to be agreed to; if not, it is a site that is trusted, and the page may go on by itself.
    needed: bool,
}

/// A program that waits with a code.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeviceView {
    /// What it calls itself.
    client: String,
    scopes: Vec<String>,
    #[schemars(with = "String")]
    expires: Timestamp,
}

/// An answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reply {
    /// Yes, or no.
    approve: bool,
}

/// Where the browser goes on.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Way {
    redirect: String,
}

fn refused(refusal: Refusal) -> ApiError {
    let code = match refusal.code {
        "not_found" => Code::NotFound,
        "login_required" => Code::SignedOut,
        "temporarily_unavailable" => Code::Unavailable,
        _ => Code::Forbidden,
    };
    ApiError::new(code, refusal.why)
}

/// Only people answer, and only with a password of their own.
fn person(call: &Call) -> Result<(), ApiError> {
    if call.caller.by_key() {
        return Err(ApiError::new(Code::ScopeMissing, "this is asked of people: sign in with a browser"));
    }
    if call.person()?.must_change_password {
        let why = "change your password first: it was set by somebody else";
        return Err(ApiError::new(Code::PasswordChangeRequired, why));
    }
    Ok(())
}

/// `GET /consents/{id}`.
pub(super) async fn consent(call: Call) -> Result<Answer, ApiError> {
    person(&call)?;
    let who = signed_in(&call).await?;
    let asked = issuer(&call)?.question(call.part("id"), &who).await.map_err(refused)?;
    Answer::json(&ConsentView {
        client: asked.client,
        scopes: asked.scopes,
        redirect: asked.redirect,
        needed: asked.consent,
    })
}

/// `POST /consents/{id}`.
pub(super) async fn answer(call: Call) -> Result<Answer, ApiError> {
    person(&call)?;
    let (issuer, who, id) = (issuer(&call)?, signed_in(&call).await?, call.part("id"));
    let asked = issuer.question(id, &who).await.map_err(refused)?;
    let reply: Reply = call.body()?;
    let redirect = issuer.answer(id, &who, reply.approve).await.map_err(refused)?;
    let after = json!({ "approved": reply.approve, "scopes": asked.scopes });
    Ok(Answer::json(&Way { redirect })?.about(asked.client).change(None, Some(after)))
}

/// Counts a code that somebody types.
async fn count(call: &Call) -> Result<(), ApiError> {
    let subject = format!("device:{}", call.person()?.id);
    match call.portal.records.attempt_login(&subject, TYPED, call.now()).await? {
        Attempt::Allowed => Ok(()),
        Attempt::Refused { retry_after } => {
            Err(ApiError::too_many(u64::try_from(retry_after.as_secs()).unwrap_or(0) + 1))
        }
    }
}

/// `GET /device/{code}`.
pub(super) async fn device(call: Call) -> Result<Answer, ApiError> {
    person(&call)?;
    count(&call).await?;
    let (asked, expires) = issuer(&call)?.waiting_device(call.part("code")).await.map_err(refused)?;
    Answer::json(&DeviceView { client: asked.client, scopes: asked.scopes, expires })
}

/// `POST /device/{code}`.
pub(super) async fn answer_device(call: Call) -> Result<Answer, ApiError> {
    person(&call)?;
    count(&call).await?;
    let (issuer, who, code) = (issuer(&call)?, signed_in(&call).await?, call.part("code"));
    issuer.waiting_device(code).await.map_err(refused)?;
    let reply: Reply = call.body()?;
    let asked = issuer.answer_device(code, &who, reply.approve).await.map_err(refused)?;
    let after = json!({ "approved": reply.approve, "scopes": asked.scopes });
    Ok(Answer::done().about(asked.client).change(None, Some(after)))
}
