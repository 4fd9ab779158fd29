//! The cookie of a session.

use http::{HeaderMap, HeaderValue, header};

use crate::error::{ApiError, Code};

/// What it is called. `__Host-` keeps other hosts of the domain from setting it, and needs https.
const fn name(secure: bool) -> &'static str {
    if secure { "__Host-maar-session" } else { "maar-session" }
}

/// The token that a browser sent.
pub(super) fn read(headers: &HeaderMap, secure: bool) -> Option<String> {
    let pairs = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    pairs
        .flat_map(|pairs| pairs.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(found, _)| *found == name(secure))
        .map(|(_, token)| token.to_owned())
}

/// What lets a browser keep the token for so many seconds; none forgets it.
pub(super) fn write(token: &str, seconds: i64, secure: bool) -> Result<HeaderValue, ApiError> {
    let only = if secure { "; Secure" } else { "" };
    let name = name(secure);
    let text = format!("{name}={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{only}");
    HeaderValue::from_str(&text).map_err(|_| ApiError::new(Code::Internal, "a fault of the portal"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_among_others_and_cannot_be_read_by_scripts() {
        let made = write("abc", 60, true).unwrap();
        insta::assert_snapshot!(made.to_str().unwrap(), @"__Host-maar-session=abc; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure");
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, "a=b; maar-session=evil; __Host-maar-session=abc".parse().unwrap());
        assert_eq!(read(&headers, true).as_deref(), Some("abc"));
        assert_eq!(read(&headers, false).as_deref(), Some("evil"));
        assert_eq!(read(&HeaderMap::new(), true), None);
    }
}
