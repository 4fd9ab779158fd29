//! Probes over the network. Containers share this machine's, so they are reached on the loopback.

use std::time::Duration;

use http_body_util::Empty;
use hyper_util::rt::TokioIo;
use k8s_openapi::{
    api::core::v1::{Container, HTTPGetAction, TCPSocketAction},
    apimachinery::pkg::util::intstr::IntOrString,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

use super::tls;

/// Asks for a page; 200 to 399 is well.
pub(in crate::local) async fn http_get(
    container: &Container,
    action: &HTTPGetAction,
    patience: Duration,
) -> Result<(), String> {
    let port = port(container, &action.port)?;
    let host = action.host.as_deref().filter(|host| !host.is_empty()).unwrap_or("127.0.0.1");
    let path = action.path.as_deref().filter(|path| !path.is_empty()).unwrap_or("/");
    let mut request = http::Request::get(path)
        .header(http::header::HOST, format!("{host}:{port}"))
        .header(http::header::USER_AGENT, "kube-probe/1.36");
    for header in action.http_headers.iter().flatten() {
        request = request.header(&header.name, &header.value);
    }
    let request = request.body(Empty::<bytes::Bytes>::new()).map_err(|error| error.to_string())?;
    let exchange = async {
        let stream = TcpStream::connect((host, port)).await.map_err(|error| error.to_string())?;
        match action.scheme.as_deref() {
            Some("HTTPS") => ask(tls::connect(host, stream).await?, request).await,
            _ => ask(stream, request).await,
        }
    };
    let status = tokio::time::timeout(patience, exchange).await;
    let status = status.map_err(|_| format!("no answer within {patience:?}"))??.as_u16();
    if (200..400).contains(&status) {
        Ok(())
    } else {
        Err(format!("HTTP probe failed with statuscode: {status}"))
    }
}

async fn ask(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: http::Request<Empty<bytes::Bytes>>,
) -> Result<http::StatusCode, String> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    let driving = tokio::spawn(connection);
    let response = sender.send_request(request).await.map_err(|error| error.to_string());
    driving.abort();
    response.map(|response| response.status())
}

/// Opens a connection and closes it.
pub(super) async fn tcp(
    container: &Container,
    action: &TCPSocketAction,
    patience: Duration,
) -> Result<(), String> {
    let port = port(container, &action.port)?;
    let host = action.host.as_deref().filter(|host| !host.is_empty()).unwrap_or("127.0.0.1");
    match tokio::time::timeout(patience, TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no connection within {patience:?}")),
    }
}

/// A port by number or by the name the container gives it.
fn port(container: &Container, wanted: &IntOrString) -> Result<u16, String> {
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
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    async fn server(answer: &'static str) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut buffer = [0; 1024];
                let _ = stream.read(&mut buffer).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        port
    }

    fn container(port: u16) -> Container {
        let value = json!({ "name": "c", "ports": [{ "name": "web", "containerPort": port }] });
        serde_json::from_value(value).unwrap()
    }

    #[tokio::test]
    async fn answers_are_judged_by_their_status() {
        let patience = Duration::from_secs(5);
        let action: HTTPGetAction = serde_json::from_value(json!({ "port": "web", "path": "/ok" })).unwrap();
        let well = container(server("HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n").await);
        assert_eq!(http_get(&well, &action, patience).await, Ok(()));
        let ill = container(server("HTTP/1.1 503 Sorry\r\ncontent-length: 0\r\n\r\n").await);
        assert!(http_get(&ill, &action, patience).await.unwrap_err().contains("503"));
        let tcp_action: TCPSocketAction = serde_json::from_value(json!({ "port": "web" })).unwrap();
        assert_eq!(tcp(&ill, &tcp_action, patience).await, Ok(()));
    }

    #[tokio::test]
    async fn https_is_asked_whoever_signed_the_certificate() {
        let made = rcgen::generate_simple_self_signed(vec!["example.com".to_owned()]).unwrap();
        let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let secure = container(listener.local_addr().unwrap().port());
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = acceptor.accept(stream).await.unwrap();
            let mut buffer = [0; 1024];
            let _ = stream.read(&mut buffer).await;
            let _ = stream.write_all(b"HTTP/1.1 204 Fine\r\n\r\n").await;
        });
        let action = json!({ "port": "web", "scheme": "HTTPS" });
        let action: HTTPGetAction = serde_json::from_value(action).unwrap();
        assert_eq!(http_get(&secure, &action, Duration::from_secs(5)).await, Ok(()));
        let plain = container(server("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await);
        assert!(http_get(&plain, &action, Duration::from_secs(5)).await.is_err());
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
