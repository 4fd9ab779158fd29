//! TLS to containers.

use std::sync::Arc;

use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::any_certificate::AnyCertificate;

/// Shakes hands as a client.
pub(super) async fn connect(host: &str, stream: TcpStream) -> Result<TlsStream<TcpStream>, String> {
    let config = AnyCertificate::builder().map_err(|error| error.to_string())?.with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, stream).await.map_err(|error| error.to_string())
}
