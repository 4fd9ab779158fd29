//! OpenAPI: what clients such as `kubectl explain` and `kubectl apply` learn about kinds.
//!
//! Documents are made when somebody asks for one, and again only when the resources they describe have changed:
//! a group version's document stays as long as exactly the same resources are served. `assemble` puts documents
//! together from `paths` (calls, worded by `operation`) and machinery's definitions.

mod assemble;
mod operation;
mod paths;
mod protobuf;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use assemble::Served;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha512};

use crate::request::Query;
use crate::resource::Registry;
use crate::server::Server;
use crate::status::ApiError;

const JSON: &str = "application/json";
const SWAGGER_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
/// The same in a name that is a valid media type: the one to answer with, because clients parse it.
const VALID_SWAGGER_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// A document ready to be sent.
#[derive(Clone, Debug)]
struct Document {
    bytes: Bytes,
    hash: String,
}

impl Document {
    fn new(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let mut hash = String::with_capacity(128);
        for byte in Sha512::digest(&bytes) {
            // Writing to a string cannot fail.
            let _ = write!(hash, "{byte:02X}");
        }
        Self { bytes, hash }
    }
}

/// Documents made so far, with what each was made of.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    version_three: Mutex<BTreeMap<(String, String), (Served, Document)>>,
    version_two: Mutex<Option<(Arc<Registry>, Swagger)>>,
}

/// The Swagger document in both of its forms.
#[derive(Clone, Debug)]
struct Swagger {
    json: Document,
    protobuf: Document,
}

impl Server {
    pub(super) fn openapi(&self, path: &str, parts: &Parts) -> Result<Response, ApiError> {
        match path.trim_start_matches("/openapi/") {
            "v2" => self.openapi_two(parts),
            "v3" => {
                negotiate(&parts.headers, &[JSON])?;
                Ok(send(&self.openapi_index(), JSON, &parts.headers))
            }
            other => {
                let place = other.strip_prefix("v3/").ok_or_else(ApiError::no_such_path)?;
                self.openapi_three(place, parts)
            }
        }
    }

    /// Every group version with resources, core first.
    fn served(&self) -> BTreeMap<(String, String), Served> {
        let registry = self.registry();
        let core = (String::new(), "v1".to_owned());
        let group_versions = std::iter::once(core).chain(self.group_versions());
        group_versions
            .map(|(group, version)| {
                let resources = registry
                    .iter()
                    .filter(|it| it.group == group && it.version == version)
                    .cloned()
                    .collect();
                let served = Served::new(resources, &group, &version);
                ((group, version), served)
            })
            // Metrics have no objects to describe.
            .filter(|(_, served)| !served.is_empty())
            .collect()
    }

    fn openapi_index(&self) -> Document {
        let served = self.served();
        let mut made = self.openapi.version_three.lock();
        made.retain(|name, _| served.contains_key(name));
        let paths: BTreeMap<String, Value> = served
            .into_iter()
            .map(|(name, served)| {
                let place = place_of(&name);
                let hash = make(&mut made, name, served).hash;
                (place.clone(), json!({"serverRelativeURL": format!("/openapi/v3/{place}?hash={hash}")}))
            })
            .collect();
        Document::new(json!({"paths": paths}).to_string())
    }

    fn openapi_three(&self, place: &str, parts: &Parts) -> Result<Response, ApiError> {
        let found = self.served().into_iter().find(|(name, _)| place_of(name) == place);
        let (name, served) = found.ok_or_else(ApiError::no_such_path)?;
        negotiate(&parts.headers, &[JSON])?;
        let document = make(&mut self.openapi.version_three.lock(), name, served);
        let query = Query::parse(parts.uri.query());
        let Some(asked) = query.text("hash") else { return Ok(send(&document, JSON, &parts.headers)) };
        if asked != document.hash {
            return Ok(moved(&format!("/openapi/v3/{place}?hash={}", document.hash)));
        }
        let mut response = send(&document, JSON, &parts.headers);
        // What has this hash never changes, so it may be kept for as long as HTTP allows: a year.
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
        if let Ok(value) = HeaderValue::from_str(&in_a_year(self.world.clock.now())) {
            headers.insert(header::EXPIRES, value);
        }
        Ok(response)
    }

    fn openapi_two(&self, parts: &Parts) -> Result<Response, ApiError> {
        let media = negotiate(&parts.headers, &[JSON, SWAGGER_PROTOBUF, VALID_SWAGGER_PROTOBUF])?;
        let registry = self.registry();
        let mut made = self.openapi.version_two.lock();
        let swagger = match &*made {
            Some((of, swagger)) if Arc::ptr_eq(of, &registry) => swagger.clone(),
            _ => {
                let served: Vec<Served> = self.served().into_values().collect();
                let document = assemble::version_two(&served);
                let swagger = Swagger {
                    json: Document::new(document.to_string()),
                    protobuf: Document::new(protobuf::encode(&document)),
                };
                *made = Some((registry, swagger.clone()));
                swagger
            }
        };
        drop(made);
        Ok(match media {
            JSON => send(&swagger.json, JSON, &parts.headers),
            _ => send(&swagger.protobuf, VALID_SWAGGER_PROTOBUF, &parts.headers),
        })
    }
}

fn place_of((group, version): &(String, String)) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn make(
    made: &mut BTreeMap<(String, String), (Served, Document)>,
    name: (String, String),
    served: Served,
) -> Document {
    if let Some((of, document)) = made.get(&name)
        && of.same(&served)
    {
        return document.clone();
    }
    let document = Document::new(assemble::version_three(&served).to_string());
    made.insert(name, (served, document.clone()));
    document
}

/// The first media type that the client accepts and that is offered.
fn negotiate(headers: &HeaderMap, offered: &[&'static str]) -> Result<&'static str, ApiError> {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
    let accepted = accept.split(',').map(|choice| choice.split(';').next().unwrap_or_default().trim());
    for choice in accepted {
        let fits = |media: &&'static str| *media == choice || matches!(choice, "*/*" | "application/*" | "");
        if let Some(media) = offered.iter().copied().find(fits) {
            return Ok(media);
        }
    }
    let message = format!("only the following media types are accepted: {}", offered.join(", "));
    Err(ApiError::new(406, "NotAcceptable", message))
}

fn send(document: &Document, media: &'static str, asked: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", document.hash);
    let known = asked.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).is_some_and(|tags| {
        tags.split(',').map(str::trim).any(|known| known == "*" || known.trim_start_matches("W/") == tag)
    });
    let mut response = Response::new(if known { Body::empty() } else { Body::from(document.bytes.clone()) });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    if let Ok(value) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, value);
    }
    response
}

fn moved(to: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    if let Ok(value) = HeaderValue::from_str(to) {
        response.headers_mut().insert(header::LOCATION, value);
    }
    response
}

fn in_a_year(now: Timestamp) -> String {
    let later = now.saturating_add(SignedDuration::from_hours(365 * 24)).unwrap_or(now);
    later.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
