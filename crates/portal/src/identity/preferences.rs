//! What somebody has set for himself: language, theme. The pages know what is in it.

use maar_records::UserId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    error::ApiError,
    route::{Answer, Call},
};

/// The most they may hold, in bytes of JSON.
const MOST: usize = 8 * 1024;

/// Preferences: an object of anything, of at most 8 kB.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Preferences(Map<String, Value>);

/// `GET /me/preferences`.
pub(super) async fn get(call: Call) -> Result<Answer, ApiError> {
    let found = call.portal.records.preferences(&UserId::new(&call.person()?.id)).await?;
    Answer::json(&Preferences(found))
}

/// `PUT /me/preferences`.
pub(super) async fn set(call: Call) -> Result<Answer, ApiError> {
    let Preferences(body) = call.body()?;
    let answer = Answer::json(&body)?;
    if Value::Object(body.clone()).to_string().len() > MOST {
        return Err(ApiError::invalid("body", format!("has at most {MOST} bytes")));
    }
    let person = call.person()?;
    call.portal.records.set_preferences(&UserId::new(&person.id), &body, call.now()).await?;
    // What somebody likes is nobody's business: the audit log has that it was changed, not to what.
    Ok(answer.about(&person.name))
}
