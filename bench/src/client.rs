//! The client of every measurement: requests with bodies made beforehand, answers that are counted and not parsed.
//!
//! Plain hyper with one HTTP/1.1 connection per lane, because a client with more comfort would spend more time than
//! the embedded server and hide it. A lane to a cluster in this process goes through `kube::Client`, as tests do.

mod watch;

use std::sync::Arc;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use kube::client::Body as KubeBody;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

pub(crate) use watch::Watch;

/// Bytes read at a time. A buffer that grows and shrinks with the answers would cost more than reading them.
const READ: usize = 64 << 10;

/// An answer whose body has not been read.
pub(crate) type Answer = Response<Either<Incoming, KubeBody>>;

/// Where a server is and how it knows us.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// `127.0.0.1:6443`.
    pub(crate) authority: String,
    /// The certificate of its authority, in PEM.
    pub(crate) root: String,
    pub(crate) credentials: Credentials,
}

/// Who we are to a server.
#[derive(Clone, Debug)]
pub(crate) enum Credentials {
    /// The whole `Authorization` header.
    Bearer(HeaderValue),
    /// A certificate and its key, in PEM.
    Certificate { certificate: String, key: String },
}

impl Credentials {
    pub(crate) fn token(token: &str) -> anyhow::Result<Self> {
        Ok(Self::Bearer(HeaderValue::from_str(&format!("Bearer {token}"))?))
    }
}

/// A way to open lanes.
#[derive(Clone)]
pub(crate) enum Door {
    /// Over TCP and TLS.
    Tls(Address, TlsConnector),
    /// To a cluster in this process.
    InProcess(kube::Client),
}

/// One connection; requests on it go one after another.
pub(crate) enum Lane {
    Tls(Address, SendRequest<Full<Bytes>>),
    InProcess(kube::Client),
}

impl Door {
    pub(crate) fn tls(address: Address) -> anyhow::Result<Self> {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(address.root.as_bytes()) {
            roots.add(certificate.context("reading the server's authority")?)?;
        }
        let config = rustls::ClientConfig::builder().with_root_certificates(roots);
        let config = match &address.credentials {
            Credentials::Bearer(_) => config.with_no_client_auth(),
            Credentials::Certificate { certificate, key } => {
                let chain =
                    CertificateDer::pem_slice_iter(certificate.as_bytes()).collect::<Result<_, _>>()?;
                config.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes())?)?
            }
        };
        Ok(Self::Tls(address, TlsConnector::from(Arc::new(config))))
    }

    pub(crate) async fn open(&self) -> anyhow::Result<Lane> {
        let (address, connector) = match self {
            Self::InProcess(client) => return Ok(Lane::InProcess(client.clone())),
            Self::Tls(address, connector) => (address, connector),
        };
        let stream = connector.connect(server_name(address)?, connect(address).await?).await?;
        let (sender, connection) =
            Builder::new().read_buf_exact_size(Some(READ)).handshake(TokioIo::new(stream)).await?;
        // Ends with the lane; a failure shows in the request that was under way.
        tokio::spawn(connection);
        Ok(Lane::Tls(address.clone(), sender))
    }

    pub(crate) async fn open_many(&self, count: usize) -> anyhow::Result<Vec<Lane>> {
        let mut lanes = Vec::with_capacity(count);
        for _ in 0..count {
            lanes.push(self.open().await?);
        }
        Ok(lanes)
    }
}

async fn connect(address: &Address) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect(&address.authority).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn server_name(address: &Address) -> anyhow::Result<ServerName<'static>> {
    let (host, _) = address.authority.rsplit_once(':').context("an address without a port")?;
    Ok(ServerName::try_from(host.to_owned())?)
}

impl Lane {
    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn send(&mut self, method: Method, path: &str, body: Bytes) -> anyhow::Result<Answer> {
        let changes = method == Method::PATCH;
        let mut request =
            Request::builder().method(method).uri(path).header(header::ACCEPT, "application/json");
        if !body.is_empty() {
            let kind = if changes { "application/json-patch+json" } else { "application/json" };
            request = request.header(header::CONTENT_TYPE, kind);
        }
        self.send_request(path, request, body).await
    }

    /// Sends a request without a body for an answer of this type.
    pub(crate) async fn send_as(
        &mut self,
        method: Method,
        path: &str,
        accept: &str,
    ) -> anyhow::Result<Answer> {
        let request = Request::builder().method(method).uri(path).header(header::ACCEPT, accept);
        self.send_request(path, request, Bytes::new()).await
    }

    async fn send_request(
        &mut self,
        path: &str,
        request: http::request::Builder,
        body: Bytes,
    ) -> anyhow::Result<Answer> {
        let mut request = request.header(header::USER_AGENT, "maar-bench/1");
        let answer = match self {
            Self::InProcess(client) => {
                client.send(request.body(KubeBody::from(body))?).await?.map(Either::Right)
            }
            Self::Tls(address, sender) => {
                request = request.header(header::HOST, &address.authority);
                if let Credentials::Bearer(header) = &address.credentials {
                    request = request.header(header::AUTHORIZATION, header);
                }
                sender.ready().await?;
                sender.send_request(request.body(Full::new(body))?).await?.map(Either::Left)
            }
        };
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        bail!("{path}: {status}: {}", String::from_utf8_lossy(&whole(answer).await?))
    }

    /// Sends a request and throws the body of its answer away.
    pub(crate) async fn drain(&mut self, method: Method, path: &str, body: Bytes) -> anyhow::Result<()> {
        let mut body = self.send(method, path, body).await?.into_body();
        while let Some(frame) = body.frame().await {
            frame.map_err(anyhow::Error::from_boxed)?;
        }
        Ok(())
    }

    pub(crate) async fn post(&mut self, path: &str, body: Bytes) -> anyhow::Result<()> {
        self.drain(Method::POST, path, body).await
    }

    /// Changes an object by a JSON patch.
    pub(crate) async fn patch(&mut self, path: &str, body: Bytes) -> anyhow::Result<()> {
        self.drain(Method::PATCH, path, body).await
    }

    /// Reads one object.
    pub(crate) async fn get(&mut self, path: &str) -> anyhow::Result<Value> {
        let answer = self.send(Method::GET, path, Bytes::new()).await?;
        Ok(serde_json::from_slice(&whole(answer).await?)?)
    }

    /// Reads text.
    pub(crate) async fn text(&mut self, path: &str) -> anyhow::Result<String> {
        let answer = self.send_as(Method::GET, path, "text/plain").await?;
        Ok(String::from_utf8(whole(answer).await?.into())?)
    }
}

async fn whole(answer: Answer) -> anyhow::Result<Bytes> {
    Ok(answer.into_body().collect().await.map_err(anyhow::Error::from_boxed)?.to_bytes())
}
