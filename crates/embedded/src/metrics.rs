//! `metrics.k8s.io`: what nodes and Pods use right now, for `kubectl top`.
//!
//! A real cluster has a metrics server that asks every kubelet from time to time. Here the question goes to the
//! kubelets (`/stats/summary`) when somebody asks, and nothing is stored. Without kubelets the group does not exist.

mod usage;

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::response::Response;
use futures::StreamExt as _;
use http::{Method, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use maar_machinery::selector::LabelSelector;
use serde_json::{Value, json};

use crate::request::{Query, Target};
use crate::server::{Server, respond_value};
use crate::status::ApiError;
use crate::store::Entry;

/// The group and version.
pub(crate) const GROUP: &str = "metrics.k8s.io";
pub(crate) const VERSION: &str = "v1beta1";
/// The resources with their kinds, and whether they are in namespaces.
pub(crate) const RESOURCES: [(&str, &str, bool); 2] =
    [("nodes", "NodeMetrics", false), ("pods", "PodMetrics", true)];

/// How many kubelets are asked at the same time.
const AT_ONCE: usize = 32;
/// The most that a kubelet may have to say.
const LONGEST_SUMMARY: usize = 16 << 20;

impl Server {
    /// Whether there is anybody to ask.
    pub(crate) fn has_metrics(&self) -> bool {
        self.kubelets.read().is_some()
    }

    pub(crate) async fn on_metrics(
        self: &Arc<Self>,
        method: &Method,
        target: &Target,
        query: &Query,
    ) -> Result<Response, ApiError> {
        let known = RESOURCES.iter().find(|(plural, ..)| *plural == target.resource);
        let Some((plural, kind, _)) = known.filter(|_| self.has_metrics() && target.version == VERSION)
        else {
            return Err(ApiError::no_such_path());
        };
        if method != Method::GET || query.flag("watch").unwrap_or(false) || !target.subresource.is_empty() {
            return Err(ApiError::method_not_allowed());
        }
        let found = self.select(target, query)?;
        let mut items = self.measure(&found, *plural == "nodes").await;
        let value = if target.name.is_empty() {
            json!({
                "kind": format!("{kind}List"),
                "apiVersion": format!("{GROUP}/{VERSION}"),
                "metadata": {},
                "items": items,
            })
        } else {
            let nothing = || {
                let message = format!("{plural}.{GROUP} {:?} not found", target.name);
                ApiError::new(404, "NotFound", message)
            };
            items.pop().ok_or_else(nothing)?
        };
        Ok(respond_value(StatusCode::OK, &value))
    }

    /// The nodes or Pods that are meant.
    fn select(&self, target: &Target, query: &Query) -> Result<Vec<Arc<Entry>>, ApiError> {
        let labels = query.text("labelSelector").map(LabelSelector::parse).transpose();
        let labels = labels
            .map_err(|error| ApiError::bad_request(format!("unable to parse labelSelector: {error}")))?;
        let namespace = Some(target.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        let mut found = self.store.list(&target.resource, namespace).rows;
        found.retain(|entry| {
            (target.name.is_empty() || *entry.meta.name == *target.name)
                && labels.as_ref().is_none_or(|selector| selector.matches(&entry.meta))
        });
        Ok(found)
    }

    async fn measure(self: &Arc<Self>, found: &[Arc<Entry>], of_nodes: bool) -> Vec<Value> {
        let objects: Vec<Value> = found.iter().map(|entry| entry.value()).collect();
        let name_of_node = |object: &Value| {
            let name = if of_nodes { &object["metadata"]["name"] } else { &object["spec"]["nodeName"] };
            name.as_str().filter(|name| !name.is_empty()).map(ToOwned::to_owned)
        };
        let nodes: BTreeSet<String> = objects.iter().filter_map(name_of_node).collect();
        let asking = nodes.into_iter().map(|node| async move { (self.summary(&node).await, node) });
        let summaries: Vec<(Option<Value>, String)> =
            futures::stream::iter(asking).buffered(AT_ONCE).collect().await;
        let summary_of = |object: &Value| {
            let node = name_of_node(object)?;
            summaries.iter().find(|(_, name)| *name == node)?.0.as_ref()
        };
        let metrics = |object: &Value| {
            let summary = summary_of(object)?;
            if of_nodes { usage::of_node(object, summary) } else { usage::of_pod(object, summary) }
        };
        objects.iter().filter_map(metrics).collect()
    }

    /// What a node's kubelet measures now; nothing if it does not answer.
    async fn summary(&self, node: &str) -> Option<Value> {
        let response = self.ask_kubelet(node, "/stats/summary").await.ok()?;
        if response.status() != StatusCode::OK {
            return None;
        }
        let body = Limited::new(response.into_body(), LONGEST_SUMMARY).collect().await.ok()?;
        serde_json::from_slice(&body.to_bytes()).ok()
    }
}
