//! Logs, exec, attach and port-forward.

use axum::{
    body::Body,
    extract::{Extension, Path, Request, State},
    response::{IntoResponse, Response},
};
use futures::future::BoxFuture;
use http::header::CONTENT_TYPE;
use maar_streams::{
    AttachOptions, ExecOptions, LogOptions, PortForwardSession, StreamSet, UpgradeError, accept_exec,
    accept_portforward,
};

use super::{Kubelet, Scope};
use crate::{
    console::{Console, ConsoleError, Terminal},
    runtime::Runtime,
};

type ContainerPath = Path<(String, String, String)>;

pub(super) async fn logs<R: Runtime, C: Console>(
    State(kubelet): State<Kubelet<R, C>>,
    Extension(scope): Extension<Scope>,
    Path((namespace, pod, container)): ContainerPath,
    request: Request,
) -> Result<Response, ConsoleError> {
    let options = LogOptions::from_query(request.uri().query())
        .map_err(|error| ConsoleError::BadRequest(error.to_string()))?;
    let target = kubelet.target(&scope, &namespace, &pod, &container)?;
    let text = kubelet.console.logs(target, options).await?;
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], Body::from_stream(text)).into_response())
}

pub(super) async fn exec<R: Runtime, C: Console>(
    State(kubelet): State<Kubelet<R, C>>,
    Extension(scope): Extension<Scope>,
    Path((namespace, pod, container)): ContainerPath,
    mut request: Request,
) -> Result<Response, ConsoleError> {
    let options = match ExecOptions::from_kubelet_query(request.uri().query()) {
        Ok(options) => options,
        Err(error) => return Ok(UpgradeError::BadRequest(error.to_string()).into_response()),
    };
    let target = kubelet.running(&scope, &namespace, &pod, &container)?;
    let enter = move |console: &C, terminal| console.exec(target, options.command, terminal);
    Ok(kubelet.open_terminal(&mut request, options.streams, enter))
}

pub(super) async fn attach<R: Runtime, C: Console>(
    State(kubelet): State<Kubelet<R, C>>,
    Extension(scope): Extension<Scope>,
    Path((namespace, pod, container)): ContainerPath,
    mut request: Request,
) -> Result<Response, ConsoleError> {
    let options = match AttachOptions::from_kubelet_query(request.uri().query()) {
        Ok(options) => options,
        Err(error) => return Ok(UpgradeError::BadRequest(error.to_string()).into_response()),
    };
    let target = kubelet.running(&scope, &namespace, &pod, &container)?;
    let enter = move |console: &C, terminal| console.attach(target, terminal);
    Ok(kubelet.open_terminal(&mut request, options.streams, enter))
}

pub(super) async fn port_forward<R: Runtime, C: Console>(
    State(kubelet): State<Kubelet<R, C>>,
    Extension(scope): Extension<Scope>,
    Path((namespace, pod)): Path<(String, String)>,
    mut request: Request,
) -> Result<Response, ConsoleError> {
    let pod = kubelet.pod(&scope, &namespace, &pod)?;
    let (response, pending) = match accept_portforward(&mut request) {
        Ok(accepted) => accepted,
        Err(error) => return Ok(error.into_response()),
    };
    let console = kubelet.console.clone();
    kubelet.carry_on(async move {
        if let Ok(session) = pending.session().await {
            forward(console, pod, session).await;
        }
    });
    Ok(response)
}

impl<R: Runtime, C: Console> Kubelet<R, C> {
    /// Accepts the upgrade and lets the console enter once the client's streams are there.
    fn open_terminal(
        &self,
        request: &mut Request,
        streams: StreamSet,
        enter: impl FnOnce(&C, Terminal) -> BoxFuture<'static, ()> + Send + 'static,
    ) -> Response {
        let (response, pending) = match accept_exec(request, streams) {
            Ok(accepted) => accepted,
            Err(error) => return error.into_response(),
        };
        let console = self.console.clone();
        self.carry_on(async move {
            if let Ok(session) = pending.session().await {
                enter(&console, Terminal { session, streams }).await;
            }
        });
        response
    }

    /// What goes on after the answer, until it ends or the kubelets stop.
    fn carry_on(&self, work: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(self.shutdown.clone().run_until_cancelled_owned(work));
    }
}

/// Joins every connection the client makes with its port; they are independent of each other.
async fn forward<C: Console>(
    console: std::sync::Arc<C>,
    pod: std::sync::Arc<crate::pod::Pod>,
    mut session: PortForwardSession,
) {
    let mut connections = tokio::task::JoinSet::new();
    while let Some(connection) = session.next().await {
        let connecting = console.connect(pod.clone(), connection.port);
        connections.spawn(async move {
            let port = connection.port;
            let outcome = match connecting.await {
                Ok(target) => connection.join(target).await,
                Err(error) => connection.fail(&format!("error forwarding port {port}: {error}")).await,
            };
            if let Err(error) = outcome {
                tracing::debug!("a connection forwarded to port {port} ended: {error}");
            }
        });
        while connections.try_join_next().is_some() {}
    }
    while connections.join_next().await.is_some() {}
}
