//! From a request to an answer.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderValue, Method, header};
use http_body_util::{BodyExt as _, Limited};
use hyper::upgrade::OnUpgrade;
use maar_machinery::duplicates::duplicate_fields;
use serde_json::{Map, Value};

use super::encoding::{Encoding, YAML};
use super::respond::{self, Answer};
use super::{Caller, Server, delete_options};
use crate::metrics;
use crate::protobuf;
use crate::request::{self, Query, Route, Target, WriteOptions};
use crate::resource::{Resource, Subresource, transient};
use crate::status::{ApiError, add_warnings};
use crate::store::Key;
use crate::verbs::{
    ListOptions, Page, PatchBody, WatchOptions, Written, decode_body, decode_yaml, yaml_keys_twice,
};

/// The largest body accepted, as kube-apiserver has it.
const BODY_LIMIT: usize = 3 << 20;

/// Everything the API server answers.
pub(crate) fn router(server: Arc<Server>) -> Router {
    Router::new().fallback(serve).with_state(server)
}

async fn serve(State(server): State<Arc<Server>>, request: Request) -> Response {
    let encoding = Encoding::accepted(request.headers());
    let uri = (encoding != Encoding::Json).then(|| request.uri().clone());
    let answer = server.handle(request).await.unwrap_or_else(ApiError::into_response);
    match uri {
        Some(uri) => encoding.encode(&uri, answer).await,
        None => answer,
    }
}

/// A request for objects after routing: what every verb needs.
pub(crate) struct Call<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) resource: Arc<Resource>,
    pub(crate) target: &'a Target,
    pub(crate) query: &'a Query,
    pub(crate) parts: &'a Parts,
}

impl Call<'_> {
    /// The key of the object named in the path.
    pub(crate) fn key(&self) -> Key {
        Key::new(&self.resource.table, &self.target.namespace, &self.target.name)
    }

    fn namespace(&self) -> Option<&str> {
        Some(self.target.namespace.as_str()).filter(|namespace| !namespace.is_empty())
    }

    fn subresource(&self) -> Result<Option<Subresource>, ApiError> {
        if self.target.subresource.is_empty() {
            return Ok(None);
        }
        let known = self.resource.subresources.iter().find(|sub| sub.name() == self.target.subresource);
        known.copied().map(Some).ok_or_else(|| {
            if self.resource.is_custom() {
                ApiError::not_found(&self.resource, &self.target.name)
            } else {
                ApiError::no_such_path()
            }
        })
    }
}

impl Server {
    async fn handle(self: &Arc<Self>, request: Request) -> Result<Response, ApiError> {
        let (mut parts, mut body) = request.into_parts();
        let caller = self.authenticate(&parts)?;
        let mut query = Query::parse(parts.uri.query());
        match request::route(parts.uri.path()) {
            Route::Other(path) => {
                self.authorize_path(&caller, &parts.method, &path)?;
                let api = ["/version", "/api", "/apis"].iter().any(|api| {
                    path.strip_prefix(api).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                });
                if api && !matches!(parts.method, Method::GET | Method::HEAD) {
                    return Err(ApiError::method_not_allowed());
                }
                let document = self.document(&path, &parts);
                document.or_else(|error| {
                    let group = path.strip_prefix("/apis/").and_then(|rest| rest.split_once('/'));
                    let known = group.is_some_and(|(group, _)| builtin_group(group));
                    if error.is_not_found() && !known { Ok(respond::no_such_page()) } else { Err(error) }
                })
            }
            Route::Resource(mut target) => {
                if target.watching && parts.method == Method::GET {
                    query.turn_into_watch(&std::mem::take(&mut target.name));
                }
                let verb = request::verb(&parts.method, &target, &query);
                self.authorize(&caller, verb, &target, &query)?;
                if let Some(kind) = request::options_kind(&parts.method) {
                    request::check_write_options(&query, kind)?;
                }
                if content_type(&parts).starts_with(protobuf::MEDIA_TYPE) && target.subresource != "proxy" {
                    body = protobuf::decode(&read_body(body).await?)?.to_string().into();
                    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
                }
                if let Some(what) = transient(&target.group, &target.version, &target.resource) {
                    if parts.method != Method::POST || !target.name.is_empty() {
                        return Err(ApiError::method_not_allowed());
                    }
                    let body = read_body(body).await?;
                    return self.on_transient(what, &caller, &target, &query, &body).await;
                }
                if target.group == metrics::GROUP && self.has_metrics() {
                    return self.on_metrics(&parts.method, &target, &query).await;
                }
                if !self.serves(&target.group, &target.version) {
                    return if builtin_group(&target.group) {
                        Err(ApiError::no_such_path())
                    } else {
                        Ok(respond::no_such_page())
                    };
                }
                let resource = self.resource(&target.group, &target.version, &target.resource)?;
                // Taken out because an upgrade needs to own it.
                let upgrade = parts.extensions.remove::<OnUpgrade>();
                let call = Call { caller: &caller, resource, target: &target, query: &query, parts: &parts };
                let result = self.dispatch(&call, body, upgrade).await;
                Ok(respond::with_deprecation(&call.resource, result.unwrap_or_else(ApiError::into_response)))
            }
        }
    }

    async fn dispatch(
        self: &Arc<Self>,
        call: &Call<'_>,
        body: Body,
        upgrade: Option<OnUpgrade>,
    ) -> Result<Response, ApiError> {
        let Target { namespace, name, rest, subresource, .. } = call.target;
        if call.resource.namespaced && namespace.is_empty() && !name.is_empty() {
            return Err(ApiError::no_such_path());
        }
        if !call.resource.namespaced && !namespace.is_empty() {
            if call.resource.is_custom() {
                return Ok(respond::no_such_page());
            }
            return Err(ApiError::no_such_path());
        }
        if name.contains('%') {
            return Err(ApiError::bad_request(format!("name may not contain '%': {name:?}")));
        }
        if !rest.is_empty() && subresource != "proxy" {
            return Err(ApiError::no_such_path());
        }
        match call.subresource()? {
            None if call.target.name.is_empty() => self.on_collection(call, body).await,
            None => self.on_object(call, None, body).await,
            Some(Subresource::Status) => self.on_object(call, Some(Subresource::Status), body).await,
            Some(other) => self.on_subresource(call, other, body, upgrade).await,
        }
    }

    async fn on_collection(self: &Arc<Self>, call: &Call<'_>, body: Body) -> Result<Response, ApiError> {
        let Call { caller, resource, query, .. } = call;
        let watch = query.flag("watch").unwrap_or(false);
        let list = !watch && call.parts.method != Method::POST;
        let form = request::accepted_form(&call.parts.headers, list)?;
        match call.parts.method {
            Method::GET if watch && Encoding::accepted(&call.parts.headers) != Encoding::Json => {
                Err(ApiError::not_acceptable())
            }
            Method::GET if watch => {
                let options = WatchOptions::parse(resource, call.namespace(), query)?;
                let stream = self.watch(resource, options)?;
                Ok(respond::watch(Arc::clone(resource), stream, self.renderer(call, form)?))
            }
            Method::GET => {
                let page = self.list(resource, call.namespace(), &ListOptions::parse(resource, query)?)?;
                Ok(respond::list(resource, page, &self.renderer(call, form)?))
            }
            Method::POST => {
                if resource.namespaced && call.target.namespace.is_empty() {
                    return Err(ApiError::method_not_allowed());
                }
                let options = WriteOptions::parse(query)?;
                let (object, twice) = self.read_object(call, body, &options).await?;
                let written = self.create(caller, resource, &call.target.namespace, object, &options).await;
                Ok(respond::object(resource, &warned(written, twice)?.into(), &self.renderer(call, form)?))
            }
            // Namespaces go one by one, and what is in them namespace by namespace.
            Method::DELETE if resource.is("namespaces") => Err(ApiError::method_not_allowed()),
            Method::DELETE if resource.namespaced && call.target.namespace.is_empty() => {
                Err(ApiError::method_not_allowed())
            }
            Method::DELETE => {
                let options = delete_options::read(call, body).await?;
                let warnings = options.warnings(resource);
                let selection = ListOptions::parse(resource, query)?;
                let rows =
                    self.delete_collection(caller, resource, call.namespace(), &selection, &options).await;
                let rows = rows.map_err(|error| error.warned(warnings.clone()))?;
                let page = Page { revision: self.store.revision(), rows, next: None, remaining: None };
                let mut response = respond::list(resource, page, &self.renderer(call, form)?);
                add_warnings(&mut response, &warnings);
                Ok(response)
            }
            _ => Err(ApiError::method_not_allowed()),
        }
    }

    pub(crate) async fn on_object(
        self: &Arc<Self>,
        call: &Call<'_>,
        subresource: Option<Subresource>,
        body: Body,
    ) -> Result<Response, ApiError> {
        let Call { caller, resource, query, .. } = call;
        let renderer = self.renderer(call, request::accepted_form(&call.parts.headers, false)?)?;
        let key = call.key();
        match call.parts.method {
            Method::GET => {
                let entry = self.get_since(resource, &key, query)?;
                Ok(respond::object(resource, &Answer::found(entry), &renderer))
            }
            Method::PUT => {
                let options = WriteOptions::parse(query)?;
                let (object, twice) = self.read_object(call, body, &options).await?;
                let written = self.update(caller, resource, &key, subresource, object, &options).await;
                Ok(respond::object(resource, &warned(written, twice)?.into(), &renderer))
            }
            Method::PATCH => {
                let options = WriteOptions::parse(query)?;
                let body = read_body(body).await?;
                let patch = PatchBody::decode(content_type(call.parts), &body)?;
                let twice = match &patch {
                    PatchBody::Merge(_) | PatchBody::Strategic(_) => duplicate_fields(&body),
                    PatchBody::Json(_) | PatchBody::Apply(_) => Vec::new(),
                };
                let twice = match &patch {
                    PatchBody::Apply(_) => options.field_validation.judge_yaml(yaml_keys_twice(&body))?,
                    _ => options
                        .field_validation
                        .judge(&twice)
                        .map_err(|error| ApiError::invalid_patch(error.message))?,
                };
                let written = self.patch(caller, resource, &key, subresource, &patch, &options).await;
                Ok(respond::object(resource, &warned(written, twice)?.into(), &renderer))
            }
            Method::DELETE if subresource.is_none() => {
                let options = delete_options::read(call, body).await?;
                let warnings = options.warnings(resource);
                let deleted = self.delete(caller, resource, &key, &options).await;
                let mut deleted = deleted.map_err(|error| error.warned(warnings.clone()))?;
                deleted.warnings.splice(0..0, warnings);
                Ok(respond::deleted(resource, &deleted, &renderer))
            }
            _ if resource.is_custom() && subresource.is_some() => {
                let verb = request::verb(&call.parts.method, call.target, query);
                Err(ApiError::verb_not_supported(resource, verb))
            }
            _ => Err(ApiError::method_not_allowed()),
        }
    }

    /// The answer to a write, in the form the client asked for.
    pub(crate) fn answer(self: &Arc<Self>, call: &Call<'_>, written: Written) -> Result<Response, ApiError> {
        let renderer = self.renderer(call, request::accepted_form(&call.parts.headers, false)?)?;
        Ok(respond::object(&call.resource, &written.into(), &renderer))
    }

    /// The object in a body, and what to warn about because it was given twice.
    async fn read_object(
        &self,
        call: &Call<'_>,
        body: Body,
        options: &WriteOptions,
    ) -> Result<(Value, Vec<String>), ApiError> {
        let media = content_type(call.parts);
        let body = read_body(body).await?;
        match media.split(';').next().unwrap_or_default().trim() {
            "" | "application/json" => {
                let mut object = decode_body(&body)?;
                // Nothing is an object of which nothing is said.
                if object.is_null() {
                    object = Value::Object(Map::new());
                }
                Ok((object, options.field_validation.judge(&duplicate_fields(&body))?))
            }
            YAML => Ok((decode_yaml(&body)?, options.field_validation.judge_yaml(yaml_keys_twice(&body))?)),
            other => Err(ApiError::unsupported_media_type(format!(
                "the body of the request was in an unknown format ({other:?}) - accepted media types include: \
                 application/json, application/yaml"
            ))),
        }
    }
}

/// A result with warnings that were found before; refusals have them too.
fn warned(result: Result<Written, ApiError>, mut warnings: Vec<String>) -> Result<Written, ApiError> {
    match result {
        Ok(mut written) => {
            warnings.append(&mut written.warnings);
            Ok(Written { warnings, ..written })
        }
        Err(error) => Err(error.warned(warnings)),
    }
}

pub(crate) fn content_type(parts: &Parts) -> &str {
    parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

pub(crate) async fn read_body(body: Body) -> Result<bytes::Bytes, ApiError> {
    let collected = Limited::new(body, BODY_LIMIT).collect().await.map_err(|error| {
        if error.is::<http_body_util::LengthLimitError>() {
            ApiError::new(413, "RequestEntityTooLarge", format!("the body is larger than {BODY_LIMIT} bytes"))
        } else {
            ApiError::bad_request(format!("reading the body failed: {error}"))
        }
    })?;
    Ok(collected.to_bytes())
}

/// Whether the group is built in, whatever its version.
fn builtin_group(group: &str) -> bool {
    crate::resource::builtins().iter().any(|fact| fact.group == group)
}
