//! Names, labels and annotations: what Kubernetes lets through, and what it says about the rest.
//!
//! The functions here give the list of complaints about one text; an empty list means the text is fine.
//! [`metadata`] puts them together for the `metadata` of a whole object.

pub mod metadata;

/// The most bytes of a DNS label, of a label's name and of a label's value.
pub const LABEL_LENGTH: usize = 63;
/// The most bytes of a DNS subdomain.
pub const SUBDOMAIN_LENGTH: usize = 253;
/// The most bytes of all annotations of an object together, keys included.
pub const ANNOTATIONS_SIZE: usize = 256 * 1024;
/// How many characters are appended to a `generateName`.
pub const SUFFIX_LENGTH: usize = 5;
/// The characters that may be appended to a `generateName`: no vowels, nothing that is easily misread.
pub const SUFFIX_ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

const LABEL_PATTERN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_1035_PATTERN: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const NAME_PATTERN: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const CONFIG_KEY_PATTERN: &str = "[-._a-zA-Z0-9]+";

/// A label of DNS in lower case (RFC 1123): namespaces, containers, ports of services.
pub fn dns_label(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, LABEL_LENGTH);
    if is_dns_label(value) {
        return complaints;
    }
    complaints.push(if value.split('.').all(is_dns_label) {
        "must not contain dots".to_owned()
    } else {
        mismatch(
            "a lowercase RFC 1123 label has lower case letters, digits and '-' only, and a letter or digit at either end",
            LABEL_PATTERN,
            &["my-name", "123-abc"],
        )
    });
    complaints
}

/// Labels of DNS joined by dots (RFC 1123): most objects.
pub fn dns_subdomain(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, SUBDOMAIN_LENGTH);
    if !value.split('.').all(is_dns_label) {
        complaints.push(mismatch(
            "a lowercase RFC 1123 subdomain has lower case letters, digits, '-' and '.' only, and a letter or digit at \
             either end of each part",
            &format!(r"{LABEL_PATTERN}(\.{LABEL_PATTERN})*"),
            &["example.com"],
        ));
    }
    complaints
}

/// A label of DNS that starts with a letter (RFC 1035): services, names of custom resources.
pub fn dns_1035_label(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, LABEL_LENGTH);
    if !is_dns_label(value) || !value.starts_with(|c: char| c.is_ascii_lowercase()) {
        complaints.push(mismatch(
            "a DNS-1035 label has lower case letters, digits and '-' only, starts with a letter and ends with a letter or \
             digit",
            LABEL_1035_PATTERN,
            &["my-name", "abc-123"],
        ));
    }
    complaints
}

/// A qualified name: `name` or `example.com/name`. Keys of labels, finalizers, resources.
pub fn qualified_name(value: &str) -> Vec<String> {
    let rule = "has letters, digits, '-', '_' and '.' only, and a letter or digit at either end";
    let examples = ["MyName", "my.name", "123-abc"];
    let mut complaints = Vec::new();
    let name = match value.split_once('/') {
        None => value,
        Some((_, name)) if name.contains('/') => {
            let text = mismatch(&format!("a qualified name {rule}"), NAME_PATTERN, &examples);
            return vec![format!(
                "{text}, and may have a DNS subdomain and '/' before it ('example.com/MyName')"
            )];
        }
        Some(("", name)) => {
            complaints.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((prefix, name)) => {
            complaints.extend(dns_subdomain(prefix).into_iter().map(|text| format!("prefix part {text}")));
            name
        }
    };
    if name.is_empty() {
        complaints.push("name part must be non-empty".to_owned());
    }
    complaints.extend(too_long(name, LABEL_LENGTH).into_iter().map(|text| format!("name part {text}")));
    if !is_name(name) {
        complaints.push(mismatch(&format!("name part {rule}"), NAME_PATTERN, &examples));
    }
    complaints
}

/// The value of a label: empty, or like the name part of a qualified name.
pub fn label_value(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, LABEL_LENGTH);
    if !value.is_empty() && !is_name(value) {
        complaints.push(mismatch(
            "a label's value is empty or has letters, digits, '-', '_' and '.' only, and a letter or digit at either end",
            &format!("({NAME_PATTERN})?"),
            &["MyValue", "my_value", "12345"],
        ));
    }
    complaints
}

/// A key of a ConfigMap or Secret.
pub fn config_key(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, SUBDOMAIN_LENGTH);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if value.is_empty() || !value.bytes().all(fits) {
        let rule = "a config key has letters, digits, '-', '_' and '.' only";
        complaints.push(mismatch(rule, CONFIG_KEY_PATTERN, &["key.name", "KEY_NAME", "key-name"]));
    }
    match value {
        "." => complaints.push("must not be '.'".to_owned()),
        ".." => complaints.push("must not be '..'".to_owned()),
        _ if value.starts_with("..") => complaints.push("must not start with '..'".to_owned()),
        _ => {}
    }
    complaints
}

/// A name that only has to survive as a segment of a URL's path: roles, bindings.
pub fn path_segment(value: &str) -> Vec<String> {
    if matches!(value, "." | "..") {
        return vec![format!("may not be '{value}'")];
    }
    path_segment_prefix(value)
}

/// The beginning of such a name, as in `generateName`.
pub fn path_segment_prefix(value: &str) -> Vec<String> {
    ["/", "%"]
        .into_iter()
        .filter(|part| value.contains(part))
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

/// A name from a `generateName` and random numbers, one for each character of the suffix.
///
/// The result is never longer than a DNS label, whatever the prefix.
pub fn generate_name(prefix: &str, mut random: impl FnMut() -> u32) -> String {
    let mut end = prefix.len().min(LABEL_LENGTH - SUFFIX_LENGTH);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = prefix[..end].to_owned();
    for _ in 0..SUFFIX_LENGTH {
        let index = usize::try_from(random()).unwrap_or_default() % SUFFIX_ALPHABET.len();
        name.push(char::from(SUFFIX_ALPHABET[index]));
    }
    name
}

fn is_dns_label(value: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    framed(value, fits, |byte| fits(byte) || byte == b'-')
}

fn is_name(value: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric();
    framed(value, fits, |byte| fits(byte) || matches!(byte, b'-' | b'_' | b'.'))
}

/// Whether the ends of a text are made of one set of characters and the rest of another.
fn framed(value: &str, end: impl Fn(u8) -> bool, middle: impl Fn(u8) -> bool) -> bool {
    let bytes = value.as_bytes();
    bytes.first().is_some_and(|&byte| end(byte))
        && bytes.last().is_some_and(|&byte| end(byte))
        && bytes.iter().all(|&byte| middle(byte))
}

fn too_long(value: &str, most: usize) -> Vec<String> {
    if value.len() > most { vec![format!("must be no more than {most} bytes")] } else { Vec::new() }
}

fn mismatch(rule: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}'")).collect();
    format!("{rule} (e.g. {}, regex used for validation is '{pattern}')", examples.join(", or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_what_only_looks_like_one() {
        type Case = (&'static str, fn(&str) -> Vec<String>, &'static [&'static str], &'static [&'static str]);
        let table: &[Case] = &[
            ("dns_label", dns_label, &["a", "a-1", "0"], &["", "-a", "a-", "A", "a.b", "a_b", "é"]),
            ("dns_subdomain", dns_subdomain, &["a", "a.b", "1.2-3"], &["", ".", "a..b", "a.-b", "A.b"]),
            ("dns_1035_label", dns_1035_label, &["a", "a-1"], &["", "1a", "a.b", "a-"]),
            (
                "qualified_name",
                qualified_name,
                &["a", "A_b.c", "example.com/x", "nvidia.com/gpu"],
                &["", "/a", "a/", "a/b/c", "-a", "Example.com/a"],
            ),
            ("label_value", label_value, &["", "a", "A_b.c-d"], &["-a", "a-", "a b", "a/b"]),
            ("config_key", config_key, &["a.b", "_x", ".hidden"], &["", ".", "..", "..x", "a/b"]),
            ("path_segment", path_segment, &["system:node", "A b"], &[".", "..", "a/b", "a%b"]),
        ];
        for (name, check, good, bad) in table {
            for text in *good {
                assert!(check(text).is_empty(), "{name} should take {text:?}: {:?}", check(text));
            }
            for text in *bad {
                assert!(!check(text).is_empty(), "{name} should refuse {text:?}");
            }
        }
    }

    #[test]
    fn lengths_count_in_bytes() {
        assert!(dns_label(&"a".repeat(63)).is_empty());
        assert_eq!(dns_label(&"a".repeat(64)), ["must be no more than 63 bytes"]);
        assert_eq!(dns_subdomain(&"a".repeat(254)), ["must be no more than 253 bytes"]);
        assert_eq!(
            qualified_name(&format!("a/{}", "b".repeat(64))),
            ["name part must be no more than 63 bytes"]
        );
    }

    #[test]
    fn complaints_name_the_rule_and_examples() {
        assert_eq!(dns_label("a.b"), ["must not contain dots"]);
        let complaint = &dns_label("A")[0];
        assert!(
            complaint.contains("(e.g. 'my-name', or '123-abc', regex used for validation is '"),
            "{complaint}"
        );
    }

    #[test]
    fn generated_names_fit_a_label() {
        let mut numbers = 0..;
        let mut random = || numbers.next().unwrap_or_default();
        assert_eq!(generate_name("web-", &mut random), "web-bcdfg");
        assert_eq!(generate_name(&"é".repeat(60), &mut random).len(), 63);
    }
}
