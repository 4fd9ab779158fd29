//! Secrets, and files that hold what the configuration only refers to.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use sha2::{Digest as _, Sha256};

use crate::rules::Wrong;

/// A secret; it is never shown.
#[derive(Clone)]
pub(super) struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("(secret)")
    }
}

impl Secret {
    #[cfg(test)]
    pub(super) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// To be sent to whom it is for, and nowhere else.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether it is this, in a time that does not tell how much of it is right.
    pub(super) fn is(&self, given: &[u8]) -> bool {
        // Of hashes, so that the length does not tell either.
        let (own, given) = (Sha256::digest(self.0.as_bytes()), Sha256::digest(given));
        own.iter()
            .zip(given.iter())
            .fold(0_u8, |seen, (one, other)| std::hint::black_box(seen | (one ^ other)))
            == 0
    }
}

/// The files that the configuration refers to.
pub(super) struct Files<'a>(pub(super) &'a dyn Fn(&Path) -> io::Result<String>);

impl Files<'_> {
    fn read(&self, field: &str, path: &Path) -> Result<String, Wrong> {
        (self.0)(path).map_err(|error| Wrong::new(field, format!("cannot read {}: {error}", path.display())))
    }

    /// The secret in a file, without the end of its line.
    pub(super) fn secret(&self, field: &str, path: &Path) -> Result<Secret, Wrong> {
        let text = self.read(field, path)?;
        let text = text.trim_end_matches(['\r', '\n']);
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(Wrong::new(field, format!("{} does not hold one line", path.display())));
        }
        Ok(Secret(text.to_owned()))
    }

    /// The certificates in a file, if one is named.
    pub(super) fn roots(&self, path: Option<&PathBuf>) -> Result<Option<Vec<Vec<u8>>>, Wrong> {
        let Some(path) = path else { return Ok(None) };
        let found = certificates(&self.read("caFile", path)?);
        let wrong = || Wrong::new("caFile", format!("{} holds no certificate in PEM", path.display()));
        found.filter(|found| !found.is_empty()).map(Some).ok_or_else(wrong)
    }
}

/// The certificates of a text in PEM; none if one is broken.
fn certificates(text: &str) -> Option<Vec<Vec<u8>>> {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    const END: &str = "-----END CERTIFICATE-----";
    let parts = text.split(BEGIN).skip(1);
    let decode = |part: &str| {
        let inner: String = part.split_once(END)?.0.chars().filter(|one| !one.is_whitespace()).collect();
        BASE64_STANDARD.decode(inner).ok()
    };
    parts.map(decode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_compared_and_never_shown() {
        let secret = Secret::new("hunter22");
        assert!(secret.is(b"hunter22"));
        for wrong in ["", "hunter2", "hunter22 ", "Hunter22"] {
            assert!(!secret.is(wrong.as_bytes()), "{wrong}");
        }
        assert_eq!(format!("{secret:?}"), "(secret)");
    }

    #[test]
    fn files_hold_one_line_or_certificates() {
        let read = |path: &Path| match path.to_str().unwrap() {
            "line" => Ok("abc\n".to_owned()),
            "lines" => Ok("abc\ndef\n".to_owned()),
            "pem" => Ok("x\n-----BEGIN CERTIFICATE-----\nAAEC\n-----END CERTIFICATE-----\n".to_owned()),
            _ => Err(io::Error::other("no such file")),
        };
        let files = Files(&read);
        assert_eq!(files.secret("f", Path::new("line")).unwrap().reveal(), "abc");
        assert!(files.secret("f", Path::new("lines")).is_err());
        let missing = files.secret("clientSecretFile", Path::new("none")).unwrap_err();
        assert_eq!(
            (missing.field.as_str(), missing.why.as_str()),
            ("clientSecretFile", "cannot read none: no such file")
        );
        assert_eq!(files.roots(Some(&PathBuf::from("pem"))).unwrap(), Some(vec![vec![0, 1, 2]]));
        assert!(files.roots(Some(&PathBuf::from("line"))).is_err());
    }
}
