//! Which names the Kubernetes API accepts, so that a bad profile fails before the first request.

/// A DNS-1123 subdomain: what names a node.
pub(super) fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_label)
}

fn is_dns_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= 63
        && text.bytes().all(inner)
        && !text.is_empty()
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// A label value: up to 63 letters, digits, dashes, underscores and dots that start and end with a letter or digit.
pub(super) fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name_part(text)
}

fn is_name_part(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ends = text.bytes().next().zip(text.bytes().next_back());
    text.len() <= 63
        && text.bytes().all(inner)
        && ends.is_some_and(|(first, last)| first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric())
}

/// A label key or resource name: a name, or a DNS prefix, a slash and a name.
pub(super) fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name_part(name),
        None => is_name_part(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_as_the_api_server_judges_them() {
        for good in ["a", "gpu-a100-0", "n1.example.com", "0"] {
            assert!(is_subdomain(good), "{good}");
        }
        for bad in ["", "A", "-a", "a-", "a..b", "a_b", &"x".repeat(64)] {
            assert!(!is_subdomain(bad), "{bad}");
        }
        for good in ["", "NVIDIA-A100", "a_b.c", "8"] {
            assert!(is_label_value(good), "{good}");
        }
        for bad in ["a b", "-x", "x.", &"x".repeat(64)] {
            assert!(!is_label_value(bad), "{bad}");
        }
        for good in ["nvidia.com/gpu", "huawei.com/Ascend910", "rdma/hca", "hugepages-2Mi", "accelerator"] {
            assert!(is_qualified_name(good), "{good}");
        }
        for bad in ["", "/x", "a/", "a/b/c", "NVIDIA.com/gpu", "a b"] {
            assert!(!is_qualified_name(bad), "{bad}");
        }
    }
}
