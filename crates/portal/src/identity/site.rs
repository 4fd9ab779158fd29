//! Keeps pages of other sites from using a visitor's session.
//!
//! Cookies are `SameSite=Lax` already. Besides, a write needs a header that a form cannot send and that no other site
//! is allowed to send by CORS, since the portal answers no preflight; and where the browser says where the request comes
//! from, that must be here.

use http::{HeaderMap, header};

use crate::error::{ApiError, Code};

/// The header that every write by a browser carries, with any value.
pub(crate) const HEADER: &str = "x-maar-request";

/// Refuses what another site may have sent. `origins` are the portal's own.
pub(crate) fn cross_site(headers: &HeaderMap, origins: &[String]) -> Result<(), ApiError> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let refuse = |why: &str| Err(ApiError::new(Code::CrossSite, why));
    if text(HEADER).is_none() {
        return refuse("a change needs the header X-Maar-Request");
    }
    if text("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return refuse("the request comes from another site");
    }
    let Some(origin) = text(header::ORIGIN.as_str()) else { return Ok(()) };
    if origins.iter().any(|own| own == origin) {
        return Ok(());
    }
    refuse("the request comes from another site than the portal is told it has: see --external-url")
}

/// Refuses a WebSocket that a page of another site opens: browsers send cookies along with it, ask nothing first, and
/// always say where it comes from. A page that was refused one asks for the reason by a plain request, of which browsers
/// say only that it is of the same site; no page can say so by itself.
pub(crate) fn own_page(headers: &HeaderMap, origins: &[String]) -> Result<(), ApiError> {
    let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let own = match said("origin") {
        Some(origin) => origins.iter().any(|own| own == origin),
        None => said("sec-fetch-site") == Some("same-origin") && !headers.contains_key(header::UPGRADE),
    };
    if own {
        return Ok(());
    }
    Err(ApiError::new(Code::CrossSite, "only pages of the portal open this: see --external-url"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(pairs: &[(&'static str, &'static str)]) -> bool {
        let headers =
            pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        cross_site(&headers, &["https://gpu.example".to_owned()]).is_err()
    }

    #[test]
    fn only_requests_of_the_own_site_pass() {
        let own = ("x-maar-request", "1");
        assert!(refused(&[]), "a form of another site");
        assert!(!refused(&[own]), "a program");
        assert!(!refused(&[own, ("origin", "https://gpu.example"), ("sec-fetch-site", "same-origin")]));
        for origin in
            ["https://evil.example", "null", "http://gpu.example", "https://gpu.example.evil.example"]
        {
            assert!(refused(&[own, ("origin", origin)]), "{origin}");
        }
        let page = |origin: Option<&'static str>| {
            let headers =
                origin.map(|origin| (header::ORIGIN, origin.parse().unwrap())).into_iter().collect();
            own_page(&headers, &["https://gpu.example".to_owned()]).is_ok()
        };
        assert!(page(Some("https://gpu.example")));
        assert!(!page(None) && !page(Some("https://evil.example")) && !page(Some("null")));
        let asked = |pairs: &[(&'static str, &'static str)]| {
            let headers =
                pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
            own_page(&headers, &["https://gpu.example".to_owned()]).is_ok()
        };
        assert!(asked(&[("sec-fetch-site", "same-origin")]), "a page asks why it was refused");
        assert!(
            !asked(&[("sec-fetch-site", "same-origin"), ("upgrade", "websocket")]),
            "no browser says so little"
        );
        assert!(!asked(&[("sec-fetch-site", "same-origin"), ("origin", "https://evil.example")]));
        assert!(!asked(&[("sec-fetch-site", "cross-site")]));
        for site in ["cross-site", "same-site"] {
            assert!(refused(&[own, ("sec-fetch-site", site)]), "{site}");
        }
    }
}
