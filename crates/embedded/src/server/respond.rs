//! Answers: objects, lists and watches as JSON, as tables for people, or as metadata only.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::{BufMut as _, Bytes, BytesMut};
use futures::stream;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use super::Server;
use super::handler::Call;
use crate::cluster::Gather;
use crate::hooks::{from_storage, is_storage_form};
use crate::request::Form;
use crate::resource::Resource;
use crate::status::{ApiError, add_warnings};
use crate::store::Entry;
use crate::table::{self, IncludeObject};
use crate::verbs::{Deleted, Page, WatchEvent, WatchStream, Written};
use crate::world::World;

/// Answers are put together in pieces of about this size, so that a large list streams.
const PIECE: usize = 128 << 10;

/// An object to answer with.
#[derive(Debug)]
pub(crate) struct Answer {
    entry: Arc<Entry>,
    code: StatusCode,
    warnings: Vec<String>,
}

impl Answer {
    pub(crate) fn found(entry: Arc<Entry>) -> Self {
        Self { entry, code: StatusCode::OK, warnings: Vec::new() }
    }
}

impl From<Written> for Answer {
    fn from(written: Written) -> Self {
        let code = if written.created { StatusCode::CREATED } else { StatusCode::OK };
        Self { entry: written.entry, code, warnings: written.warnings }
    }
}

/// How the objects of one answer are shown.
#[derive(Clone, Debug)]
pub(crate) struct Renderer {
    form: Form,
    include: IncludeObject,
    world: World,
}

impl Server {
    pub(crate) fn renderer(&self, call: &Call<'_>, form: Form) -> Result<Renderer, ApiError> {
        let include = IncludeObject::parse(call.query.text("includeObject"))?;
        Ok(Renderer { form, include, world: self.world.clone() })
    }
}

impl Renderer {
    /// The Scale of an object.
    pub(crate) fn scale(&self, resource: &Resource, scale: &Value) -> Response {
        let now = self.world.clock.now();
        match self.form {
            Form::Object => value(StatusCode::OK, scale),
            Form::Metadata => value(StatusCode::OK, &metadata_only(scale)),
            Form::Table => {
                value(StatusCode::OK, &table::scale(scale, resource.is_custom(), self.include, now))
            }
        }
    }

    /// One object as bytes.
    fn object(&self, resource: &Resource, entry: &Entry) -> Bytes {
        match self.form {
            Form::Object if is_storage_form(resource) => entry.json.clone(),
            Form::Object => from_storage(resource, entry.value()).to_string().into(),
            Form::Metadata => metadata_only(&from_storage(resource, entry.value())).to_string().into(),
            Form::Table => self
                .table(
                    resource,
                    &[from_storage(resource, entry.value())],
                    &json!({
                        "resourceVersion": entry.revision.to_string(),
                    }),
                    true,
                )
                .to_string()
                .into(),
        }
    }

    fn table(&self, resource: &Resource, objects: &[Value], metadata: &Value, headings: bool) -> Value {
        table::render(resource, objects, metadata, self.include, headings, self.world.clock.now())
    }
}

pub(crate) fn object(resource: &Resource, answer: &Answer, renderer: &Renderer) -> Response {
    let mut response = json_response(answer.code, Body::from(renderer.object(resource, &answer.entry)));
    add_warnings(&mut response, &answer.warnings);
    response
}

/// A JSON value as an answer.
pub(crate) fn value(code: StatusCode, value: &Value) -> Response {
    json_response(code, Body::from(value.to_string()))
}

fn json_response(code: StatusCode, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Says that a version of a kind is on its way out, where it is.
pub(crate) fn with_deprecation(resource: &Resource, mut response: Response) -> Response {
    if let Some(warning) = resource.deprecation() {
        add_warnings(&mut response, &[warning]);
    }
    response
}

/// 404 as a web server gives it, for paths where no API is.
pub(crate) fn no_such_page() -> Response {
    let mut response = Response::new(Body::from("404 page not found\n"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

/// Kinds whose deletion answers with the object, as kube-apiserver does for these.
const ANSWER_WITH_OBJECT: &[&str] = &[
    "pods",
    "services",
    "serviceaccounts",
    "persistentvolumes",
    "persistentvolumeclaims",
    "podtemplates",
    "resourcequotas",
    "namespaces",
    "storageclasses.storage.k8s.io",
    "csidrivers.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "volumeattachments.storage.k8s.io",
];

pub(crate) fn deleted(resource: &Resource, deleted: &Deleted, renderer: &Renderer) -> Response {
    let with_object = !resource.is_custom() && ANSWER_WITH_OBJECT.contains(&&*resource.table);
    if !deleted.gone || with_object {
        let mut answer = Answer::found(Arc::clone(&deleted.entry));
        answer.warnings.clone_from(&deleted.warnings);
        return object(resource, &answer, renderer);
    }
    let mut status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": deleted.entry.meta.name, "kind": resource.plural, "uid": deleted.entry.meta.uid},
    });
    if !resource.group.is_empty() {
        status["details"]["group"] = json!(resource.group);
    }
    let mut response = value(StatusCode::OK, &status);
    add_warnings(&mut response, &deleted.warnings);
    response
}

pub(crate) fn list(resource: &Resource, page: Page, renderer: &Renderer) -> Response {
    let mut metadata = json!({"resourceVersion": page.revision.to_string()});
    // Lists of custom kinds say that nothing follows, those of built-in ones do not mention it.
    if resource.is_custom() && renderer.form == Form::Object {
        metadata["continue"] = json!("");
    }
    if let Some(next) = &page.next {
        metadata["continue"] = json!(next);
    }
    if let Some(remaining) = page.remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    if renderer.form == Form::Table {
        let objects: Vec<Value> =
            page.rows.iter().map(|entry| from_storage(resource, entry.value())).collect();
        return value(StatusCode::OK, &renderer.table(resource, &objects, &metadata, true));
    }
    let (kind, api_version) = match renderer.form {
        Form::Metadata => ("PartialObjectMetadataList", "meta.k8s.io/v1".to_owned()),
        _ => (resource.list_kind.as_str(), resource.api_version()),
    };
    let head = format!(
        r#"{{"kind":{},"apiVersion":{},"metadata":{metadata},"items":["#,
        json!(kind),
        json!(api_version)
    );
    let pieces = Pieces {
        head: Some(head),
        rows: page.rows.into_iter(),
        // Items of built-in lists carry no type of their own; those of custom kinds do.
        typed: resource.is_custom() || renderer.form == Form::Metadata || !is_storage_form(resource),
        first: true,
        done: false,
        resource: resource.clone(),
        renderer: renderer.clone(),
    };
    json_response(
        StatusCode::OK,
        Body::from_stream(stream::iter(pieces.map(Ok::<_, std::convert::Infallible>))),
    )
}

/// The body of a list, made while it is sent.
struct Pieces {
    head: Option<String>,
    rows: std::vec::IntoIter<Arc<Entry>>,
    typed: bool,
    first: bool,
    done: bool,
    resource: Resource,
    renderer: Renderer,
}

impl Iterator for Pieces {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.done {
            return None;
        }
        let mut piece = BytesMut::with_capacity(PIECE + (8 << 10));
        if let Some(head) = self.head.take() {
            piece.put_slice(head.as_bytes());
        }
        while piece.len() < PIECE {
            let Some(entry) = self.rows.next() else {
                piece.put_slice(b"]}\n");
                self.done = true;
                break;
            };
            if !std::mem::take(&mut self.first) {
                piece.put_u8(b',');
            }
            if self.typed {
                piece.put_slice(&self.renderer.object(&self.resource, &entry));
            } else {
                piece.put_u8(b'{');
                piece.put_slice(&entry.body());
            }
        }
        Some(piece.freeze())
    }
}

pub(crate) fn watch(resource: Arc<Resource>, stream: WatchStream, renderer: Renderer) -> Response {
    let state = (resource, stream, renderer, true);
    let body = stream::unfold(state, |(resource, mut stream, renderer, first)| async move {
        let events = stream.next().await?;
        let render = |(index, event)| event_parts(&resource, event, &renderer, first && index == 0);
        let lines = event_lines(events.iter().enumerate().map(render).collect());
        Some((Ok::<_, std::convert::Infallible>(lines), (resource, stream, renderer, false)))
    });
    let mut response = json_response(StatusCode::OK, Body::from_stream(body));
    response.extensions_mut().insert(Gather);
    response
}

/// The type of an event and the object in it.
fn event_parts(
    resource: &Resource,
    event: &WatchEvent,
    renderer: &Renderer,
    headings: bool,
) -> (&'static str, Bytes) {
    match event {
        WatchEvent::Added(entry) => ("ADDED", renderer.watched(resource, entry, headings)),
        WatchEvent::Modified(entry) => ("MODIFIED", renderer.watched(resource, entry, headings)),
        WatchEvent::Deleted(entry) => ("DELETED", renderer.watched(resource, entry, headings)),
        WatchEvent::Bookmark(revision, initial) => {
            ("BOOKMARK", bookmark(resource, *revision, *initial, renderer.form).to_string().into())
        }
        WatchEvent::Failed(error) => ("ERROR", error.status().to_string().into()),
    }
}

/// Bytes left free before the lines of a watch. TLS copies them to a few bytes behind the start of a block; had they
/// been at the start of theirs, the copy would go to slightly ahead of its source (modulo 4096), for which memmove has a path that is
/// many times slower on some processors (a ninth of the server's time in a fan-out).
const GAP: usize = 256;

/// One line per event. Measured before it is written: a buffer that grows costs several times what filling it does.
fn event_lines(events: Vec<(&'static str, Bytes)>) -> Bytes {
    let pieces = |(kind, object): &(&'static str, Bytes)| 24 + kind.len() + object.len();
    let mut lines = BytesMut::with_capacity(GAP + events.iter().map(pieces).sum::<usize>());
    lines.put_bytes(0, GAP);
    for (kind, object) in events {
        lines.put_slice(br#"{"type":""#);
        lines.put_slice(kind.as_bytes());
        lines.put_slice(br#"","object":"#);
        lines.put_slice(&object);
        lines.put_slice(b"}\n");
    }
    lines.freeze().slice(GAP..)
}

impl Renderer {
    /// One object of a watch: a table shows its headings only in the first event.
    fn watched(&self, resource: &Resource, entry: &Entry, headings: bool) -> Bytes {
        if self.form != Form::Table {
            return self.object(resource, entry);
        }
        let metadata = json!({"resourceVersion": entry.revision.to_string()});
        self.table(resource, &[from_storage(resource, entry.value())], &metadata, headings).to_string().into()
    }
}

fn bookmark(resource: &Resource, revision: u64, initial: bool, form: Form) -> Value {
    let mut metadata = json!({"resourceVersion": revision.to_string(), "creationTimestamp": null});
    if initial {
        metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    match form {
        Form::Object => {
            json!({"kind": resource.kind, "apiVersion": resource.api_version(), "metadata": metadata})
        }
        Form::Metadata => {
            json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
        }
        Form::Table => json!({
            "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
            "columnDefinitions": [], "rows": [],
        }),
    }
}

/// Type and metadata of an object.
pub(crate) fn metadata_only(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata").cloned().unwrap_or_default(),
    })
}
