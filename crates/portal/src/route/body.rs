//! Bodies of requests.

use axum::body::Body;
use http::{HeaderMap, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::Value;

use crate::error::{ApiError, Code};

/// The most a body may hold.
const MOST: usize = 1 << 20;

/// A body that is a form, as its text.
pub(super) async fn form(headers: &HeaderMap, body: Body) -> Result<Value, ApiError> {
    let bytes = whole(body).await?;
    if !bytes.is_empty() && kind(headers) != "application/x-www-form-urlencoded" {
        return Err(ApiError::invalid("body", "Content-Type is application/x-www-form-urlencoded"));
    }
    let text = String::from_utf8(bytes.to_vec()).map_err(|_| ApiError::invalid("body", "is no UTF-8"))?;
    Ok(Value::String(text))
}

async fn whole(body: Body) -> Result<bytes::Bytes, ApiError> {
    match Limited::new(body, MOST).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(ApiError::new(Code::TooLarge, format!("a body has at most {MOST} bytes")))
        }
        Err(error) => Err(ApiError::unavailable("the connection", error)),
    }
}

fn kind(headers: &HeaderMap) -> &str {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim()
}

/// A body of JSON, or of YAML if it says so; nothing if it is empty.
pub(super) async fn read(headers: &HeaderMap, body: Body) -> Result<Value, ApiError> {
    let bytes = whole(body).await?;
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    match kind(headers) {
        "application/json" => serde_json::from_slice(&bytes)
            .map_err(|error| ApiError::shape("body", format_args!("is no JSON: {error}"))),
        "application/yaml" | "text/yaml" => {
            let text = std::str::from_utf8(&bytes).map_err(|_| ApiError::invalid("body", "is no UTF-8"))?;
            serde_saphyr::from_str(text)
                .map_err(|error| ApiError::shape("body", format_args!("is no YAML: {error}")))
        }
        // A form of another site can send text/plain and two more, and none of them is taken here.
        _ => Err(ApiError::invalid("body", "Content-Type is application/json or application/yaml")),
    }
}
