//! Answers in other forms than JSON, for clients that ask for them.
//!
//! Everything is made as JSON and turned over at the end. Lists are then no longer streamed, so that clients that take
//! JSON too, which is nearly all, get that.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, Uri, header};
use http_body_util::BodyExt as _;
use serde_json::Value;

use crate::protobuf;
use crate::request::{self, Route};
use crate::status::ApiError;

const JSON: &str = "application/json";
pub(crate) const YAML: &str = "application/yaml";

/// A form of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Yaml,
    Protobuf,
}

impl Encoding {
    /// What a client wants: the first it names that there is, and protobuf only if it takes no other.
    pub(crate) fn accepted(headers: &HeaderMap) -> Self {
        let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let mut found = Self::Json;
        for choice in accept.split(',') {
            match choice.split(';').next().unwrap_or_default().trim() {
                YAML => return Self::Yaml,
                JSON | "*/*" => return Self::Json,
                protobuf::MEDIA_TYPE => found = Self::Protobuf,
                _ => {}
            }
        }
        found
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Json => JSON,
            Self::Yaml => YAML,
            Self::Protobuf => protobuf::MEDIA_TYPE,
        }
    }

    fn bytes(self, value: &Value) -> Option<Vec<u8>> {
        match self {
            Self::Json => serde_json::to_vec(value).ok(),
            Self::Yaml => yaml(value).map(String::into_bytes),
            Self::Protobuf => protobuf::encode(value),
        }
    }

    /// An answer of the API in this form. What a Pod or a kubelet says is not ours to change.
    pub(super) async fn encode(self, uri: &Uri, response: Response) -> Response {
        let passed_on = match request::route(uri.path()) {
            Route::Resource(target) => matches!(&*target.subresource, "proxy" | "log"),
            Route::Other(_) => true,
        };
        let is_json = response.headers().get(header::CONTENT_TYPE).is_some_and(|value| value == JSON);
        if self == Self::Json || passed_on || !is_json {
            return response;
        }
        let (mut parts, body) = response.into_parts();
        let Ok(body) = body.collect().await else { return ApiError::internal("no answer").into_response() };
        let value: Option<Value> = serde_json::from_slice(&body.to_bytes()).ok();
        let Some(bytes) = value.and_then(|value| self.bytes(&value)) else {
            return ApiError::not_acceptable().into_response();
        };
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media_type()));
        Response::from_parts(parts, Body::from(bytes))
    }
}

fn yaml(value: &Value) -> Option<String> {
    let options = serde_saphyr::ser_options! { compact_list_indent: true, prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(value, options).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn accepted(text: &'static str) -> Encoding {
        Encoding::accepted(&[(header::ACCEPT, HeaderValue::from_static(text))].into_iter().collect())
    }

    #[test]
    fn json_is_given_wherever_it_is_taken() {
        assert_eq!(accepted("application/vnd.kubernetes.protobuf,application/json"), Encoding::Json);
        assert_eq!(accepted("application/vnd.kubernetes.protobuf"), Encoding::Protobuf);
        assert_eq!(accepted("application/yaml;q=1, */*"), Encoding::Yaml);
        assert_eq!(accepted("text/css"), Encoding::Json);
        assert_eq!(Encoding::accepted(&HeaderMap::new()), Encoding::Json);
    }

    #[test]
    fn texts_that_look_like_something_else_stay_texts() {
        let texts =
            ["no", "~", "null", "1e3", "0x1f", "2020-01-01", "a: b", " x", "*x", "", "a\nb\n", "- a", "#"];
        let value = json!({"texts": texts, "list": [{"a": 1, "b": [true, null]}, {}], "empty": []});
        let text = yaml(&value).unwrap();
        assert_eq!(crate::verbs::decode_yaml(text.as_bytes()).unwrap(), value, "{text}");
        assert!(text.contains("list:\n- a: 1\n"), "{text}");
    }
}
