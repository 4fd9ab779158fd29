//! The objects every cluster has from the start.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, Service};
use serde_json::json;

use crate::local::{Kind, Local};
use crate::server::Server;
use crate::status::ApiError;

const NAMESPACES: &[&str] = &["default", "kube-system", "kube-public", "kube-node-lease"];

/// Makes what is missing; safe to repeat.
pub(super) async fn prepare(server: &Arc<Server>) -> Result<(), ApiError> {
    let local = Local::new(Arc::clone(server), "kube-apiserver");
    for name in NAMESPACES {
        ensure::<Namespace>(&local, &json!({"metadata": {"name": name}})).await?;
    }
    let kubernetes = json!({
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": "10.96.0.1",
            "clusterIPs": ["10.96.0.1"],
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        },
    });
    ensure::<Service>(&local, &kubernetes).await
}

async fn ensure<K: Kind>(local: &Local, object: &serde_json::Value) -> Result<(), ApiError> {
    let object: K = serde_json::from_value(object.clone()).map_err(ApiError::internal)?;
    match local.create(&object).await {
        Err(error) if !error.is_already_exists() => Err(error),
        _ => Ok(()),
    }
}
