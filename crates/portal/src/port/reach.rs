//! From a workspace to a port on the loopback of its Pod.

use std::time::Duration;

use futures::FutureExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use maar_api::v1alpha1::{Workspace, WorkspacePhase};
use maar_gateway::ports::{Io, Refusal};
use tokio::time::timeout;

use crate::{error::ApiError, portal::Portal, route::Call};

/// How long the cluster may take to open a connection.
const CONNECT: Duration = Duration::from_secs(15);

/// The port that the path names.
pub(super) fn port_of(call: &Call) -> Result<u16, ApiError> {
    read_port(call.part("port"))
}

pub(super) fn read_port(text: &str) -> Result<u16, ApiError> {
    let port = text.parse::<u16>().ok().filter(|port| *port > 0 && !text.starts_with('+'));
    port.ok_or_else(|| ApiError::invalid("port", "a port is a number between 1 and 65535"))
}

/// Whether there is a Pod to go to.
pub(super) fn runs(workspace: &Workspace) -> bool {
    workspace.status.as_ref().is_some_and(|status| status.phase == WorkspacePhase::Running)
}

/// Connects to a port of a Pod.
pub(super) async fn connect(portal: &Portal, namespace: &str, pod: &str, port: u16) -> Result<Io, Refusal> {
    let pods: Api<Pod> = Api::namespaced(portal.client.clone(), namespace);
    let ports = [port];
    let connecting = timeout(CONNECT, pods.portforward(pod, &ports)).await;
    let mut forwarder = match connecting {
        Ok(Ok(forwarder)) => forwarder,
        Ok(Err(error)) => {
            tracing::warn!(%error, namespace, pod, port, "a port of a Pod cannot be reached");
            return Err(Refusal::Unreachable);
        }
        Err(_) => return Err(Refusal::Unreachable),
    };
    let (Some(stream), Some(failure)) = (forwarder.take_stream(port), forwarder.take_error(port)) else {
        return Err(Refusal::Unreachable);
    };
    Ok(Io { stream: Box::new(stream), failure: failure.boxed() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_numbers() {
        assert_eq!(read_port("8888").unwrap(), 8888);
        for wrong in ["", "0", "65536", "-1", "+80", "http", "80 "] {
            assert!(read_port(wrong).is_err(), "{wrong:?}");
        }
    }
}
