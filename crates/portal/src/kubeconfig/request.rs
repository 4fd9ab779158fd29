//! Requests for certificates: made on the machine of a user, or here for a page, and checked in either case.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ECDSA_P256_SHA256};
use x509_parser::{
    certification_request::X509CertificationRequest,
    prelude::FromDer,
    x509::{RelativeDistinguishedName, X509Name},
};

const BEGIN: &str = "-----BEGIN CERTIFICATE REQUEST-----";
const END: &str = "-----END CERTIFICATE REQUEST-----";

/// The name in a certificate: the user, whom nobody can choose, and the device, so that one can be revoked alone. There is
/// no organization in it, since that would be a group.
pub fn certificate_name(user: &str, device: &str) -> String {
    format!("maar:{user}:{device}")
}

/// A certificate as PEM.
pub fn certificate_pem(der: &[u8]) -> String {
    pem(der, "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----")
}

fn pem(der: &[u8], begin: &str, end: &str) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("{begin}\n{}\n{end}\n", lines.join("\n"))
}

/// A new key and the request for its certificate.
pub struct Request {
    /// The private key, as PEM.
    pub key: String,
    /// The request, as PEM.
    pub request: String,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Request").finish_non_exhaustive()
    }
}

impl Request {
    /// Makes both, for a name.
    pub fn new(name: &str) -> Result<Self, String> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(|error| error.to_string())?;
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        let request = params.serialize_request(&key).and_then(|request| request.pem());
        Ok(Self { key: key.serialize_pem(), request: request.map_err(|error| error.to_string())? })
    }
}

impl Request {
    /// A kubeconfig for the certificate of this request, with the key that only we have.
    pub fn complete(&self, kubeconfig: &str) -> Result<String, String> {
        let mut whole: serde_json::Value =
            serde_saphyr::from_str(kubeconfig).map_err(|error| error.to_string())?;
        let user = whole.pointer_mut("/users/0/user").and_then(serde_json::Value::as_object_mut);
        let user = user.ok_or("the kubeconfig has no user")?;
        user.insert("client-key-data".to_owned(), BASE64_STANDARD.encode(&self.key).into());
        serde_saphyr::to_string(&whole).map_err(|error| error.to_string())
    }
}

/// The request as the cluster is to have it, if it is for exactly this name and nothing besides, and signed by its key.
///
/// What goes on is written anew from what was read: of a text with several requests in it, or with something before it,
/// another reader may take another part.
pub(super) fn check(request: &str, name: &str) -> Result<String, &'static str> {
    const NONE: &str = "is no certificate request as PEM: one block, with nothing before or behind it";
    let der = der(request).ok_or(NONE)?;
    let Ok(([], read)) = X509CertificationRequest::from_der(&der) else { return Err(NONE) };
    read.verify_signature().map_err(|_| "is not signed by its key")?;
    let asked = &read.certification_request_info;
    if only_name(&asked.subject) != Some(name) {
        return Err("has exactly one name, the common name maar:USER:DEVICE");
    }
    if !asked.attributes().is_empty() {
        return Err("asks for nothing besides: no other names, no extensions, no attributes");
    }
    Ok(pem(&der, BEGIN, END))
}

fn der(text: &str) -> Option<Vec<u8>> {
    let lines = text.trim().strip_prefix(BEGIN)?.strip_suffix(END)?;
    let letters: String = lines.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
    // Anything but one block has letters that are not of base64.
    BASE64_STANDARD.decode(letters).ok()
}

/// The common name of a subject that has nothing else.
fn only_name<'a>(subject: &'a X509Name<'_>) -> Option<&'a str> {
    let mut attributes = subject.iter().flat_map(RelativeDistinguishedName::iter);
    let (first, None) = (attributes.next()?, attributes.next()) else { return None };
    let is_name = first.attr_type() == &x509_parser::oid_registry::OID_X509_COMMON_NAME;
    first.as_str().ok().filter(|_| is_name)
}

#[cfg(test)]
mod tests {
    use rcgen::SanType;

    use super::*;

    fn request(change: impl FnOnce(&mut CertificateParams)) -> String {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "maar:u-1:d-1");
        change(&mut params);
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        params.serialize_request(&key).unwrap().pem().unwrap()
    }

    #[test]
    fn a_request_is_for_the_user_and_the_device_and_nothing_else() {
        let own = Request::new(&certificate_name("u-1", "d-1")).unwrap();
        assert_eq!(check(&own.request, "maar:u-1:d-1"), Ok(own.request.replace('\r', "")));
        assert!(own.key.contains("PRIVATE KEY") && !format!("{own:?}").contains("PRIVATE"));
        let rows = [
            ("another name", own.request.clone(), "maar:u-2:d-1"),
            (
                "a group",
                request(|params| params.distinguished_name.push(DnType::OrganizationName, "system:masters")),
                "maar:u-1:d-1",
            ),
            (
                "an administrator",
                request(|params| {
                    params.distinguished_name = DistinguishedName::new();
                    params.distinguished_name.push(DnType::CommonName, "kubernetes-admin");
                }),
                "maar:u-1:d-1",
            ),
            (
                "another name besides",
                request(|params| {
                    params.subject_alt_names.push(SanType::URI("spiffe://a/b".try_into().unwrap()));
                }),
                "maar:u-1:d-1",
            ),
            (
                "no request",
                "-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----".to_owned(),
                "maar:u-1:d-1",
            ),
            ("nothing", String::new(), "maar:u-1:d-1"),
            (
                "a usage",
                request(|params| params.extended_key_usages.push(rcgen::ExtendedKeyUsagePurpose::ServerAuth)),
                "maar:u-1:d-1",
            ),
        ];
        for (what, request, name) in rows {
            assert!(check(&request, name).is_err(), "{what}");
        }
        // One letter of the signature is another.
        let der_broken = own.request.replacen("MI", "MJ", 1);
        assert!(check(&der_broken, "maar:u-1:d-1").is_err());
    }

    /// Go takes only a beginning at the start of a line, others one anywhere: each would read another request.
    #[test]
    fn a_text_that_two_readers_read_differently_is_refused() {
        let good = request(|_| {});
        let evil = request(|params| {
            params.distinguished_name = DistinguishedName::new();
            params.distinguished_name.push(DnType::CommonName, "system:kube-controller-manager");
        });
        for text in [
            format!("x{good}{evil}"),
            format!("{good}{evil}"),
            format!("{evil}{good}"),
            format!("hello\n{good}"),
            format!("{good}hello"),
            good.replace("CERTIFICATE REQUEST", "CERTIFICATE"),
            good.replacen('\n', "\nProc-Type: 4\n\n", 1),
        ] {
            assert!(check(&text, "maar:u-1:d-1").is_err(), "{text}");
        }
        assert!(check(&format!("\n{good}\r\n"), "maar:u-1:d-1").is_ok(), "space around it is none of that");
    }

    #[test]
    fn bytes_behind_the_request_are_refused() {
        let mut bytes = der(&request(|_| {})).unwrap();
        bytes.push(0);
        assert!(check(&pem(&bytes, BEGIN, END), "maar:u-1:d-1").is_err());
    }
}
