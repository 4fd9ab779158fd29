//! Subjects of certificates, byte for byte as they were asked for: rcgen keeps one value of each kind, and a
//! certificate names an organization for each group of its user.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::SigningKey;
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::{FromDer as _, X509CertificationRequest};

const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;
/// What stands before the subject in the signed part: version, number, algorithm, issuer and validity.
const BEFORE_SUBJECT: usize = 5;

/// The subject of a request in PEM.
pub(super) fn of_request(pem: &str) -> Option<Vec<u8>> {
    let (_, pem) = parse_x509_pem(pem.as_bytes()).ok()?;
    let (_, request) = X509CertificationRequest::from_der(&pem.contents).ok()?;
    Some(request.certification_request_info.subject.as_raw().to_vec())
}

/// The same certificate with another subject, signed anew.
pub(super) fn exchange(
    certificate: &[u8],
    subject: &[u8],
    key: &impl SigningKey,
) -> Result<Vec<u8>, rcgen::Error> {
    let (signed, algorithm) =
        exchanged(certificate, subject).ok_or(rcgen::Error::CouldNotParseCertificate)?;
    // No bit of the last byte is unused.
    let mut signature = vec![0];
    signature.extend(key.sign(&signed)?);
    Ok(element(SEQUENCE, &[&signed, algorithm, &element(BIT_STRING, &signature)].concat()))
}

/// The part to be signed with the other subject, and the algorithm that signs it.
fn exchanged<'a>(certificate: &'a [u8], subject: &[u8]) -> Option<(Vec<u8>, &'a [u8])> {
    let (signed, rest) = first(content(certificate)?)?;
    let (algorithm, _) = first(rest)?;
    let all = content(signed)?;
    let mut tail = all;
    for _ in 0..BEFORE_SUBJECT {
        tail = first(tail)?.1;
    }
    let head = &all[..all.len() - tail.len()];
    let (_, tail) = first(tail)?;
    Some((element(SEQUENCE, &[head, subject, tail].concat()), algorithm))
}

/// The first element, and what follows it.
fn first(der: &[u8]) -> Option<(&[u8], &[u8])> {
    der.split_at_checked(lengths(der)?.1)
}

/// What is in the first element.
fn content(der: &[u8]) -> Option<&[u8]> {
    let (start, end) = lengths(der)?;
    der.get(start..end)
}

/// How long the first element's head is, and the whole of it.
fn lengths(der: &[u8]) -> Option<(usize, usize)> {
    let short = usize::from(*der.get(1)?);
    if short < 0x80 {
        return Some((2, 2 + short));
    }
    let head = 2 + (short & 0x7f);
    let mut digits = der.get(2..head)?.iter();
    let length = digits
        .try_fold(0_usize, |length, byte| length.checked_mul(0x100)?.checked_add(usize::from(*byte)))?;
    Some((head, head.checked_add(length)?))
}

fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut der = vec![tag];
    let length = content.len().to_be_bytes();
    let digits = &length[length.iter().position(|byte| *byte != 0).unwrap_or(length.len() - 1)..];
    match digits {
        [short] if *short < 0x80 => der.push(*short),
        _ => {
            // At most eight digits.
            der.push(0x80 | u8::try_from(digits.len()).unwrap_or_default());
            der.extend_from_slice(digits);
        }
    }
    der.extend_from_slice(content);
    der
}

/// A certificate as text.
pub(super) fn pem(certificate: &[u8]) -> String {
    let text = STANDARD.encode(certificate);
    let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, next) = rest.split_at(rest.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        rest = next;
    }
    pem.push_str("-----END CERTIFICATE-----\n");
    pem
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PublicKeyData as _};
    use x509_parser::prelude::X509Certificate;

    use super::*;

    fn named(names: &[(DnType, &str)]) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        for (kind, name) in names {
            params.distinguished_name.push(kind.clone(), *name);
        }
        params
    }

    #[test]
    fn a_certificate_gets_another_subject_and_a_signature_that_holds() {
        let key = KeyPair::generate().unwrap();
        let made = named(&[(DnType::CommonName, "short")]).self_signed(&key).unwrap();
        let long = "x".repeat(300);
        let organization = DnType::CustomDnType(vec![2, 5, 4, 10]);
        let names =
            [(DnType::OrganizationName, "one"), (organization, long.as_str()), (DnType::CommonName, "me")];
        let request = named(&names).serialize_request(&key).unwrap().pem().unwrap();
        let subject = of_request(&request).unwrap();
        let exchanged = exchange(made.der(), &subject, &key).unwrap();
        let (_, parsed) = parse_x509_pem(pem(&exchanged).as_bytes()).unwrap();
        let (rest, certificate) = X509Certificate::from_der(&parsed.contents).unwrap();
        assert!(rest.is_empty());
        let organizations: Vec<&str> =
            certificate.subject().iter_organization().map(|name| name.as_str().unwrap()).collect();
        assert_eq!(organizations, ["one", long.as_str()]);
        assert_eq!(certificate.public_key().subject_public_key.data, key.der_bytes());
        certificate.verify_signature(Some(certificate.public_key())).unwrap();
    }
}
