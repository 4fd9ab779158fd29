//! Logs and events of Pods, read from the cluster when somebody opens them.

mod manage;

use std::{cmp::Reverse, sync::Arc};

use axum::body::Body;
use bytes::Bytes;
use futures::{AsyncReadExt as _, Stream, StreamExt as _, stream::unfold};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::{
    Api, Client,
    api::{ListParams, LogParams},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    access::{Object, Verb},
    error::ApiError,
    page::{PageQuery, page},
    route::{Answer, Call},
    stream::until_denied,
};

pub(crate) use manage::{object_of, routes};

/// What kubectl keeps of all that was applied, values of the environment among it.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// How many lines at most, so that one request cannot ask for everything a program ever said.
const LINES: i64 = 100_000;
/// Events that are looked through, the newest: nobody reads more, and a program that fails again and again makes many.
const EVENTS: usize = 1000;
/// Those that stand in a description.
const DESCRIBED: usize = 200;

/// Which part of a log.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LogQuery {
    /// The last lines, 1000 if it is not said.
    tail: Option<i64>,
    /// Only what was said in the last seconds.
    since_seconds: Option<i64>,
    /// Of the container before it was started again.
    #[serde(default)]
    previous: bool,
    /// Go on as more is said.
    #[serde(default)]
    follow: bool,
    /// With the time of each line.
    #[serde(default)]
    timestamps: bool,
    /// The container; the first if it is not said.
    container: Option<String>,
}

/// The log of a Pod as text.
pub(crate) async fn logs(
    call: &Call,
    namespace: &str,
    pod: &str,
    object: Object,
) -> Result<Answer, ApiError> {
    let query: LogQuery = call.query()?;
    let tail = query.tail.unwrap_or(1000);
    if !(0..=LINES).contains(&tail) {
        return Err(ApiError::invalid("tail", format!("is between 0 and {LINES}")));
    }
    if query.since_seconds.is_some_and(|seconds| seconds < 1) {
        return Err(ApiError::invalid("sinceSeconds", "is at least 1"));
    }
    let params = LogParams {
        container: query.container,
        follow: query.follow,
        previous: query.previous,
        since_seconds: query.since_seconds,
        tail_lines: Some(tail),
        timestamps: query.timestamps,
        ..LogParams::default()
    };
    let api: Api<Pod> = Api::namespaced(call.portal.client.clone(), namespace);
    let reader = api
        .log_stream(pod, &params)
        .await
        .map_err(|error| ApiError::of_cluster(&format!("the log of Pod {pod}"), error))?;
    let denied = until_denied(Arc::clone(&call.portal), call.caller.clone(), Verb::Read, object);
    let chunks = chunks(reader).take_until(Box::pin(denied));
    Ok(Answer::stream("text/plain; charset=utf-8", Body::from_stream(chunks)))
}

fn chunks(
    reader: impl futures::AsyncRead + Send + 'static,
) -> impl Stream<Item = std::io::Result<Bytes>> + Send {
    unfold(Some(Box::pin(reader)), |reader| async move {
        let mut reader = reader?;
        let mut part = vec![0; 16 * 1024];
        match reader.read(&mut part).await {
            Ok(0) => None,
            Ok(length) => {
                part.truncate(length);
                Some((Ok(Bytes::from(part)), Some(reader)))
            }
            Err(error) => Some((Err(error), None)),
        }
    })
}

/// Something that happened.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventView {
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub(crate) event_type: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    /// What it happened to.
    pub(crate) kind: String,
    pub(crate) name: String,
    /// How often.
    pub(crate) count: i32,
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Timestamp>,
}

/// What happened to objects of a namespace, newest first, the last 1000, in pages.
pub(crate) async fn events(
    call: &Call,
    namespace: &str,
    names: &[(&str, String)],
) -> Result<Answer, ApiError> {
    let found = happened(&call.portal.client, namespace, names).await?;
    let found = page(found, &call.query::<PageQuery>()?, |(place, _)| place.clone())?;
    Answer::json(&found.map(|(_, event)| event))
}

/// The newest of them, for a description.
pub(crate) async fn newest_events(
    client: &Client,
    namespace: &str,
    names: &[(&str, String)],
) -> Result<Vec<EventView>, ApiError> {
    let found = happened(client, namespace, names).await?;
    Ok(found.into_iter().take(DESCRIBED).map(|(_, event)| event).collect())
}

/// Where an event stands in the list: by its time in microseconds, then by its name.
type Place = (Reverse<i64>, String);

async fn happened(
    client: &Client,
    namespace: &str,
    names: &[(&str, String)],
) -> Result<Vec<(Place, EventView)>, ApiError> {
    let api: Api<Event> = Api::namespaced(client.clone(), namespace);
    let mut all = Vec::new();
    for (kind, name) in names {
        let selector = format!("involvedObject.kind={kind},involvedObject.name={name}");
        let found = api.list(&ListParams::default().fields(&selector)).await;
        let found = found.map_err(|error| ApiError::of_cluster("events", error))?;
        all.extend(found.items.into_iter().map(placed));
    }
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all.truncate(EVENTS);
    Ok(all)
}

fn placed(event: Event) -> (Place, EventView) {
    let name = event.metadata.name.clone().unwrap_or_default();
    let view = event_view(event);
    let at = view.at.map_or(i64::MIN, Timestamp::as_microsecond);
    ((Reverse(at), name), view)
}

fn event_view(event: Event) -> EventView {
    let series = event.series.as_ref();
    let last = series.and_then(|series| series.last_observed_time.as_ref()).or(event.event_time.as_ref());
    let at = last.map(|time| time.0).or_else(|| event.last_timestamp.as_ref().map(|time| time.0));
    EventView {
        event_type: event.type_.unwrap_or_default(),
        reason: event.reason.unwrap_or_default(),
        message: event.message.unwrap_or_default(),
        kind: event.involved_object.kind.unwrap_or_default(),
        name: event.involved_object.name.unwrap_or_default(),
        count: series.and_then(|series| series.count).or(event.count).unwrap_or(1),
        at,
    }
}

#[cfg(test)]
impl EventView {
    /// One for tests.
    pub(crate) fn made(
        kind: &str,
        reason: &str,
        message: &str,
        of: (&str, &str),
        at: Option<Timestamp>,
    ) -> Self {
        Self {
            event_type: kind.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            kind: of.0.to_owned(),
            name: of.1.to_owned(),
            count: 1,
            at,
        }
    }
}

/// Those Pods of a namespace that are there.
pub(crate) async fn some(client: &Client, namespace: &str, names: &[String]) -> Result<Vec<Pod>, ApiError> {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let found = futures::future::try_join_all(names.iter().map(|name| api.get_opt(name))).await;
    Ok(found.map_err(|error| ApiError::of_cluster("Pods", error))?.into_iter().flatten().collect())
}

/// An object as people keep it in a file: what they said, and nothing that the cluster added.
pub(crate) fn portable<K: kube::Resource<DynamicType = ()> + Serialize>(
    object: &K,
) -> Result<String, ApiError> {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("status");
        fields.insert("apiVersion".to_owned(), K::api_version(&()).into_owned().into());
        fields.insert("kind".to_owned(), K::kind(&()).into_owned().into());
    }
    if let Some(metadata) = value.get_mut("metadata").and_then(serde_json::Value::as_object_mut) {
        metadata.retain(|field, _| matches!(field.as_str(), "name" | "labels" | "annotations"));
        if let Some(annotations) = metadata.get_mut("annotations").and_then(serde_json::Value::as_object_mut)
        {
            annotations.remove(LAST_APPLIED);
        }
    }
    serde_saphyr::to_string(&value).map_err(|error| ApiError::unavailable("writing YAML", error.to_string()))
}
