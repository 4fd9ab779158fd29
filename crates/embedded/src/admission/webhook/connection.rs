//! Asking a webhook over TLS.

use std::io::ErrorKind;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use maar_streams::dial::{BoxedIo, Dial};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::identity::ClusterTime;
use crate::world::Clock;

/// The longest answer that is read.
const ANSWER_LIMIT: usize = 3 << 20;

/// Where a webhook is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// The name its certificate must have.
    pub(super) name: String,
    pub(super) port: u16,
    pub(super) path: String,
    /// What is connected to: the same, or an address behind it.
    pub(super) target: (String, u16),
}

impl Address {
    /// Reads `https://host[:port][/path]`.
    pub(super) fn of_url(url: &str) -> Result<Self, String> {
        let wrong = || format!("{url:?} is not an https URL");
        let uri: http::Uri = url.parse().map_err(|_| wrong())?;
        let host = uri.host().filter(|_| uri.scheme_str() == Some("https")).ok_or_else(wrong)?;
        let host = host.trim_matches(['[', ']']).to_owned();
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let port = uri.port_u16().unwrap_or(443);
        Ok(Self { name: host.clone(), port, path, target: (host, port) })
    }

    /// The URL that messages show.
    pub(super) fn shown(&self, timeout: u64) -> String {
        format!("https://{}:{}{}?timeout={timeout}s", self.name, self.port, self.path)
    }
}

/// What went wrong on the way to a webhook.
pub(super) fn failure(address: &Address, timeout: u64, why: &str) -> String {
    format!("failed to call webhook: Post {:?}: {why}", address.shown(timeout))
}

/// How a webhook is reached.
pub(super) struct Way<'a> {
    pub(super) address: Address,
    pub(super) ca_bundle: &'a str,
    pub(super) timeout: u64,
    /// Knows places that are not on the network.
    pub(super) dial: Option<&'a dyn Dial>,
    /// Certificates are valid or not by the cluster's time.
    pub(super) clock: Clock,
}

/// Sends one review and answers the body that comes back.
pub(super) async fn ask(way: &Way<'_>, review: String) -> Result<Bytes, String> {
    let failed = |why: &str| failure(&way.address, way.timeout, why);
    match tokio::time::timeout(Duration::from_secs(way.timeout), exchange(way, review)).await {
        Ok(result) => result.map_err(|why| failed(&why)),
        Err(_) => Err(failed("context deadline exceeded")),
    }
}

async fn exchange(way: &Way<'_>, review: String) -> Result<Bytes, String> {
    let Way { address, ca_bundle, timeout, dial, clock } = way;
    let tls = TlsConnector::from(trusting(ca_bundle, clock)?);
    let name = server_name(&address.name)?;
    let io = connect(address, *dial).await?;
    let io = tls.connect(name, io).await.map_err(|error| handshake_failure(&error))?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(io)).await.map_err(|error| error.to_string())?;
    // Ends with the connection, at the latest when `sender` is dropped.
    tokio::spawn(connection);
    let request = Request::post(format!("{}?timeout={timeout}s", address.path))
        .header(header::HOST, format!("{}:{}", address.name, address.port))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json")
        .body(Full::new(Bytes::from(review)))
        .map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
    let status = response.status();
    let body = Limited::new(response.into_body(), ANSWER_LIMIT).collect().await;
    let body = body.map_err(|error| format!("reading the answer: {error}"))?.to_bytes();
    if status.is_success() { Ok(body) } else { Err(format!("it answered {status}")) }
}

async fn connect(address: &Address, dial: Option<&dyn Dial>) -> Result<BoxedIo, String> {
    let (host, port) = &address.target;
    let place = format!("{host}:{port}");
    if let Some(dialing) = dial.and_then(|dial| dial.dial(&place)) {
        return dialing.await.map_err(|error| format!("dial {place}: {error}"));
    }
    match TcpStream::connect((host.as_str(), *port)).await {
        Ok(stream) => Ok(Box::new(stream)),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            Err(format!("dial tcp {place}: connect: connection refused"))
        }
        Err(error) => Err(format!("dial tcp {place}: {error}")),
    }
}

/// Why TLS did not come about, in the words people search for.
fn handshake_failure(error: &std::io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            "tls: failed to verify certificate: x509: certificate signed by unknown authority".to_owned()
        }
        Some(rustls::Error::InvalidCertificate(why)) => format!("tls: failed to verify certificate: {why}"),
        _ => format!("tls: {error}"),
    }
}

fn server_name(name: &str) -> Result<ServerName<'static>, String> {
    match name.parse::<IpAddr>() {
        Ok(address) => Ok(ServerName::from(address)),
        Err(_) => ServerName::try_from(name.to_owned()).map_err(|_| format!("{name:?} is not a host name")),
    }
}

/// TLS that accepts certificates signed by those of the bundle. The certificates that this machine trusts are not
/// looked at: a cluster should not depend on where it runs.
fn trusting(ca_bundle: &str, clock: &Clock) -> Result<Arc<ClientConfig>, String> {
    let pem = STANDARD.decode(ca_bundle).map_err(|error| format!("caBundle: {error}"))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| format!("caBundle: {error}"))?;
        roots.add(certificate).map_err(|error| format!("caBundle: {error}"))?;
    }
    if roots.is_empty() {
        return Err("no certificate to trust: the embedded cluster needs a caBundle".to_owned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_details(provider, Arc::new(ClusterTime(clock.clone())))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_places() {
        let address = Address::of_url("https://hooks.example.com/check").unwrap();
        assert_eq!(address.shown(10), "https://hooks.example.com:443/check?timeout=10s");
        let local = Address::of_url("https://[::1]:8443").unwrap();
        assert_eq!((local.target, local.path.as_str()), (("::1".to_owned(), 8443), "/"));
        for wrong in ["http://a/", "nonsense", "https:///x"] {
            assert!(Address::of_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn nothing_is_trusted_without_a_bundle() {
        assert!(trusting("", &Clock::wall()).unwrap_err().contains("needs a caBundle"));
        assert!(trusting("???", &Clock::wall()).is_err());
    }
}
