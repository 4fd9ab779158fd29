//! Probes over the network. Containers share this machine's, so they are reached on the loopback.

use std::time::Duration;

use k8s_openapi::{
    api::core::v1::{Container, TCPSocketAction},
    apimachinery::pkg::util::intstr::IntOrString,
};
use tokio::net::TcpStream;

/// Opens a connection and closes it.
pub(super) async fn tcp(
    container: &Container,
    action: &TCPSocketAction,
    patience: Duration,
) -> Result<(), String> {
    let port = port(container, &action.port)?;
    let host = host(action.host.as_deref());
    match tokio::time::timeout(patience, TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no connection within {patience:?}")),
    }
}

/// The host that is named, or this machine.
pub(super) fn host(named: Option<&str>) -> &str {
    named.filter(|host| !host.is_empty()).unwrap_or("127.0.0.1")
}

/// A port by number or by the name the container gives it.
pub(super) fn port(container: &Container, wanted: &IntOrString) -> Result<u16, String> {
    let number = match wanted {
        IntOrString::Int(number) => Some(*number),
        IntOrString::String(name) => {
            let named = container.ports.iter().flatten().find(|port| port.name.as_deref() == Some(name));
            named.map(|port| port.container_port).or_else(|| name.parse().ok())
        }
    };
    number.and_then(|number| u16::try_from(number).ok()).ok_or_else(|| format!("there is no port {wanted:?}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;

    fn container(port: u16) -> Container {
        let value = json!({ "name": "c", "ports": [{ "name": "web", "containerPort": port }] });
        serde_json::from_value(value).unwrap()
    }

    #[tokio::test]
    async fn what_takes_connections_is_well() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let open = container(listener.local_addr().unwrap().port());
        let action: TCPSocketAction = serde_json::from_value(json!({ "port": "web" })).unwrap();
        assert_eq!(tcp(&open, &action, Duration::from_secs(5)).await, Ok(()));
    }

    #[tokio::test]
    async fn what_cannot_be_reached_is_not_well() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let closed = container(listener.local_addr().unwrap().port());
        drop(listener);
        let action: TCPSocketAction = serde_json::from_value(json!({ "port": "web" })).unwrap();
        assert!(tcp(&closed, &action, Duration::from_secs(5)).await.is_err());
        let unknown: TCPSocketAction = serde_json::from_value(json!({ "port": "none" })).unwrap();
        assert!(tcp(&closed, &unknown, Duration::from_secs(5)).await.unwrap_err().contains("none"));
    }
}
