//! Finding what a request is about.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header::CONTENT_TYPE};

use super::{Kubelet, Scope};
use crate::{
    console::{ConsoleError, Target},
    pod::Pod,
    table::PodEntry,
};

impl<R: crate::runtime::Runtime, C> Kubelet<R, C> {
    /// The Pod of that name on a node that the request may see.
    pub(super) fn pod(&self, scope: &Scope, namespace: &str, name: &str) -> Result<Arc<Pod>, ConsoleError> {
        self.find(scope, namespace, name, |entry| Ok(Arc::new(entry.pod.clone())))
    }

    /// A container of that Pod.
    pub(super) fn target(
        &self,
        scope: &Scope,
        namespace: &str,
        name: &str,
        container: &str,
    ) -> Result<Target, ConsoleError> {
        self.find(scope, namespace, name, |entry| {
            let position = entry.pod.template.position(container).ok_or_else(|| {
                ConsoleError::NotFound(format!(
                    "container {container:?} not found in pod \"{name}_{namespace}\""
                ))
            })?;
            let life = entry.life.containers[position].clone();
            Ok(Target { pod: Arc::new(entry.pod.clone()), position, life })
        })
    }

    /// A container of that Pod which runs.
    pub(super) fn running(
        &self,
        scope: &Scope,
        namespace: &str,
        name: &str,
        container: &str,
    ) -> Result<Target, ConsoleError> {
        let target = self.target(scope, namespace, name, container)?;
        if target.is_running() {
            return Ok(target);
        }
        Err(ConsoleError::NotFound(format!("container not found ({container:?}): it is not running")))
    }

    fn find<T>(
        &self,
        scope: &Scope,
        namespace: &str,
        name: &str,
        pick: impl FnOnce(&PodEntry) -> Result<T, ConsoleError>,
    ) -> Result<T, ConsoleError> {
        let table = self.table.lock();
        let visible = |entry: &&PodEntry| match scope {
            Scope::Node(node) => entry.pod.node == *node,
            Scope::All => true,
        };
        match table.pod_by_name(namespace, name).filter(visible) {
            Some(entry) if table.nodes.get(&entry.pod.node).is_some_and(|node| node.failures.network) => {
                Err(ConsoleError::Unreachable(format!("no route to node {}", entry.pod.node)))
            }
            Some(entry) => pick(entry),
            None => Err(ConsoleError::NotFound(format!("pod \"{name}_{namespace}\" not found"))),
        }
    }
}

/// Plain text, as a kubelet answers.
impl IntoResponse for ConsoleError {
    fn into_response(self) -> Response {
        let status = match self {
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unreachable(_) => StatusCode::BAD_GATEWAY,
        };
        (status, [(CONTENT_TYPE, "text/plain; charset=utf-8")], format!("{self}\n")).into_response()
    }
}
