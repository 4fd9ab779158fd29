//! The kubelets of a set on one TLS address, for an API server that is not in this process.
//!
//! Nothing is answered to strangers: without a client CA every request but `/healthz` is refused; with one, a caller
//! shows a certificate of it or a bearer token, and the API server is asked whether that user may do this to nodes.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    extract::{Request, State},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use http::StatusCode;
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::{
    Kubelet, Scope,
    access::{Access, Caller},
};
use crate::{console::Console, runtime::Runtime};

/// Who does not say hello by then holds a connection for nothing.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Where kubelets listen, and whom they trust.
#[derive(Debug, Clone)]
pub struct Listen {
    /// Address and port; port 0 takes a free one.
    pub address: SocketAddr,
    /// PEM certificates of the authorities that sign callers' certificates. Without them nobody is let in.
    pub client_ca: Option<String>,
}

impl Listen {
    /// A free port of the loopback, for an API server that is on this machine too; nothing for one that could not
    /// reach it. Callers show a certificate of the authority that the cluster's clients trust, which is usually the one
    /// that signs the API server's own.
    pub fn beside(config: &kube::Config) -> Option<Self> {
        let host = config.cluster_url.host()?.trim_matches(['[', ']']);
        let is_here =
            host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        is_here.then(|| Self {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            client_ca: config.root_cert.as_ref().map(|certificates| pem(certificates)),
        })
    }
}

fn pem(certificates: &[Vec<u8>]) -> String {
    let block = |certificate: &Vec<u8>| {
        let text = BASE64_STANDARD.encode(certificate);
        format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
    };
    certificates.iter().map(block).collect()
}

/// Why the listener could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address is taken or not ours.
    #[error("listening on {address}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The serving certificate could not be made.
    #[error("making a serving certificate")]
    Certificate(#[source] rcgen::Error),
    /// The client CA is not a list of PEM certificates.
    #[error("reading the client CA: {0}")]
    ClientCa(String),
    /// The TLS library refused the configuration.
    #[error("configuring TLS")]
    Tls(#[source] rustls::Error),
}

/// A bound address, before anybody is answered: nodes must know the port before they register.
pub(crate) struct Bound {
    pub(crate) address: SocketAddr,
    listener: TcpListener,
    acceptor: TlsAcceptor,
    access: Access,
}

/// Binds the address and makes a certificate for it.
pub(crate) async fn bind(listen: &Listen, access: Access) -> Result<Bound, ListenError> {
    let config = server_config(listen)?;
    let refused = |source| ListenError::Bind { address: listen.address, source };
    let listener = TcpListener::bind(listen.address).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    Ok(Bound { address, listener, acceptor: TlsAcceptor::from(Arc::new(config)), access })
}

fn server_config(listen: &Listen) -> Result<ServerConfig, ListenError> {
    let names = vec![listen.address.ip().to_string(), "localhost".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).map_err(ListenError::Certificate)?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())
        .map_err(|error| ListenError::Tls(rustls::Error::General(error.to_owned())))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(ListenError::Tls)?;
    let builder = match &listen.client_ca {
        None => builder.with_no_client_auth(),
        Some(text) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(text)?), provider)
                .allow_unauthenticated()
                .build()
                .map_err(|error| ListenError::ClientCa(error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    builder.with_single_cert(vec![made.cert.der().clone()], key).map_err(ListenError::Tls)
}

fn roots(text: &str) -> Result<RootCertStore, ListenError> {
    let bad = |error: &dyn std::fmt::Display| ListenError::ClientCa(error.to_string());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
        roots.add(certificate.map_err(|error| bad(&error))?).map_err(|error| bad(&error))?;
    }
    if roots.is_empty() {
        return Err(ListenError::ClientCa("there is no certificate in it".into()));
    }
    Ok(roots)
}

impl<R: Runtime, C: Console> Kubelet<R, C> {
    /// Answers on the bound address until the kubelets stop.
    pub(crate) async fn listen(self, bound: Bound) {
        let access = Arc::new(bound.access);
        loop {
            let accepted = tokio::select! {
                accepted = bound.listener.accept() => accepted,
                () = self.shutdown.cancelled() => return,
            };
            match accepted {
                Ok((stream, _)) => {
                    let greeting = self.clone().greet(stream, bound.acceptor.clone(), access.clone());
                    tokio::spawn(self.shutdown.clone().run_until_cancelled_owned(greeting));
                }
                Err(error) => {
                    tracing::warn!("accepting a connection to the kubelets: {error}");
                    // Usually too many open files: trying again at once would only spin.
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                }
            }
        }
    }

    async fn greet(self, stream: TcpStream, acceptor: TlsAcceptor, access: Arc<Access>) {
        let stream = match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return tracing::debug!("a TLS handshake with the kubelets failed: {error}"),
            Err(_) => return tracing::debug!("a TLS handshake with the kubelets took too long"),
        };
        let certificates = stream.get_ref().1.peer_certificates();
        let caller = certificates.and_then(|chain| Caller::from_certificate(chain.first()?));
        let gate = Gate { access, caller };
        let router = self.router(Scope::All).layer(middleware::from_fn_with_state(gate, admit));
        self.serve(stream, router).await;
    }
}

/// Who is at the other end, and whom to ask about it.
#[derive(Clone)]
struct Gate {
    access: Arc<Access>,
    caller: Option<Caller>,
}

async fn admit(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    if request.uri().path() == "/healthz" {
        return next.run(request).await;
    }
    let token = request
        .headers()
        .get(http::header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer ").map(|token| token.trim().to_owned()));
    let caller = match (&gate.caller, token) {
        (Some(caller), _) => Some(caller.clone()),
        (None, Some(token)) => gate.access.caller_of(&token).await,
        (None, None) => None,
    };
    let Some(caller) = caller else {
        return (StatusCode::UNAUTHORIZED, "Unauthorized\n").into_response();
    };
    match gate.access.allows(&caller, request.method(), request.uri().path()).await {
        Ok(()) => next.run(request).await,
        Err(reason) => (StatusCode::FORBIDDEN, format!("Forbidden: {reason}\n")).into_response(),
    }
}

#[cfg(test)]
mod tests;
