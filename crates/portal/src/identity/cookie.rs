//! Cookies: of a session, and of a login that is under way at a provider.

use http::{HeaderMap, HeaderValue, header};

use crate::error::{ApiError, Code};

/// A cookie, by its names. `__Host-` keeps other hosts of the domain from setting it, and needs https.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cookie {
    secure: &'static str,
    plain: &'static str,
}

/// The cookie of a session.
pub(super) const SESSION: Cookie = Cookie { secure: "__Host-maar-session", plain: "maar-session" };
/// The cookie of a login that is under way.
pub(super) const LOGIN: Cookie = Cookie { secure: "__Host-maar-login", plain: "maar-login" };

impl Cookie {
    const fn name(self, secure: bool) -> &'static str {
        if secure { self.secure } else { self.plain }
    }

    /// The value that a browser sent.
    pub(super) fn read(self, headers: &HeaderMap, secure: bool) -> Option<String> {
        let pairs = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        pairs
            .flat_map(|pairs| pairs.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(found, _)| *found == self.name(secure))
            .map(|(_, value)| value.to_owned())
    }

    /// What lets a browser keep the value for so many seconds; none forgets it. `Lax`, since the way back from a
    /// provider begins at another site.
    pub(super) fn write(self, value: &str, seconds: i64, secure: bool) -> Result<HeaderValue, ApiError> {
        let only = if secure { "; Secure" } else { "" };
        let name = self.name(secure);
        let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{only}");
        HeaderValue::from_str(&text).map_err(|_| ApiError::new(Code::Internal, "a fault of the portal"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_among_others_and_cannot_be_read_by_scripts() {
        let made = SESSION.write("abc", 60, true).unwrap();
        insta::assert_snapshot!(made.to_str().unwrap(), @"__Host-maar-session=abc; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure");
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, "a=b; maar-session=evil; __Host-maar-session=abc".parse().unwrap());
        assert_eq!(SESSION.read(&headers, true).as_deref(), Some("abc"));
        assert_eq!(SESSION.read(&headers, false).as_deref(), Some("evil"));
        assert_eq!(LOGIN.read(&headers, false), None);
        assert_eq!(SESSION.read(&HeaderMap::new(), true), None);
    }
}
