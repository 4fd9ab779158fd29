//! Certificates for the names that the portal asks for, with times and signers of our choice: those of the cluster's own
//! signer last ten minutes at least.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair, date_time_ymd};
use serde_json::json;

use super::server::Server;

/// From when until when, in years.
pub(crate) type Years = (i32, i32);

/// The cluster's own authority.
pub(crate) fn own_authority(server: &Server) -> Issuer<'static, KeyPair> {
    let (certificate, key) = server.authority();
    Issuer::from_ca_cert_pem(&certificate, KeyPair::from_pem(&key).unwrap()).unwrap()
}

/// One of the same name, with a key of its own.
pub(crate) fn foreign_authority(server: &Server) -> Issuer<'static, KeyPair> {
    let (certificate, _) = server.authority();
    Issuer::from_ca_cert_pem(&certificate, KeyPair::generate().unwrap()).unwrap()
}

/// A kubeconfig with such a certificate.
pub(crate) fn kubeconfig(
    server: &Server,
    authority: &Issuer<'_, KeyPair>,
    name: &str,
    (from, until): Years,
) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.not_before = date_time_ymd(from, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, authority).unwrap().pem();
    let (address, root) = server.reached();
    let encode = |text: &str| BASE64_STANDARD.encode(text);
    let user = json!({ "client-certificate-data": encode(&certificate),
        "client-key-data": encode(&key.serialize_pem()) });
    let cluster = json!({ "server": address, "certificate-authority-data": encode(&root) });
    let whole = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{ "name": "x", "cluster": cluster }],
        "users": [{ "name": "x", "user": user }],
        "contexts": [{ "name": "x", "context": { "cluster": "x", "user": "x" } }],
    });
    whole.to_string()
}
