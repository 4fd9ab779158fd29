//! The syntax of names: each rule gives its complaints about a text, none if it is fine.
//!
//! The rules for metadata are the machinery's; here are those that only built-in kinds have.

use std::net::IpAddr;

use maar_machinery::names::{SUBDOMAIN_LENGTH, metadata};
pub(super) use maar_machinery::names::{
    config_key as data_key, dns_1035_label as letter_label, dns_label as label, dns_subdomain as subdomain,
    label_value, path_segment, qualified_name as qualified,
};

/// What is wrong with a text.
pub(super) type Rule = fn(&str) -> Vec<String>;

/// How the objects of a kind may be named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// Dotted lower-case labels; finalizers of any qualified name. What custom resources have.
    Custom,
    /// Dotted lower-case labels.
    #[default]
    Subdomain,
    /// One lower-case label.
    Label,
    /// Anything that fits between two slashes.
    PathSegment,
}

impl NameRule {
    /// The rule as the machinery has it.
    pub(super) fn rule(self) -> metadata::NameRule {
        match self {
            Self::Custom | Self::Subdomain => metadata::subdomain_names,
            Self::Label => metadata::label_names,
            Self::PathSegment => metadata::path_segment_names,
        }
    }
}

/// A subdomain whose first label may be `*`.
pub(super) fn wildcard_subdomain(text: &str) -> Vec<String> {
    let fits = text.len() <= SUBDOMAIN_LENGTH
        && text.strip_prefix("*.").is_some_and(|rest| subdomain(rest).is_empty());
    unless(fits, "a wildcard DNS-1123 subdomain starts with '*.' and goes on with a valid subdomain")
}

/// A subdomain that may have underscores, as search paths of resolvers have.
pub(super) fn loose_subdomain(text: &str) -> Vec<String> {
    let fits = |part: &str| {
        let edges = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        surrounded(part, edges, |byte| edges(byte) || byte == b'-')
    };
    let fits = text.len() <= SUBDOMAIN_LENGTH && text.split('.').all(fits);
    unless(fits, "must be a subdomain of lower case letters, digits, '_', '-' and '.', of at most 253 bytes")
}

/// The name of an environment variable: anything printable but `=`.
pub(super) fn variable(text: &str) -> Vec<String> {
    let fits = |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'=';
    let fits = !text.is_empty() && text.bytes().all(fits);
    unless(fits, "a valid environment variable name has printable ASCII characters other than '=' only")
}

/// The name of a port: at most fifteen characters, one of them a letter.
pub(super) fn port_name(text: &str) -> Vec<String> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let rules = [
        (text.len() <= 15, "must be no more than 15 characters"),
        (
            !text.is_empty() && text.bytes().all(fits),
            "must contain only lower case alphanumeric characters and '-'",
        ),
        (text.bytes().any(|byte| byte.is_ascii_lowercase()), "must contain at least one letter (a-z)"),
        (!text.contains("--"), "must not contain consecutive hyphens"),
        (!text.starts_with('-') && !text.ends_with('-'), "must not begin or end with a hyphen"),
    ];
    rules.into_iter().filter(|(kept, _)| !kept).map(|(_, complaint)| complaint.to_owned()).collect()
}

/// The name of an HTTP header.
pub(super) fn header(text: &str) -> Vec<String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let fits = !text.is_empty() && text.bytes().all(fits);
    unless(fits, "a valid HTTP header must consist of alphanumeric characters, '-' or '_'")
}

/// An address, written the one canonical way.
pub(super) fn address(text: &str) -> Vec<String> {
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            vec!["must not be an IPv4-mapped IPv6 address".to_owned()]
        }
        Ok(_) => Vec::new(),
        Err(_) => vec!["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)".to_owned()],
    }
}

/// A network: an address without host bits and the length of its prefix.
pub(super) fn network(text: &str) -> Vec<String> {
    let Some((bits, width, length)) = parse_network(text) else {
        return vec!["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)".to_owned()];
    };
    let has_host_bits = length < width && bits << length != 0;
    unless(!has_host_bits, "must not have bits set beyond the prefix length")
}

/// Whether a network is a smaller part of another.
pub(super) fn is_within(inner: &str, outer: &str) -> bool {
    let (Some((inner, inner_width, inner_length)), Some((outer, outer_width, outer_length))) =
        (parse_network(inner), parse_network(outer))
    else {
        return false;
    };
    let same_prefix = outer_length == 0 || (inner ^ outer) >> (128 - outer_length) == 0;
    inner_width == outer_width && inner_length > outer_length && same_prefix
}

/// The bits of a network, from the left, how many an address has, and how many are the network's.
fn parse_network(text: &str) -> Option<(u128, u32, u32)> {
    let (address, length) = text.split_once('/')?;
    let length: u32 = length.parse().ok()?;
    let (bits, width) = match address.parse::<IpAddr>().ok()? {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    (length <= width).then_some((bits, width, length))
}

fn unless(fits: bool, complaint: &str) -> Vec<String> {
    if fits { Vec::new() } else { vec![complaint.to_owned()] }
}

fn surrounded(text: &str, edges: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|&byte| edges(byte))
        && bytes.last().is_some_and(|&byte| edges(byte))
        && bytes.iter().all(|&byte| inner(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_takes_what_kubernetes_takes() {
        let rows: &[(Rule, &[&str], &[&str])] = &[
            (wildcard_subdomain, &["*.a.b"], &["*", "a.*.b", "*.", "a.b"]),
            (loose_subdomain, &["_a.b", "svc.cluster.local"], &["", "A", "a..b"]),
            (variable, &["A", "a.b c", "1"], &["", "a=b", "ä"]),
            (port_name, &["http", "a-1"], &["", "1", "a--b", "-a", "http-and-more-than", "A"]),
            (header, &["X-Api_1"], &["", "a b", "a:"]),
            (address, &["10.0.0.1", "::1"], &["", "010.0.0.1", "1.2.3", "::ffff:1.2.3.4", "a"]),
            (
                network,
                &["10.0.0.0/8", "0.0.0.0/0", "::/0", "2001:db8::/32", "1.2.3.4/32", "::1/128"],
                &["10.0.0.1/8", "10.0.0.0", "10.0.0.0/33", "x/8", "::1/64"],
            ),
        ];
        for (rule, good, bad) in rows {
            for text in *good {
                assert_eq!(rule(text), Vec::<String>::new(), "{text}");
            }
            for text in *bad {
                assert_ne!(rule(text), Vec::<String>::new(), "{text}");
            }
        }
    }

    #[test]
    fn a_network_is_within_a_larger_one_of_its_family() {
        for (inner, outer) in
            [("10.1.0.0/16", "10.0.0.0/8"), ("1.2.3.4/32", "0.0.0.0/0"), ("2001:db8::/48", "2001:db8::/32")]
        {
            assert!(is_within(inner, outer), "{inner} {outer}");
        }
        for (inner, outer) in
            [("10.0.0.0/8", "10.0.0.0/8"), ("11.0.0.0/16", "10.0.0.0/8"), ("::/16", "0.0.0.0/0"), ("x", "y")]
        {
            assert!(!is_within(inner, outer), "{inner} {outer}");
        }
    }
}
