//! The cluster's keys: an authority that signs certificates, a key that signs service-account tokens, and the
//! administrator's token. Each is made when first asked for, because most test clusters never need one, and kept
//! in the data folder, so that kubeconfigs and tokens outlive a restart.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use parking_lot::Mutex;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, PKCS_ED25519, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use sha2::{Digest as _, Sha256};

use super::subjects;
use crate::server::UserInfo;
use crate::world::World;

/// What precedes the 32 secret bytes of an Ed25519 key in PKCS #8 (RFC 8410).
const ED25519_PREFIX: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

const YEAR: Duration = Duration::from_hours(365 * 24);

/// The names under which Pods know the API server.
const SERVICE_NAMES: &[&str] = &[
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "127.0.0.1",
    "::1",
    "10.96.0.1",
];

/// What can go wrong with keys and certificates.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// A file of the data folder cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A key or certificate cannot be made or read.
    #[error("making or reading a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// A certificate names a user by one organization, so that several groups do not fit.
    #[error("user {user:?} is in {groups} groups; a client certificate can name only one")]
    Groups {
        /// The user.
        user: String,
        /// How many groups.
        groups: usize,
    },
}

/// A certificate and its private key, both in PEM.
#[derive(Clone, Debug)]
pub(crate) struct Credential {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// The authority: its certificate and the key behind it.
pub(crate) struct Authority {
    pub(crate) pem: String,
    pub(crate) der: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

/// How a requested certificate is to be.
pub(crate) struct Terms {
    pub(crate) key_usages: Vec<KeyUsagePurpose>,
    pub(crate) extended: Vec<ExtendedKeyUsagePurpose>,
    pub(crate) lifetime: Duration,
}

/// See the module documentation.
pub(crate) struct Pki {
    world: World,
    folder: Option<PathBuf>,
    /// Decides the authority's key in a simulated cluster: its certificate is published in ConfigMaps, and the
    /// same seed must give the same objects.
    seed: Option<[u8; 32]>,
    making: Mutex<()>,
    authority: OnceLock<Authority>,
    token_key: OnceLock<KeyPair>,
    admin_token: OnceLock<String>,
}

impl Pki {
    pub(crate) fn new(world: World, data_folder: Option<&Path>) -> Self {
        let seed = world.clock.is_simulated().then(|| world.bytes());
        Self {
            world,
            folder: data_folder.map(|folder| folder.join("pki")),
            seed,
            making: Mutex::new(()),
            authority: OnceLock::new(),
            token_key: OnceLock::new(),
            admin_token: OnceLock::new(),
        }
    }

    /// The authority that signs this cluster's certificates.
    pub(crate) fn authority(&self) -> Result<&Authority, PkiError> {
        self.once(&self.authority, || {
            let key = self.kept("ca.key", || Ok(self.authority_key()?.serialize_pem()))?;
            let key = KeyPair::from_pem(&key)?;
            let pem = self.kept("ca.crt", || Ok(authority_params().self_signed(&key)?.pem()))?;
            let der = pem_to_der(&pem)?;
            let issuer = Issuer::from_ca_cert_der(&der, key)?;
            Ok(Authority { pem, der, issuer })
        })
    }

    /// The key that signs service-account tokens.
    pub(crate) fn token_key(&self) -> Result<&KeyPair, PkiError> {
        self.once(&self.token_key, || {
            let pem = self.kept("service-account.key", || Ok(KeyPair::generate()?.serialize_pem()))?;
            Ok(KeyPair::from_pem(&pem)?)
        })
    }

    /// The bearer token of the administrator.
    pub(crate) fn admin_token(&self) -> Result<&str, PkiError> {
        let token = self.once(&self.admin_token, || {
            // A fresh key is 32 bytes of the system's randomness; the world's would follow from a short seed.
            self.kept("admin.token", || {
                Ok(URL_SAFE_NO_PAD.encode(Sha256::digest(KeyPair::generate()?.serialized_der())))
            })
        })?;
        Ok(token)
    }

    /// A certificate for the API server under its usual names and `more`.
    pub(crate) fn serving(&self, more: &[String]) -> Result<Credential, PkiError> {
        let names: Vec<String> =
            SERVICE_NAMES.iter().map(ToString::to_string).chain(more.iter().cloned()).collect();
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = subject("kube-apiserver", None);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        // Clients judge this by their own clock, which a simulated cluster does not share.
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2120, 1, 1);
        self.issue(&params)
    }

    /// A certificate that makes its holder `user`, for a year.
    pub(crate) fn client(&self, user: &UserInfo) -> Result<Credential, PkiError> {
        let mut groups = user.groups.iter().filter(|group| *group != "system:authenticated");
        let group = groups.next();
        if groups.next().is_some() {
            return Err(PkiError::Groups { user: user.username.clone(), groups: user.groups.len() });
        }
        let mut params = CertificateParams::default();
        params.distinguished_name = subject(&user.username, group.map(String::as_str));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        set_validity(&mut params, self.world.clock.now(), YEAR);
        self.issue(&params)
    }

    /// Signs what a request asks for, for its whole subject, under `terms`.
    pub(crate) fn sign(
        &self,
        mut request: CertificateSigningRequestParams,
        subject: &[u8],
        terms: Terms,
    ) -> Result<String, PkiError> {
        let params = &mut request.params;
        params.is_ca = IsCa::NoCa;
        params.key_usages = terms.key_usages;
        params.extended_key_usages = terms.extended;
        params.use_authority_key_identifier_extension = true;
        set_validity(params, self.world.clock.now(), terms.lifetime);
        let issuer = &self.authority()?.issuer;
        let certificate = request.signed_by(issuer)?;
        Ok(subjects::pem(&subjects::exchange(certificate.der(), subject, issuer.key())?))
    }

    fn issue(&self, params: &CertificateParams) -> Result<Credential, PkiError> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.authority()?.issuer)?;
        Ok(Credential { certificate: certificate.pem(), key: key.serialize_pem() })
    }

    fn authority_key(&self) -> Result<KeyPair, PkiError> {
        let Some(seed) = self.seed else { return Ok(KeyPair::generate()?) };
        let mut der = ED25519_PREFIX.to_vec();
        der.extend_from_slice(&Sha256::digest([&seed[..], b"certificate authority"].concat()));
        Ok(KeyPair::from_pkcs8_der_and_sign_algo(&PrivatePkcs8KeyDer::from(der), &PKCS_ED25519)?)
    }

    /// Makes a value once, also when several ask at the same time.
    fn once<'a, T>(
        &self,
        slot: &'a OnceLock<T>,
        make: impl FnOnce() -> Result<T, PkiError>,
    ) -> Result<&'a T, PkiError> {
        if let Some(made) = slot.get() {
            return Ok(made);
        }
        let _making = self.making.lock();
        if let Some(made) = slot.get() {
            return Ok(made);
        }
        let value = make()?;
        Ok(slot.get_or_init(|| value))
    }

    /// The content of a file of the folder, which is made if it is not there.
    fn kept(&self, name: &str, make: impl FnOnce() -> Result<String, PkiError>) -> Result<String, PkiError> {
        let Some(folder) = &self.folder else { return make() };
        let path = folder.join(name);
        match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other.map_err(|source| PkiError::File { path, source }),
        }
        let content = make()?;
        write_secret(folder, &path, &content).map_err(|source| PkiError::File { path, source })?;
        Ok(content)
    }
}

/// Writes a file only its owner can read, whole or not at all.
fn write_secret(folder: &Path, path: &Path, content: &str) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let unfinished = path.with_extension("new");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()?;
    fs::rename(unfinished, path)
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = subject("kubernetes", None);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages =
        vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::CrlSign];
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2120, 1, 1);
    params
}

fn subject(name: &str, group: Option<&str>) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    if let Some(group) = group {
        subject.push(DnType::OrganizationName, group);
    }
    subject.push(DnType::CommonName, name);
    subject
}

/// Sets the validity: from a little before now, for clocks that differ, until `lifetime` has passed.
fn set_validity(params: &mut CertificateParams, now: Timestamp, lifetime: Duration) {
    let epoch = date_time_ymd(1970, 1, 1);
    let now = Duration::from_secs(u64::try_from(now.as_second()).unwrap_or(0));
    params.not_before = epoch + now.saturating_sub(Duration::from_mins(5));
    params.not_after = epoch + now + lifetime;
}

fn pem_to_der(pem: &str) -> Result<CertificateDer<'static>, PkiError> {
    let (_, parsed) = x509_parser::pem::parse_x509_pem(pem.as_bytes())
        .map_err(|_| rcgen::Error::CouldNotParseCertificate)?;
    Ok(CertificateDer::from(parsed.contents))
}
