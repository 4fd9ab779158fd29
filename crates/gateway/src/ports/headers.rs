//! What is taken out of headers on the way to an app and back, and what is put in. Pure.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::site::tokens;

/// Cookies of ours; an app neither sees nor sets one.
pub(super) const COOKIES: [&str; 6] =
    ["maar-app", "__Host-maar-app", "maar-session", "__Host-maar-session", "maar-login", "__Host-maar-login"];
/// How API keys of the portal begin.
const KEY: &str = "Bearer maar_";

/// Headers that are about one connection.
const OF_CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    // Framing is made anew for every connection.
    header::CONTENT_LENGTH,
];

/// What is known about a request beside its headers.
#[derive(Debug)]
pub(super) struct Told<'a> {
    pub(super) host: &'a str,
    pub(super) prefix: &'a str,
    pub(super) secure: bool,
    pub(super) peer: Option<IpAddr>,
    /// What the connection shall become.
    pub(super) upgrade: Option<&'a str>,
    /// Headers that proxies before us tell the portal secrets by.
    pub(super) withheld: &'a [HeaderName],
}

/// Makes the headers of a visitor fit for an app.
pub(super) fn to_app(headers: &mut HeaderMap, told: &Told<'_>) {
    remove_of_connection(headers);
    let ours = |name: &HeaderName| {
        let name = name.as_str();
        name.starts_with("x-forwarded-")
            || name.starts_with("x-maar-")
            || matches!(name, "forwarded" | "x-real-ip" | "x-original-url" | "x-rewrite-url")
    };
    let gone: Vec<HeaderName> =
        headers.keys().filter(|name| ours(name)).chain(told.withheld).cloned().collect();
    for name in gone {
        headers.remove(name);
    }
    let key = |value: &HeaderValue| {
        value.as_bytes().get(..KEY.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(KEY.as_bytes()))
    };
    if headers.get_all(header::AUTHORIZATION).iter().any(key) {
        headers.remove(header::AUTHORIZATION);
    }
    keep_own_cookies(headers);
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set("host", told.host);
    set("x-forwarded-host", told.host);
    set("x-forwarded-proto", if told.secure { "https" } else { "http" });
    if let Some(peer) = told.peer {
        set("x-forwarded-for", &peer.to_string());
    }
    if !told.prefix.is_empty() {
        set("x-forwarded-prefix", told.prefix);
    }
    if let Some(to) = told.upgrade {
        set("connection", "upgrade");
        set("upgrade", to);
    }
}

/// Headers about one connection, also those that the header `Connection` names.
fn remove_of_connection(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> =
        tokens(headers, &header::CONNECTION).filter_map(|token| token.parse().ok()).collect();
    for name in named.iter().chain(&OF_CONNECTION) {
        headers.remove(name);
    }
    headers.remove("keep-alive");
    headers.remove("proxy-connection");
}

/// Leaves the cookies of the app.
fn keep_own_cookies(headers: &mut HeaderMap) {
    let values: Vec<HeaderValue> = headers.get_all(header::COOKIE).iter().cloned().collect();
    headers.remove(header::COOKIE);
    for value in values {
        // What is no text could hold anything.
        let Ok(text) = value.to_str() else { continue };
        let own = text.split(';').map(str::trim).filter(|pair| !pair.is_empty() && !is_ours(pair));
        let own = own.collect::<Vec<_>>().join("; ");
        if let Some(value) = HeaderValue::from_str(&own).ok().filter(|_| !own.is_empty()) {
            headers.append(header::COOKIE, value);
        }
    }
}

fn is_ours(pair: &str) -> bool {
    let name = pair.split('=').next().unwrap_or_default().trim();
    COOKIES.iter().any(|ours| ours.eq_ignore_ascii_case(name))
}

/// The cookie that lets a visitor in.
pub(super) fn visitor(headers: &HeaderMap, secure: bool) -> Option<String> {
    let pairs = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = pairs.flat_map(|pairs| pairs.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == cookie_name(secure)).map(|(_, value)| value.to_owned())
}

const fn cookie_name(secure: bool) -> &'static str {
    if secure { COOKIES[1] } else { COOKIES[0] }
}

/// What lets a browser keep it. `__Host-` wants the path of the whole host, so apps by path do without.
pub(super) fn set_visitor(value: &str, seconds: i64, prefix: &str, secure: bool) -> Option<HeaderValue> {
    let name = cookie_name(secure && prefix.is_empty());
    let only = if secure { "; Secure" } else { "" };
    HeaderValue::from_str(&format!(
        "{name}={value}; Path={prefix}/; HttpOnly; SameSite=Lax; Max-Age={seconds}{only}"
    ))
    .ok()
}

/// Makes the headers of an app fit for a visitor.
pub(super) fn to_visitor(headers: &mut HeaderMap, told: &Told<'_>) {
    let prefix = told.prefix;
    let length = headers.get(header::CONTENT_LENGTH).cloned();
    remove_of_connection(headers);
    // Not framing here but what a HEAD is asked for; a body of another length is noticed.
    if let Some(length) = length {
        headers.insert(header::CONTENT_LENGTH, length);
    }
    for name in ["clear-site-data", "strict-transport-security", "alt-svc", "public-key-pins"] {
        headers.remove(name);
    }
    if !prefix.is_empty() {
        // Of the whole origin it would be between every other app and its visitors.
        let worker = headers.remove("service-worker-allowed");
        if let Some(below) = worker.and_then(|_| HeaderValue::from_str(&format!("{prefix}/")).ok()) {
            headers.insert("service-worker-allowed", below);
        }
        // Not even to other apps of this origin: the word of the path is a secret.
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("strict-origin"));
    }
    keep_below(headers, prefix, told.host);
    let cookies: Vec<HeaderValue> = headers.get_all(header::SET_COOKIE).iter().cloned().collect();
    headers.remove(header::SET_COOKIE);
    for cookie in cookies {
        if let Some(value) = cookie.to_str().ok().and_then(|text| own_cookie(text, prefix)) {
            headers.append(header::SET_COOKIE, value);
        }
    }
}

/// Leads a browser to where the app means, which does not know what stands before its paths, and often not that it is asked
/// by https.
fn keep_below(headers: &mut HeaderMap, prefix: &str, host: &str) {
    let place = headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
    let Some(path) = place.and_then(|place| from_root(place, host)) else { return };
    let before = if path.starts_with(&format!("{prefix}/")) { "" } else { prefix };
    let root = if path.starts_with('/') { "" } else { "/" };
    if let Ok(place) = HeaderValue::from_str(&format!("{before}{root}{path}")) {
        headers.insert(header::LOCATION, place);
    }
}

/// What stands behind the host, if a place is said from the root or as a whole address of this host.
fn from_root<'a>(place: &'a str, host: &str) -> Option<&'a str> {
    let without = |scheme: &str| {
        place
            .get(..scheme.len())
            .filter(|begin| begin.eq_ignore_ascii_case(scheme))
            .map(|_| &place[scheme.len()..])
    };
    let Some(whole) = without("http://").or_else(|| without("https://")).or_else(|| without("//")) else {
        return place.starts_with('/').then_some(place);
    };
    let (named, path) = whole.split_at(whole.find(['/', '?', '#']).unwrap_or(whole.len()));
    named.eq_ignore_ascii_case(host).then_some(path)
}

/// A cookie of an app without a domain, for nobody but its origin; nothing if it is one of ours.
fn own_cookie(text: &str, prefix: &str) -> Option<HeaderValue> {
    let mut parts = text.split(';').map(str::trim);
    let pair = parts.next()?;
    if is_ours(pair) {
        return None;
    }
    let mut made = vec![pair.to_owned()];
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "domain" => {}
            "path" if !prefix.is_empty() && !value.starts_with(prefix) => {
                made.push(format!("Path={prefix}/{}", value.trim().trim_start_matches('/')));
            }
            _ => made.push(part.to_owned()),
        }
    }
    if !prefix.is_empty() && !made.iter().any(|part| part.to_ascii_lowercase().starts_with("path=")) {
        made.push(format!("Path={prefix}/"));
    }
    HeaderValue::from_str(&made.join("; ")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn shown(headers: &HeaderMap) -> Vec<String> {
        let mut lines: Vec<_> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        lines.sort();
        lines
    }

    fn told<'a>(prefix: &'a str, withheld: &'a [HeaderName]) -> Told<'a> {
        let peer = Some("10.0.0.7".parse().unwrap());
        Told { host: "a.apps.example", prefix, secure: true, peer, upgrade: None, withheld }
    }

    #[test]
    fn nothing_that_proves_who_somebody_is_reaches_an_app() {
        let mut headers = map(&[
            ("cookie", "a=1; __Host-maar-session=secret; maar-app=x; b=2"),
            ("cookie", "__Host-maar-app=secret; MAAR-SESSION=y"),
            ("authorization", "bearer maar_secret"),
            ("x-maar-request", "1"),
            ("x-sso-secret", "s"),
            ("x-forwarded-for", "1.2.3.4"),
            ("x-forwarded-user", "root"),
            ("forwarded", "for=1.2.3.4"),
            ("x-real-ip", "1.2.3.4"),
            ("accept", "*/*"),
        ]);
        to_app(&mut headers, &told("", &[HeaderName::from_static("x-sso-secret")]));
        insta::assert_debug_snapshot!(shown(&headers), @r#"
        [
            "accept: */*",
            "cookie: a=1; b=2",
            "host: a.apps.example",
            "x-forwarded-for: 10.0.0.7",
            "x-forwarded-host: a.apps.example",
            "x-forwarded-proto: https",
        ]
        "#);
        let mut headers = map(&[("authorization", "token of-the-app")]);
        to_app(&mut headers, &told("", &[]));
        assert!(headers.contains_key("authorization"), "what the app asks for is its own");
    }

    #[test]
    fn headers_of_a_connection_stay_with_it_also_those_it_names() {
        let mut headers = map(&[
            ("connection", "keep-alive, x-secret, X-Forwarded-For, host"),
            ("x-secret", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("upgrade", "h2c"),
            ("proxy-authorization", "Basic x"),
            ("transfer-encoding", "chunked"),
            ("host", "a.apps.example"),
        ]);
        to_app(&mut headers, &told("/apps/x/k", &[]));
        insta::assert_debug_snapshot!(shown(&headers), @r#"
        [
            "host: a.apps.example",
            "x-forwarded-for: 10.0.0.7",
            "x-forwarded-host: a.apps.example",
            "x-forwarded-prefix: /apps/x/k",
            "x-forwarded-proto: https",
        ]
        "#);
    }

    #[test]
    fn cookies_of_an_app_are_its_own() {
        let mut headers = map(&[
            ("set-cookie", "a=1; Domain=apps.example; Path=/x; HttpOnly"),
            ("set-cookie", "b=2; domain = .example"),
            ("set-cookie", "maar-session=evil"),
            ("set-cookie", "__host-maar-app=evil; Path=/"),
            ("clear-site-data", "\"cookies\""),
            ("strict-transport-security", "max-age=1; includeSubDomains"),
            ("content-length", "5"),
            ("connection", "close"),
        ]);
        to_visitor(&mut headers, &told("", &[]));
        insta::assert_debug_snapshot!(shown(&headers), @r#"
        [
            "content-length: 5",
            "set-cookie: a=1; Path=/x; HttpOnly",
            "set-cookie: b=2",
        ]
        "#);
    }

    #[test]
    fn an_app_by_path_stays_below_it() {
        let mut headers = map(&[
            ("location", "/login?next=/"),
            ("set-cookie", "a=1; Path=/"),
            ("set-cookie", "b=2"),
            ("set-cookie", "c=3; path=/apps/other/key/"),
            ("service-worker-allowed", "/"),
        ]);
        to_visitor(&mut headers, &told("/apps/x/k", &[]));
        insta::assert_debug_snapshot!(shown(&headers), @r#"
        [
            "location: /apps/x/k/login?next=/",
            "referrer-policy: strict-origin",
            "service-worker-allowed: /apps/x/k/",
            "set-cookie: a=1; Path=/apps/x/k/",
            "set-cookie: b=2; Path=/apps/x/k/",
            "set-cookie: c=3; Path=/apps/x/k/apps/other/key/",
        ]
        "#);
    }

    /// Some servers make whole addresses of the host that they are asked with.
    #[test]
    fn redirects_of_an_app_stay_on_its_origin_and_below_its_path_however_they_are_written() {
        let led_below = |prefix: &'static str, place: &'static str| {
            let mut headers = map(&[("location", place)]);
            to_visitor(&mut headers, &Told { host: "a.apps.example:8443", ..told(prefix, &[]) });
            headers["location"].to_str().unwrap().to_owned()
        };
        let led = |place| led_below("/apps/x/k", place);
        for (place, want) in [
            ("http://a.apps.example:8443/login?next=/", "/login?next=/"),
            ("http://a.apps.example:8443", "/"),
            ("/login", "/login"),
            ("login", "login"),
            ("http://other.example/login", "http://other.example/login"),
        ] {
            assert_eq!(led_below("", place), want, "{place}, on an origin of its own");
        }
        for (place, want) in [
            ("/login?next=/", "/apps/x/k/login?next=/"),
            ("/apps/x/k/login", "/apps/x/k/login"),
            ("http://a.apps.example:8443/login?next=/", "/apps/x/k/login?next=/"),
            ("HTTPS://A.apps.example:8443/login", "/apps/x/k/login"),
            ("//a.apps.example:8443/login", "/apps/x/k/login"),
            ("https://a.apps.example:8443", "/apps/x/k/"),
            ("https://a.apps.example:8443?a=1", "/apps/x/k/?a=1"),
            ("https://a.apps.example:8443/apps/x/k/login", "/apps/x/k/login"),
            // What leads elsewhere, or says nothing of the root, stays as it is.
            ("login", "login"),
            ("https://a.apps.example/login", "https://a.apps.example/login"),
            ("https://a.apps.example:8443.evil.example/", "https://a.apps.example:8443.evil.example/"),
            ("https://other.example/login", "https://other.example/login"),
            ("//other.example/login", "//other.example/login"),
        ] {
            assert_eq!(led(place), want, "{place}");
        }
    }

    #[test]
    fn the_cookie_of_a_visitor_is_for_one_host_and_no_script() {
        let cookie =
            |prefix, secure| set_visitor("v", 60, prefix, secure).unwrap().to_str().unwrap().to_owned();
        assert_eq!(cookie("", true), "__Host-maar-app=v; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure");
        assert_eq!(cookie("", false), "maar-app=v; Path=/; HttpOnly; SameSite=Lax; Max-Age=60");
        assert_eq!(
            cookie("/apps/x/k", true),
            "maar-app=v; Path=/apps/x/k/; HttpOnly; SameSite=Lax; Max-Age=60; Secure"
        );
        let headers = map(&[("cookie", "maar-app=plain; __Host-maar-app=own")]);
        assert_eq!(visitor(&headers, true).as_deref(), Some("own"));
        assert_eq!(visitor(&headers, false).as_deref(), Some("plain"));
    }
}
