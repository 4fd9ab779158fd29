//! Which requests are believed, before anybody is asked about them. Pure.

use http::{HeaderMap, HeaderName, Method, Request, header};

use super::Refusal;

/// The host that a request is for. A request that names two, or writes one strangely, may mean different things to us
/// and to who comes after us.
pub(super) fn host_of<B>(request: &Request<B>) -> Result<String, Refusal> {
    let mut named = request.headers().get_all(header::HOST).iter();
    let (first, second) = (named.next(), named.next());
    if second.is_some() {
        return Err(Refusal::Bad);
    }
    let first = first.map(|value| value.to_str().map_err(|_| Refusal::Bad)).transpose()?;
    let target = request.uri().authority().map(http::uri::Authority::as_str);
    let host = match (first, target) {
        (Some(first), Some(target)) if !first.eq_ignore_ascii_case(target) => return Err(Refusal::Bad),
        (Some(host), _) | (None, Some(host)) => host,
        (None, None) => return Err(Refusal::Bad),
    };
    let plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '-' | ':' | '[' | ']');
    if host.is_empty() || !host.chars().all(plain) {
        return Err(Refusal::Bad);
    }
    Ok(host.to_ascii_lowercase())
}

/// Refuses requests whose end could be seen in two places, and methods that are for those between.
pub(super) fn check_frame(method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
    if matches!(*method, Method::CONNECT | Method::TRACE) {
        return Err(Refusal::Bad);
    }
    let mut lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    let (first, second) = (lengths.next(), lengths.next());
    let codings = headers.get_all(header::TRANSFER_ENCODING).iter().count();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let odd = first.is_some_and(|value| !value.to_str().is_ok_and(digits));
    if second.is_some() || codings > 1 || (first.is_some() && codings > 0) || odd {
        return Err(Refusal::Bad);
    }
    Ok(())
}

/// Whether the connection shall become another: to what.
pub(super) fn upgrade(headers: &HeaderMap) -> Option<String> {
    let asks = tokens(headers, &header::CONNECTION).any(|token| token.eq_ignore_ascii_case("upgrade"));
    let to = headers.get(header::UPGRADE).and_then(|value| value.to_str().ok())?;
    asks.then(|| to.to_owned())
}

/// Refuses what a page of another origin may have sent. Apps of one domain are of one site to browsers, so that their
/// cookies protect none of them from the others: what counts is the origin.
pub(super) fn check_origin(method: &Method, headers: &HeaderMap, own: &str) -> Result<(), Refusal> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let (origin, upgrades) = (text("origin"), upgrade(headers).is_some());
    let reads = matches!(*method, Method::GET | Method::HEAD);
    let whole_page = || matches!(text("sec-fetch-dest"), None | Some("document"));
    if upgrades && origin.is_some_and(|origin| !origin.eq_ignore_ascii_case(own)) {
        return Err(Refusal::Foreign);
    }
    match text("sec-fetch-site") {
        Some("same-origin" | "none") => Ok(()),
        // A link that is followed; what is shown belongs to the app from there on. In a frame it would belong to the
        // page around it as well, which could have its visitor click where he sees something else.
        Some(_) if reads && !upgrades && text("sec-fetch-mode") == Some("navigate") && whole_page() => Ok(()),
        None if reads || origin.is_none_or(|origin| origin.eq_ignore_ascii_case(own)) => Ok(()),
        _ => Err(Refusal::Foreign),
    }
}

/// The words of a header that is a list.
pub(super) fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "https://8888--desk--0.apps.example";

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_request_names_one_host_in_one_way() {
        let host = |uri: &str, hosts: &[&'static str]| {
            let mut request = Request::builder().uri(uri).body(()).unwrap();
            for host in hosts {
                request.headers_mut().append("host", host.parse().unwrap());
            }
            host_of(&request)
        };
        assert_eq!(host("/", &["A.example:80"]).unwrap(), "a.example:80");
        assert_eq!(host("http://a.example/", &["a.example"]).unwrap(), "a.example");
        assert_eq!(host("http://a.example/", &[]).unwrap(), "a.example");
        for (uri, hosts) in [
            ("/", &[][..]),
            ("/", &["a.example", "b.example"]),
            ("http://a.example/", &["b.example"]),
            ("/", &["a.example/x"]),
            ("/", &["u@a.example"]),
            ("/", &["a example"]),
            ("/", &[""]),
        ] {
            assert_eq!(host(uri, hosts), Err(Refusal::Bad), "{uri} {hosts:?}");
        }
    }

    #[test]
    fn a_request_has_one_end() {
        let check = |pairs: &[(&'static str, &'static str)]| check_frame(&Method::POST, &map(pairs));
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[("content-length", "5")]), Ok(()));
        assert_eq!(check(&[("transfer-encoding", "chunked")]), Ok(()));
        for wrong in [
            &[("content-length", "5"), ("transfer-encoding", "chunked")][..],
            &[("content-length", "5"), ("content-length", "5")],
            &[("content-length", "5, 5")],
            &[("content-length", "+5")],
            &[("transfer-encoding", "chunked"), ("transfer-encoding", "identity")],
        ] {
            assert_eq!(check(wrong), Err(Refusal::Bad), "{wrong:?}");
        }
        assert_eq!(check_frame(&Method::TRACE, &map(&[])), Err(Refusal::Bad));
        assert_eq!(check_frame(&Method::CONNECT, &map(&[])), Err(Refusal::Bad));
    }

    #[test]
    fn pages_of_other_apps_use_no_cookies_of_this_one() {
        let other = "https://9999--evil--0.apps.example";
        let socket = [("connection", "keep-alive, Upgrade"), ("upgrade", "websocket")];
        let asks = |method: Method, pairs: &[(&'static str, &'static str)]| {
            check_origin(&method, &map(pairs), OWN).is_ok()
        };
        assert!(asks(Method::GET, &[]) && asks(Method::POST, &[]), "a program");
        assert!(asks(Method::POST, &[("origin", OWN), ("sec-fetch-site", "same-origin")]));
        assert!(asks(
            Method::GET,
            &[socket[0], socket[1], ("origin", OWN), ("sec-fetch-site", "same-origin")]
        ));
        assert!(
            asks(Method::GET, &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "navigate")]),
            "a link"
        );
        for site in ["same-site", "cross-site", "anything"] {
            assert!(!asks(Method::GET, &[("sec-fetch-site", site), ("sec-fetch-mode", "no-cors")]), "{site}");
            for dest in ["iframe", "frame", "embed", "object"] {
                let framed =
                    [("sec-fetch-site", site), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", dest)];
                assert!(!asks(Method::GET, &framed), "{site} {dest}");
            }
            assert!(
                !asks(Method::POST, &[("sec-fetch-site", site), ("sec-fetch-mode", "navigate")]),
                "{site}"
            );
            assert!(!asks(
                Method::GET,
                &[socket[0], socket[1], ("sec-fetch-site", site), ("sec-fetch-mode", "navigate")]
            ));
        }
        for origin in [other, "null", "http://8888--desk--0.apps.example"] {
            assert!(!asks(Method::POST, &[("origin", origin)]), "{origin}");
            assert!(!asks(Method::GET, &[socket[0], socket[1], ("origin", origin)]), "{origin}");
        }
    }
}
