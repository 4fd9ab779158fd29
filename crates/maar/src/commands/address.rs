//! Addresses of what commands talk to.

use axum::http::{Uri, uri::Scheme};

/// Whether nobody on the way can read what is sent there.
pub(crate) fn is_private(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let local =
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    uri.scheme() == Some(&Scheme::HTTPS) || local
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_tokens_go_only_where_nobody_listens() {
        let rows = [
            ("https://gpu.example", true),
            ("http://gpu.example", false),
            ("http://127.0.0.1:8082", true),
            ("http://[::1]:8082", true),
            ("http://localhost:8082", true),
            ("http://127.0.0.1.example.com", false),
        ];
        for (url, want) in rows {
            assert_eq!(is_private(&url.parse().unwrap()), want, "{url}");
        }
    }
}
