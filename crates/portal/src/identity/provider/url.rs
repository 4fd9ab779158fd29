//! Addresses of providers: encrypted, unless they are on this machine.

use std::net::IpAddr;

use http::Uri;

use crate::rules::Wrong;

/// Whether a host is this machine, by its name alone.
pub(super) fn is_loopback(host: &str) -> bool {
    let plain = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || plain.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// An address that is asked over HTTP.
pub(super) fn check(field: &str, text: &str) -> Result<Uri, Wrong> {
    let wrong = || Wrong::new(field, format!("{text:?} is no URL such as https://id.example"));
    let uri: Uri = text.parse().map_err(|_| wrong())?;
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
    // Whatever stands before an @ is not where the request goes.
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) || text.contains('#') {
        return Err(wrong());
    }
    match uri.scheme_str() {
        Some("https") => Ok(uri),
        Some("http") if is_loopback(host) => Ok(uri),
        Some("http") => {
            Err(Wrong::new(field, format!("{text:?} must be https, unless it is on this machine")))
        }
        _ => Err(wrong()),
    }
}

/// What an address has before its path: `https://id.example:8443`.
pub(super) fn origin(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or("https");
    format!("{scheme}://{}", uri.authority().map_or("", |authority| authority.as_str()))
}

/// An address with a query added to it.
pub(super) fn with_query(address: &str, fields: &[(&str, &str)]) -> String {
    let more = form(fields);
    let sign = if address.contains('?') { '&' } else { '?' };
    format!("{address}{sign}{more}")
}

/// Fields as forms send them.
pub(super) fn form(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_asked_in_the_clear() {
        for good in [
            "https://id.example",
            "https://id.example:8443/a?b=c",
            "http://127.0.0.1:4000",
            "http://[::1]:1",
            "http://localhost/x",
        ] {
            assert!(check("issuer", good).is_ok(), "{good}");
        }
        for wrong in [
            "",
            "id.example",
            "http://id.example",
            "ftp://id.example",
            "https://",
            "https://127.0.0.1@evil.example",
            "http://localhost.evil.example",
            "http://127.0.0.1.evil.example",
            "https://id.example#x",
            "/path",
        ] {
            assert_eq!(check("issuer", wrong).unwrap_err().field, "issuer", "{wrong}");
        }
    }

    #[test]
    fn values_of_queries_are_escaped() {
        let made =
            with_query("https://id.example/a?x=1", &[("state", "a&b=c#d"), ("scope", "openid profile")]);
        assert_eq!(made, "https://id.example/a?x=1&state=a%26b%3Dc%23d&scope=openid+profile");
        assert_eq!(origin(&"https://id.example:8443/a".parse().unwrap()), "https://id.example:8443");
    }
}
