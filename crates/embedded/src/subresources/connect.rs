//! Logs, exec, attach and port-forward: passed on to the kubelet of the Pod's node.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::uri::PathAndQuery;
use http::{HeaderMap, Request, StatusCode};
use hyper::client::conn::http1;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use maar_machinery::error::FieldError;
use maar_streams::dial::BoxedIo;
use maar_streams::{
    AttachOptions, ExecOptions, LogOptions, OptionsError, PortForwardOptions, ProxyTarget, proxy_upgrade,
};
use serde_json::Value;

use crate::identity::Ask;
use crate::request::Target;
use crate::resource::Subresource;
use crate::server::{Call, Server, read_body};
use crate::status::ApiError;

fn bad_options(error: &OptionsError) -> ApiError {
    ApiError::bad_request(error.to_string())
}

/// Options of logs that can be read and make no sense are invalid; those that cannot be read are a bad request.
fn bad_log_options(error: &OptionsError, pod: &str) -> ApiError {
    let error = match error {
        OptionsError::Invalid { name, value, problem } => match value.parse::<i64>() {
            Ok(number) => FieldError::invalid(name, number, *problem),
            Err(_) => return bad_options(error),
        },
        OptionsError::Conflict(why) => FieldError::forbidden("[]", *why),
        _ => return bad_options(error),
    };
    ApiError::invalid_question("", "PodLogOptions", pod, &error)
}

impl Server {
    pub(super) async fn on_log(&self, call: &Call<'_>) -> Result<Response, ApiError> {
        let options = LogOptions::from_query(call.parts.uri.query())
            .map_err(|error| bad_log_options(&error, &call.target.name))?;
        let pod = self.get(&call.resource, &call.key())?.value();
        let container = container(&pod, options.container.as_deref())?;
        let path = format!(
            "/containerLogs/{}/{}/{container}{}",
            call.target.namespace,
            call.target.name,
            question(&options.to_kubelet_query())
        );
        // A Pod that no node has has said nothing yet, which is no mistake of who asks.
        let Ok(node) = node_of(&pod, &container) else {
            return Ok(StatusCode::NO_CONTENT.into_response());
        };
        checked(self.ask_kubelet(&node, &path).await?).await
    }

    /// By WebSocket a client only gets, and enters nonetheless: that takes the right to create as well.
    fn check_entry(&self, call: &Call<'_>) -> Result<(), ApiError> {
        let Target { group, namespace, resource, name, subresource, .. } = call.target;
        let ask = Ask::Resource { verb: "create", group, resource, subresource, namespace, name };
        self.may(&call.caller.user, &ask).map_err(|_| ApiError::forbidden(&call.resource, name, ""))
    }

    pub(super) async fn on_session(
        &self,
        call: &Call<'_>,
        subresource: Subresource,
        body: Body,
        upgrade: Option<OnUpgrade>,
    ) -> Result<Response, ApiError> {
        self.check_entry(call)?;
        let pod = self.get(&call.resource, &call.key())?.value();
        let query = call.parts.uri.query();
        let place = format!("{}/{}", call.target.namespace, call.target.name);
        let (path, container) = match subresource {
            Subresource::Exec => {
                let options = ExecOptions::from_api_query(query).map_err(|error| bad_options(&error))?;
                let container = container(&pod, options.container.as_deref())?;
                (format!("/exec/{place}/{container}{}", question(&options.to_kubelet_query())), container)
            }
            Subresource::Attach => {
                let options = AttachOptions::from_api_query(query).map_err(|error| bad_options(&error))?;
                let container = container(&pod, options.container.as_deref())?;
                (format!("/attach/{place}/{container}{}", question(&options.to_kubelet_query())), container)
            }
            _ => {
                let options = PortForwardOptions::from_query(query).map_err(|error| bad_options(&error))?;
                (format!("/portForward/{place}{}", question(&options.to_kubelet_query())), String::new())
            }
        };
        let node = node_of(&pod, &container)?;
        self.admit_stream(call, subresource).await?;
        let io = self.dial(&node).await?;
        let mut request = Request::new(body);
        *request.method_mut() = call.parts.method.clone();
        *request.headers_mut() = call.parts.headers.clone();
        if let Some(upgrade) = upgrade {
            request.extensions_mut().insert(upgrade);
        }
        let target = ProxyTarget { path_and_query: path_and_query(&path)?, headers: HeaderMap::new() };
        proxy_upgrade(request, io, target).await.map_err(|error| {
            let code = error.status().as_u16();
            ApiError::new(code, if code < 500 { "BadRequest" } else { "InternalError" }, error.to_string())
        })
    }

    /// Gets a path of a node's kubelet.
    pub(crate) async fn ask_kubelet(&self, node: &str, path: &str) -> Result<Response, ApiError> {
        let failed = |error: hyper::Error| ApiError::internal(format_args!("error dialing backend: {error}"));
        let io = self.dial(node).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(io)).await.map_err(failed)?;
        tokio::spawn(connection);
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = path_and_query(path)?.into();
        request.headers_mut().insert(http::header::HOST, http::HeaderValue::from_static("kubelet"));
        Ok(sender.send_request(request).await.map_err(failed)?.map(Body::new))
    }

    pub(super) async fn dial(&self, node: &str) -> Result<BoxedIo, ApiError> {
        let dialing = self.kubelets.read().as_ref().and_then(|kubelets| kubelets.dial(node));
        let Some(dialing) = dialing else {
            return Err(ApiError::internal(format_args!(
                "error dialing backend: no kubelet answers for node {node:?}"
            )));
        };
        dialing.await.map_err(|error| ApiError::internal(format_args!("error dialing backend: {error}")))
    }
}

/// A kubelet refuses in plain text; clients of the API expect a `Status`.
async fn checked(response: Response) -> Result<Response, ApiError> {
    let code = response.status();
    if code.is_success() {
        return Ok(response);
    }
    let text = read_body(response.into_body()).await?;
    let message = String::from_utf8_lossy(&text).trim().to_owned();
    Err(match code.as_u16() {
        400 => ApiError::bad_request(message),
        404 => ApiError::new(404, "NotFound", message),
        _ => ApiError::internal(message),
    })
}

fn question(query: &str) -> String {
    if query.is_empty() { String::new() } else { format!("?{query}") }
}

pub(super) fn path_and_query(path: &str) -> Result<PathAndQuery, ApiError> {
    path.parse().map_err(|_| ApiError::bad_request(format!("{path:?} is not a valid path")))
}

/// The container asked for, or the only one, or the annotated default.
fn container(pod: &Value, asked: Option<&str>) -> Result<String, ApiError> {
    let names = |field: &str| -> Vec<String> {
        let list = pod["spec"][field].as_array().into_iter().flatten();
        list.filter_map(|container| container["name"].as_str()).map(ToOwned::to_owned).collect()
    };
    let (main, init) = (names("containers"), names("initContainers"));
    let added = names("ephemeralContainers");
    let pod_name = pod["metadata"]["name"].as_str().unwrap_or_default();
    if let Some(asked) = asked.filter(|name| !name.is_empty()) {
        if main.iter().chain(&init).chain(&added).any(|name| name == asked) {
            return Ok(asked.to_owned());
        }
        return Err(ApiError::bad_request(format!("container {asked} is not valid for pod {pod_name}")));
    }
    let default = pod["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"].as_str();
    if let Some(default) = default.filter(|name| main.iter().any(|main| main == name)) {
        return Ok(default.to_owned());
    }
    match main.as_slice() {
        [only] => Ok(only.clone()),
        _ => Err(ApiError::bad_request(format!(
            "a container name must be specified for pod {pod_name}, choose one of: [{}]{}",
            main.join(" "),
            if init.is_empty() {
                String::new()
            } else {
                format!(" or one of the init containers: [{}]", init.join(" "))
            }
        ))),
    }
}

pub(super) fn node_of(pod: &Value, container: &str) -> Result<String, ApiError> {
    match pod["spec"]["nodeName"].as_str() {
        Some(node) if !node.is_empty() => Ok(node.to_owned()),
        _ => Err(ApiError::bad_request(format!(
            "pod {} does not have a host assigned{}",
            pod["metadata"]["name"].as_str().unwrap_or_default(),
            if container.is_empty() { String::new() } else { format!(" (container {container})") }
        ))),
    }
}
