//! Paths that are not objects: discovery, OpenAPI, version, health, the issuer of tokens.

mod discovery;
mod openapi;

use std::sync::Arc;

pub(crate) use openapi::Documents;

use axum::body::Body;
use axum::response::Response;
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

use crate::identity::{CONFIGURATION, KEYS};
use crate::server::{Server, respond_value};
use crate::status::ApiError;

/// The Kubernetes version whose behaviour the embedded cluster follows.
const MINOR: u32 = 36;

impl Server {
    pub(crate) fn document(self: &Arc<Self>, path: &str, parts: &Parts) -> Result<Response, ApiError> {
        match path {
            "/version" => Ok(respond_value(StatusCode::OK, &version())),
            "/healthz" | "/livez" | "/readyz" | "/healthz/ping" | "/livez/ping" | "/readyz/ping" => {
                Ok(text("ok"))
            }
            CONFIGURATION => Ok(Self::issuer_configuration()),
            KEYS => self.issuer_keys(),
            "" => Ok(respond_value(StatusCode::OK, &self.paths())),
            path if path == "/api"
                || path == "/apis"
                || path.starts_with("/api/")
                || path.starts_with("/apis/") =>
            {
                self.discovery(path, parts)
            }
            path if path.starts_with("/openapi/") => self.openapi(path, parts),
            _ => Err(ApiError::no_such_path()),
        }
    }

    fn paths(&self) -> serde_json::Value {
        let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
        paths.extend(
            self.group_versions().into_iter().map(|(group, version)| format!("/apis/{group}/{version}")),
        );
        paths.extend(
            [CONFIGURATION, "/healthz", "/livez", "/readyz", "/openapi/v2", "/openapi/v3", KEYS, "/version"]
                .map(String::from),
        );
        json!({"paths": paths})
    }
}

fn git_version() -> String {
    format!("v1.{MINOR}.0+maar.embedded")
}

fn version() -> serde_json::Value {
    json!({
        "major": "1",
        "minor": MINOR.to_string(),
        "gitVersion": git_version(),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "rustc",
        "platform": "linux/amd64",
    })
}

fn text(body: &'static str) -> Response {
    let mut response = Response::new(Body::from(body));
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}
