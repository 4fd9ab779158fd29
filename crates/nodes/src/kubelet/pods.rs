//! `/pods`: the Pods of a node as the API shows them.

use axum::{
    Json,
    extract::{Extension, Query, State},
};
use kube::{Api, api::ListParams};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Kubelet, Scope};
use crate::{
    console::{Console, ConsoleError},
    pod::PodObject,
    runtime::Runtime,
};

/// Which node, where a connection is for several.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Which {
    pub(super) node: Option<String>,
}

impl<R: Runtime, C> Kubelet<R, C> {
    /// The names of the nodes that a request is about.
    pub(super) fn nodes(
        &self,
        scope: &Scope,
        which: &Which,
    ) -> Result<Vec<std::sync::Arc<str>>, ConsoleError> {
        let table = self.table.lock();
        let missing = |name: &str| ConsoleError::NotFound(format!("this kubelet serves no node {name:?}"));
        match (scope, &which.node) {
            (Scope::Node(own), Some(name)) if **own != **name => Err(missing(name)),
            (Scope::Node(own), _) => Ok(vec![own.clone()]),
            (Scope::All, Some(name)) => {
                let node = table.nodes.get(name.as_str()).ok_or_else(|| missing(name))?;
                if node.failures.network {
                    return Err(ConsoleError::Unreachable(format!("no route to node {name}")));
                }
                Ok(vec![node.name.clone()])
            }
            (Scope::All, None) => {
                let reached = table.nodes.values().filter(|node| !node.failures.network);
                Ok(reached.map(|node| node.name.clone()).collect())
            }
        }
    }
}

/// Nothing of a Pod's specification is kept here, so the API is asked.
pub(super) async fn list<R: Runtime, C: Console>(
    State(kubelet): State<Kubelet<R, C>>,
    Extension(scope): Extension<Scope>,
    Query(which): Query<Which>,
) -> Result<Json<Value>, ConsoleError> {
    let api = Api::<PodObject>::all(kubelet.client.clone());
    let mut items = Vec::new();
    for node in kubelet.nodes(&scope, &which)? {
        let parameters = ListParams::default().fields(&format!("spec.nodeName={node}"));
        let pods = api.list(&parameters).await.map_err(|error| ConsoleError::Internal(error.to_string()))?;
        items.extend(pods.items);
    }
    Ok(Json(json!({ "kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items })))
}
