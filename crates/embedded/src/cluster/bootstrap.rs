//! The objects every cluster has from the start.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, Service, ServiceAccount};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use serde_json::json;

use crate::local::{Kind, Local};
use crate::server::Server;
use crate::status::ApiError;

const NAMESPACES: &[&str] = &["default", "kube-system", "kube-public", "kube-node-lease"];

/// The classes for what the cluster itself cannot do without.
const PRIORITIES: &[(&str, i64, &str)] = &[
    ("system-node-critical", 2_000_001_000, "For Pods that their node cannot do without."),
    ("system-cluster-critical", 2_000_000_000, "For Pods that the cluster cannot do without."),
];

/// Makes what is missing; safe to repeat.
pub(super) async fn prepare(server: &Arc<Server>) -> Result<(), ApiError> {
    let local = Local::new(Arc::clone(server), "kube-apiserver");
    for name in NAMESPACES {
        ensure::<Namespace>(&local, &json!({"metadata": {"name": name}})).await?;
    }
    for (name, value, description) in PRIORITIES {
        let class = json!({"metadata": {"name": name}, "value": value, "description": description});
        ensure::<PriorityClass>(&local, &class).await?;
    }
    if server.admission.service_accounts {
        // The controller would make it too; so the first Pod need not wait.
        let account = json!({"metadata": {"name": "default", "namespace": "default"}});
        ensure::<ServiceAccount>(&local, &account).await?;
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

/// Looked for first: whoever asks for the address of a Service that is there hears that it is taken.
async fn ensure<K: Kind>(local: &Local, object: &serde_json::Value) -> Result<(), ApiError> {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    if local.entry::<K>(text("namespace"), text("name")).is_some() {
        return Ok(());
    }
    let object: K = serde_json::from_value(object.clone()).map_err(ApiError::internal)?;
    match local.create(&object).await {
        Err(error) if !error.is_already_exists() => Err(error),
        _ => Ok(()),
    }
}
