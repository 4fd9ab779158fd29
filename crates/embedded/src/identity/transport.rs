//! TLS as the API server offers it, and who a client certificate says its holder is.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::time_provider::TimeProvider;
use rustls::{
    CipherSuite, DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig, SignatureScheme,
};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::pki::PkiError;
use crate::server::{Server, UserInfo};
use crate::world::Clock;

/// What a connection's client certificate says; put into the extensions of its requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// No certificate: the request itself must say who asks.
    Unnamed,
    /// A certificate of this cluster.
    User(UserInfo),
    /// A certificate that this cluster did not sign, or not for now, or not for clients.
    Refused,
}

/// Why TLS could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The keys are missing.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// A key that was just made cannot be read.
    #[error("reading a key: {0}")]
    Pem(#[from] rustls::pki_types::pem::Error),
    /// The certificates do not fit together.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    /// The authority cannot verify clients.
    #[error(transparent)]
    Verifier(#[from] VerifierBuilderError),
}

/// The server's side of TLS.
#[derive(Debug)]
pub(crate) struct Transport {
    pub(crate) config: Arc<ServerConfig>,
    verifier: Arc<dyn ClientCertVerifier>,
    clock: Clock,
}

impl Transport {
    pub(crate) fn new(server: &Server, names: &[String]) -> Result<Self, TransportError> {
        let pki = &server.identity.pki;
        let provider = Arc::new(provider());
        let verifier = client_verifier(&provider, &pki.authority()?.der)?;
        let identity = pki.serving(names)?;
        let chain = vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes())?];
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
        let clock = server.world.clock.clone();
        let mut config = ServerConfig::builder_with_details(provider, Arc::new(ClusterTime(clock.clone())))
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(Arc::new(AnyCertificate(Arc::clone(&verifier))))
            .with_single_cert(chain, key)?;
        config.ignore_client_order = true;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), verifier, clock })
    }

    /// Who the client's certificates say it is.
    pub(crate) fn peer(&self, chain: &[CertificateDer<'_>]) -> Peer {
        let Some((certificate, intermediates)) = chain.split_first() else { return Peer::Unnamed };
        let Some(now) = ClusterTime(self.clock.clone()).current_time() else { return Peer::Refused };
        match self.verifier.verify_client_cert(certificate, intermediates, now) {
            Ok(_) => user_of(certificate).map_or(Peer::Refused, Peer::User),
            Err(error) => {
                tracing::debug!(%error, "a client certificate was refused");
                Peer::Refused
            }
        }
    }
}

/// The shorter AES key first, as Go's servers have it: watches to many are bound by what encryption costs.
fn provider() -> CryptoProvider {
    let mut provider = rustls::crypto::ring::default_provider();
    provider.cipher_suites.sort_by_key(|suite| suite.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256);
    provider
}

fn client_verifier(
    provider: &Arc<CryptoProvider>,
    authority: &CertificateDer<'static>,
) -> Result<Arc<dyn ClientCertVerifier>, TransportError> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.clone())?;
    Ok(WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .allow_unauthenticated()
        .build()?)
}

/// The common name is the user, the organizations are the groups.
fn user_of(certificate: &CertificateDer<'_>) -> Option<UserInfo> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let subject = certificate.subject();
    let username = subject.iter_common_name().last()?.as_str().ok()?.to_owned();
    let groups = subject.iter_organization().filter_map(|name| name.as_str().ok()).map(str::to_owned);
    Some(UserInfo { username, groups: groups.collect(), ..UserInfo::default() })
}

/// Lets certificates judge validity by the cluster's clock.
#[derive(Debug)]
pub(crate) struct ClusterTime(pub(crate) Clock);

impl TimeProvider for ClusterTime {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from(self.0.now().as_second()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}

/// Accepts any certificate whose key the client holds. Whether it means anything here is judged afterwards, so
/// that a stranger gets the answer 401 and not a broken connection.
#[derive(Debug)]
struct AnyCertificate(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for AnyCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
