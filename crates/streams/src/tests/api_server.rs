//! As much of an API server as kubectl needs to reach a Pod: discovery, the Pod itself, and subresources that are
//! passed through to the [kubelet](super::server::kubelet).

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Path, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use http::header::UPGRADE;
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::server::{connect, kubelet};
use crate::{AttachOptions, ExecOptions, OptionsError, PortForwardOptions, ProxyTarget, proxy_upgrade};

/// The Pod that exists.
pub(super) const POD: &str = "/api/v1/namespaces/default/pods/mypod";

/// The protocols that clients asked to switch to, in order.
pub(super) type Asked = Arc<Mutex<Vec<String>>>;

/// `directory` is the Pod's file system.
pub(super) fn api_server(directory: Option<PathBuf>, asked: Asked) -> Router {
    let subresource = move |Path((_, _, name)): Path<(String, String, String)>, request: Request| {
        if let Some(protocol) = request.headers().get(UPGRADE) {
            asked.lock().push(protocol.to_str().unwrap().to_owned());
        }
        pass_through(name, request, kubelet(directory.clone()))
    };
    Router::new()
        .route("/version", get(Json(json!({"major": "1", "minor": "36", "gitVersion": "v1.36.4"}))))
        .route("/api", get(Json(json!({"kind": "APIVersions", "versions": ["v1"]}))))
        .route("/apis", get(Json(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": []}))))
        .route("/api/v1", get(Json(resources())))
        .route("/api/v1/namespaces/{namespace}/pods/{name}", get(Json(pod())))
        .route("/api/v1/namespaces/{namespace}/pods/{name}/{subresource}", any(subresource))
}

fn resources() -> Value {
    let pods = json!({
        "name": "pods", "singularName": "pod", "namespaced": true, "kind": "Pod", "verbs": ["get"], "shortNames": ["po"]
    });
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [pods]})
}

fn pod() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "mypod", "namespace": "default", "uid": "1"},
        "spec": {"nodeName": "node", "containers": [{"name": "main", "image": "none", "stdin": true, "tty": true}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

async fn pass_through(subresource: String, request: Request, kubelet: Router) -> Response {
    let path_and_query = match kubelet_path(&subresource, request.uri().query()) {
        Ok(Some(path)) => path.parse().unwrap(),
        Ok(None) => return StatusCode::NOT_FOUND.into_response(),
        Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    };
    let target = ProxyTarget { path_and_query, headers: HeaderMap::new() };
    match proxy_upgrade(request, connect(kubelet), target).await {
        Ok(response) => response,
        Err(error) => (error.status(), error.to_string()).into_response(),
    }
}

/// What to ask the kubelet for.
fn kubelet_path(subresource: &str, query: Option<&str>) -> Result<Option<String>, OptionsError> {
    Ok(match subresource {
        "exec" => {
            let options = ExecOptions::from_api_query(query)?;
            let container = options.container.as_deref().unwrap_or("main");
            Some(format!("/exec/default/mypod/{container}?{}", options.to_kubelet_query()))
        }
        "attach" => {
            let options = AttachOptions::from_api_query(query)?;
            let container = options.container.as_deref().unwrap_or("main");
            Some(format!("/attach/default/mypod/{container}?{}", options.to_kubelet_query()))
        }
        "portforward" => {
            let options = PortForwardOptions::from_query(query)?;
            Some(format!("/portForward/default/mypod?{}", options.to_kubelet_query()))
        }
        _ => None,
    })
}

/// Serves on a free port of this machine until the test ends; gives the address.
pub(super) async fn listen(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    // Small answers must not wait for the client's delayed acknowledgements.
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}
