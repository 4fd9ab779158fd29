//! Requests for certificates: made on the machine of a user, or here for a page, and checked in either case.

use rcgen::{
    CertificateParams, CertificateSigningRequestParams, DistinguishedName, DnType, DnValue, KeyPair,
    PKCS_ECDSA_P256_SHA256,
};

/// The name in a certificate: the user, whom nobody can choose, and the device, so that one can be revoked alone. There is
/// no organization in it, since that would be a group.
pub fn certificate_name(user: &str, device: &str) -> String {
    format!("maar:{user}:{device}")
}

/// A certificate as PEM.
pub fn certificate_pem(der: &[u8]) -> String {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
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
        use base64::{Engine as _, prelude::BASE64_STANDARD};
        let mut whole: serde_json::Value =
            serde_saphyr::from_str(kubeconfig).map_err(|error| error.to_string())?;
        let user = whole.pointer_mut("/users/0/user").and_then(serde_json::Value::as_object_mut);
        let user = user.ok_or("the kubeconfig has no user")?;
        user.insert("client-key-data".to_owned(), BASE64_STANDARD.encode(&self.key).into());
        serde_saphyr::to_string(&whole).map_err(|error| error.to_string())
    }
}

/// Why a request is not signed, unless it is for exactly this name and nothing besides. Its signature is checked, too.
pub(super) fn check(request: &str, name: &str) -> Result<(), &'static str> {
    let read = CertificateSigningRequestParams::from_pem(request);
    let params =
        read.map_err(|_| "is no certificate request as PEM, signed by its key, without extensions")?.params;
    let mut names = params.distinguished_name.iter();
    let (first, rest) = (names.next(), names.next());
    let (Some((DnType::CommonName, value)), None) = (first, rest) else {
        return Err("has exactly a common name");
    };
    let value = match value {
        DnValue::Utf8String(text) => text.as_str(),
        DnValue::PrintableString(text) => text.as_str(),
        _ => return Err("has its name in UTF-8"),
    };
    if value != name {
        return Err("is for another name than maar:USER:DEVICE");
    }
    if !params.subject_alt_names.is_empty() {
        return Err("has no other names");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rcgen::SanType;

    use super::*;

    fn pem(change: impl FnOnce(&mut CertificateParams)) -> String {
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
        assert_eq!(check(&own.request, "maar:u-1:d-1"), Ok(()));
        assert!(own.key.contains("PRIVATE KEY") && !format!("{own:?}").contains("PRIVATE"));
        let rows = [
            ("another name", own.request.clone(), "maar:u-2:d-1"),
            (
                "a group",
                pem(|params| params.distinguished_name.push(DnType::OrganizationName, "system:masters")),
                "maar:u-1:d-1",
            ),
            (
                "an administrator",
                pem(|params| {
                    params.distinguished_name = DistinguishedName::new();
                    params.distinguished_name.push(DnType::CommonName, "kubernetes-admin");
                }),
                "maar:u-1:d-1",
            ),
            (
                "another name besides",
                pem(|params| params.subject_alt_names.push(SanType::URI("spiffe://a/b".try_into().unwrap()))),
                "maar:u-1:d-1",
            ),
            (
                "no request",
                "-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----".to_owned(),
                "maar:u-1:d-1",
            ),
            ("nothing", String::new(), "maar:u-1:d-1"),
        ];
        for (what, request, name) in rows {
            assert!(check(&request, name).is_err(), "{what}");
        }
        // One letter of the signature is another.
        let der_broken = own.request.replacen("MI", "MJ", 1);
        assert!(check(&der_broken, "maar:u-1:d-1").is_err());
    }
}
