//! `pods/x/proxy`, `services/x/proxy` and `nodes/x/proxy`: HTTP to something in the cluster, through the API server.
//!
//! Pods have no address here that could be dialed. A Pod's port is reached as port-forward reaches it, through the
//! kubelet of its node; a Service stands for one of its ready Pods; a node's proxy is its kubelet.

mod place;

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::header::{
    AUTHORIZATION, CONNECTION, HOST, HeaderName, LOCATION, PROXY_AUTHORIZATION, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use hyper::client::conn::http1;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use maar_streams::dial::BoxedIo;
use maar_streams::{
    ConnectTarget, PortForwardProtocol, PortStream, ProxyTarget, connect_portforward, proxy_upgrade,
};
use place::Place;
use serde_json::Value;
use tokio::io::AsyncReadExt as _;

use super::connect::{node_of, path_and_query};
use crate::resource::Subresource;
use crate::server::{Call, Server};
use crate::status::ApiError;
use crate::store::Key;

/// The port of every kubelet.
const KUBELET_PORT: &str = "10250";
/// The label by which an EndpointSlice names its Service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// As much as a port-forward says about why it failed.
const LONGEST_COMPLAINT: u64 = 4096;

/// A connection to what is behind the proxy.
struct Backend {
    io: BoxedIo,
    /// Where a port-forward says why there is nothing behind the port, and what keeps it open.
    complaint: Option<Box<dyn tokio::io::AsyncRead + Send + Unpin>>,
    host: String,
}

impl Server {
    pub(super) async fn on_proxy(
        self: &Arc<Self>,
        call: &Call<'_>,
        body: Body,
        upgrade: Option<OnUpgrade>,
    ) -> Result<Response, ApiError> {
        let rest = raw_rest(call.parts.uri.path(), call.resource.namespaced);
        if rest.is_empty() && matches!(call.parts.method, Method::GET | Method::HEAD) {
            return Ok(with_slash(call));
        }
        let place = Place::parse(&call.target.name)?;
        self.admit_stream(call, Subresource::Proxy).await?;
        let backend = match call.resource.plural.as_str() {
            "nodes" => self.kubelet_of(call, &place).await?,
            "services" => self.some_pod_of(call, &place).await?,
            _ => self.port_of(call, &place).await?,
        };
        let query = call.parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let path = if rest.is_empty() { "/" } else { rest };
        pass_on(call, backend, &format!("{path}{query}"), body, upgrade).await
    }

    async fn kubelet_of(&self, call: &Call<'_>, place: &Place<'_>) -> Result<Backend, ApiError> {
        if !matches!(place.port, "" | KUBELET_PORT) {
            let what = format!("ports of nodes other than the kubelet's ({KUBELET_PORT})");
            return Err(ApiError::not_implemented(what));
        }
        self.get(&call.resource, &Key::new(&call.resource.table, "", place.name))?;
        let io = self.dial(place.name).await?;
        Ok(Backend { io, complaint: None, host: place.name.to_owned() })
    }

    async fn port_of(&self, call: &Call<'_>, place: &Place<'_>) -> Result<Backend, ApiError> {
        let key = Key::new(&call.resource.table, &call.target.namespace, place.name);
        let pod = self.get(&call.resource, &key)?.value();
        let port = place::pod_port(&pod, place)?;
        self.open_port(&pod, port).await
    }

    async fn some_pod_of(&self, call: &Call<'_>, place: &Place<'_>) -> Result<Backend, ApiError> {
        let namespace = &call.target.namespace;
        let key = Key::new(&call.resource.table, namespace, place.name);
        let service = self.get(&call.resource, &key)?.value();
        let port = place::service_port(&service, place)?;
        let name = port["name"].as_str().unwrap_or_default();
        let is_of_service = |labels: &[(Box<str>, Box<str>)]| {
            labels.iter().any(|(key, value)| &**key == SERVICE_NAME && &**value == place.name)
        };
        let slices = self.objects("endpointslices.discovery.k8s.io", namespace, is_of_service);
        let mut candidates = place::ready_pods(&slices, name);
        if candidates.is_empty() {
            // Pods of the local node have an address that endpoints must not have, so they are found by their labels.
            let selects = |labels: &[(Box<str>, Box<str>)]| place::selects(&service, labels);
            candidates = place::pods_behind(&self.objects("pods", namespace, selects), &port);
        }
        let count = u64::try_from(candidates.len()).unwrap_or(u64::MAX);
        let chosen = usize::try_from(self.world.below(count)).unwrap_or_default();
        let Some((pod, port)) = candidates.into_iter().nth(chosen) else {
            let message = format!("no endpoints available for service {:?}", place.name);
            return Err(ApiError::unavailable(message));
        };
        let pods = self.resource("", "v1", "pods")?;
        let pod = self.get(&pods, &Key::new(&pods.table, namespace, &pod))?.value();
        self.open_port(&pod, port).await
    }

    fn objects(
        &self,
        table: &str,
        namespace: &str,
        wanted: impl Fn(&[(Box<str>, Box<str>)]) -> bool,
    ) -> Vec<Value> {
        let rows = self.store.list(table, Some(namespace)).rows;
        rows.iter().filter(|entry| wanted(&entry.meta.labels)).map(|entry| entry.value()).collect()
    }

    /// Connects to a port of a Pod as port-forward does.
    async fn open_port(&self, pod: &Value, port: u16) -> Result<Backend, ApiError> {
        let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text("namespace"), text("name"));
        let io = self.dial(&node_of(pod, "")?).await?;
        let target = ConnectTarget::new(path_and_query(&format!("/portForward/{namespace}/{name}"))?);
        let opening = async {
            let mut client = connect_portforward(io, target, PortForwardProtocol::Spdy, &[])
                .await
                .map_err(|error| error.to_string())?;
            client.open(port).await.map_err(|error| error.to_string())
        };
        let PortStream { data, error } = opening.await.map_err(|error| unreachable(&error))?;
        Ok(Backend { io: data, complaint: Some(error), host: format!("{name}:{port}") })
    }
}

fn unreachable(why: &str) -> ApiError {
    ApiError::unavailable(format!("error trying to reach service: {why}"))
}

async fn pass_on(
    call: &Call<'_>,
    backend: Backend,
    path: &str,
    body: Body,
    upgrade: Option<OnUpgrade>,
) -> Result<Response, ApiError> {
    let path_and_query = path_and_query(path)?;
    let host = HeaderValue::from_str(&backend.host).unwrap_or_else(|_| HeaderValue::from_static("localhost"));
    let mut request = Request::new(body);
    *request.method_mut() = call.parts.method.clone();
    if call.parts.headers.contains_key(UPGRADE)
        && let Some(upgrade) = upgrade
    {
        *request.headers_mut() = call.parts.headers.clone();
        request.extensions_mut().insert(upgrade);
        let target = ProxyTarget { path_and_query, headers: HeaderMap::from_iter([(HOST, host)]) };
        return proxy_upgrade(request, backend.io, target)
            .await
            .map_err(|error| ApiError::new(error.status().as_u16(), "InternalError", error.to_string()));
    }
    *request.uri_mut() = path_and_query.into();
    *request.headers_mut() = passed_headers(&call.parts.headers);
    request.headers_mut().insert(HOST, host);
    let answer = exchange(backend.io, request).await;
    match answer {
        Ok(mut response) => {
            rewrite_location(&mut response, call);
            Ok(response)
        }
        Err(error) => Err(unreachable(&complaint(backend.complaint, &error).await)),
    }
}

async fn exchange(io: BoxedIo, request: Request<Body>) -> Result<Response, hyper::Error> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(io)).await?;
    tokio::spawn(connection);
    Ok(sender.send_request(request).await?.map(Body::new))
}

/// What the port-forward says went wrong, or else what HTTP says.
async fn complaint(
    stream: Option<Box<dyn tokio::io::AsyncRead + Send + Unpin>>,
    error: &hyper::Error,
) -> String {
    let mut text = String::new();
    if let Some(stream) = stream {
        // Whatever comes before the stream breaks is all there is to say.
        let _ = stream.take(LONGEST_COMPLAINT).read_to_string(&mut text).await;
    }
    if text.trim().is_empty() { error.to_string() } else { text.trim().to_owned() }
}

/// The client's headers without its credentials, and without those that are about its connection to us.
fn passed_headers(headers: &HeaderMap) -> HeaderMap {
    let stays_here = |name: &HeaderName| {
        [AUTHORIZATION, PROXY_AUTHORIZATION, CONNECTION, TRANSFER_ENCODING, UPGRADE, HOST].contains(name)
            || ["impersonate-", "x-remote-"].iter().any(|start| name.as_str().starts_with(start))
    };
    let passed = headers.iter().filter(|(name, _)| !stays_here(name));
    passed.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The part of the path behind `proxy`, as the client wrote it.
fn raw_rest(path: &str, namespaced: bool) -> &str {
    // /api/v1/nodes/x/proxy/…, /api/v1/namespaces/x/pods/y/proxy/…
    let segments = if namespaced { 7 } else { 5 };
    path.match_indices('/').nth(segments).map_or("", |(at, _)| &path[at..])
}

/// A page's relative links only work if its address ends in a slash.
fn with_slash(call: &Call<'_>) -> Response {
    let query = call.parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    if let Ok(value) = HeaderValue::from_str(&format!("{}/{query}", call.parts.uri.path())) {
        response.headers_mut().insert(LOCATION, value);
    }
    response
}

/// A redirect to a path of the backend has to lead through the proxy again.
fn rewrite_location(response: &mut Response, call: &Call<'_>) {
    let rest = raw_rest(call.parts.uri.path(), call.resource.namespaced);
    let prefix = call.parts.uri.path().strip_suffix(rest).unwrap_or_default();
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    if let Some(path) = location.filter(|path| path.starts_with('/') && !path.starts_with("//"))
        && let Ok(value) = HeaderValue::from_str(&format!("{prefix}{path}"))
    {
        response.headers_mut().insert(LOCATION, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_path_is_passed_as_it_was_written() {
        assert_eq!(raw_rest("/api/v1/namespaces/a/pods/b:80/proxy/x%2Fy/z", true), "/x%2Fy/z");
        assert_eq!(raw_rest("/api/v1/namespaces/a/pods/b/proxy/", true), "/");
        assert_eq!(raw_rest("/api/v1/namespaces/a/pods/b/proxy", true), "");
        assert_eq!(raw_rest("/api/v1/nodes/n/proxy/metrics", false), "/metrics");
    }

    #[test]
    fn credentials_stay_with_the_proxy() {
        let mut headers = HeaderMap::new();
        for name in ["authorization", "impersonate-user", "x-remote-user", "host", "accept", "cookie"] {
            headers.insert(name, HeaderValue::from_static("x"));
        }
        let mut passed: Vec<String> = passed_headers(&headers).keys().map(ToString::to_string).collect();
        passed.sort();
        assert_eq!(passed, ["accept", "cookie"]);
    }
}
