//! Names, labels and annotations: what Kubernetes lets through, and what it says about the rest.
//!
//! Each function gives the list of complaints about a value; an empty list means the value is fine.

/// The most characters of a DNS label.
pub const LABEL_LENGTH: usize = 63;
/// The most characters of a DNS subdomain.
pub const SUBDOMAIN_LENGTH: usize = 253;
/// The most bytes of all annotations of an object together.
pub const ANNOTATIONS_SIZE: usize = 256 * 1024;

/// A label of DNS in lower case (RFC 1123): namespaces, container names.
pub fn dns_label(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, LABEL_LENGTH);
    if !is_dns_label(value) {
        complaints.push(mismatch(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
            "[a-z0-9]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "123-abc"],
        ));
    }
    complaints
}

/// Labels of DNS joined by dots (RFC 1123): most object names.
pub fn dns_subdomain(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, SUBDOMAIN_LENGTH);
    if !value.split('.').all(is_dns_label) {
        complaints.push(mismatch(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
            &["example.com"],
        ));
    }
    complaints
}

fn is_dns_label(value: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = value.as_bytes();
    bytes.first().is_some_and(|&byte| fits(byte))
        && bytes.last().is_some_and(|&byte| fits(byte))
        && bytes.iter().all(|&byte| fits(byte) || byte == b'-')
}

fn too_long(value: &str, most: usize) -> Vec<String> {
    if value.len() > most { vec![format!("must be no more than {most} bytes")] } else { Vec::new() }
}

fn mismatch(rule: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}'")).collect();
    format!("{rule} (e.g. {}, regex used for validation is '{pattern}')", examples.join(",  or "))
}
