//! Our own authority: certificates for hours that name a user by the identifier he cannot choose.

use jiff::{SignedDuration, Timestamp};
use russh::keys::{
    Certificate, HashAlg,
    ssh_key::certificate::{Builder, CertType},
};

use super::key::{SecretKey, UserKey, strong};

/// Clocks of clients and portals differ by this much at most.
const SKEW: SignedDuration = SignedDuration::from_mins(1);
/// What a certificate of ours allows unless less is said.
const EXTENSIONS: [&str; 3] = ["permit-pty", "permit-port-forwarding", "permit-agent-forwarding"];

/// Why a certificate is not made or not taken.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// It cannot be made.
    #[error("make a certificate: {0}")]
    Make(String),
    /// It is not taken, for this reason.
    #[error("{0}")]
    Refused(&'static str),
}

/// What somebody with a key or certificate may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// Have a terminal.
    pub terminal: bool,
    /// Forward ports either way.
    pub forwarding: bool,
    /// Forward his agent, where that is done at all.
    pub agent: bool,
}

impl Rights {
    pub(super) const ALL: Self = Self { terminal: true, forwarding: true, agent: true };
}

/// The authority.
#[derive(Debug, Clone)]
pub struct Authority(SecretKey);

/// Whom a good certificate names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) user: String,
    pub(super) id: String,
    pub(super) rights: Rights,
}

impl Authority {
    /// The authority with this key.
    pub const fn new(key: SecretKey) -> Self {
        Self(key)
    }

    /// Its public half.
    pub fn public(&self) -> String {
        self.0.public()
    }

    /// A certificate for a key of a user, from now until then. `nonce` is random; `id` is what logs call it.
    pub fn sign(
        &self,
        key: &UserKey,
        user: &str,
        id: &str,
        nonce: &[u8; 16],
        (now, until): (Timestamp, Timestamp),
    ) -> Result<String, CertificateError> {
        let made = || {
            let from = now.saturating_sub(SKEW).unwrap_or(now);
            let seconds = |time: Timestamp| u64::try_from(time.as_second()).unwrap_or_default();
            let mut builder = Builder::new(*nonce, key.0.key_data().clone(), seconds(from), seconds(until))?;
            builder.cert_type(CertType::User)?.key_id(id)?.valid_principal(user)?;
            for extension in EXTENSIONS {
                builder.extension(extension, "")?;
            }
            builder.sign(&self.0.0)?.to_openssh()
        };
        made().map_err(|error| CertificateError::Make(error.to_string()))
    }

    /// Whom a certificate names, if it is ours, for people, valid now, and asks for nothing we do not know. That the
    /// client has its key is known already.
    pub(super) fn check(&self, certificate: &Certificate, now: Timestamp) -> Result<Named, CertificateError> {
        let refuse = |why| Err(CertificateError::Refused(why));
        if certificate.cert_type() != CertType::User {
            return refuse("it is a certificate for hosts");
        }
        let ours = self.0.0.fingerprint(HashAlg::Sha256);
        if certificate.signature_key() != self.0.0.public_key().key_data() {
            return refuse("it is of another authority");
        }
        let at = u64::try_from(now.as_second()).unwrap_or_default();
        if certificate.validate_at(at, [&ours]).is_err() {
            return refuse("it is not valid now, or not signed by our authority");
        }
        // What is critical and not understood must be refused, and we write none.
        if certificate.critical_options().iter().next().is_some() {
            return refuse("it has a critical option that is not known here");
        }
        let [user] = certificate.valid_principals() else { return refuse("it does not name one user") };
        let key = russh::keys::PublicKey::new(certificate.public_key().clone(), "");
        if user.is_empty() || strong(&key).is_err() {
            return refuse("its key is of a kind that is not taken");
        }
        let has = |name: &str| certificate.extensions().iter().any(|(extension, _)| extension == name);
        let rights = Rights {
            terminal: has("permit-pty"),
            forwarding: has("permit-port-forwarding"),
            agent: has("permit-agent-forwarding"),
        };
        Ok(Named { user: user.clone(), id: certificate.key_id().to_owned(), rights })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority(seed: u8) -> Authority {
        Authority::new(SecretKey::of_seed(&[seed; 32]))
    }

    fn key() -> UserKey {
        UserKey::read(&SecretKey::of_seed(&[9; 32]).public()).unwrap()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    fn made(by: &Authority) -> Certificate {
        let text = by.sign(&key(), "u-ada", "c-1", &[3; 16], (at(0), at(3600))).unwrap();
        Certificate::from_openssh(&text).unwrap()
    }

    fn built(change: impl FnOnce(&mut Builder)) -> Certificate {
        let seconds = |time: Timestamp| u64::try_from(time.as_second()).unwrap();
        let mut builder =
            Builder::new([1; 16], key().0.key_data().clone(), seconds(at(0)), seconds(at(3600))).unwrap();
        change(&mut builder);
        builder.sign(&authority(1).0.0).unwrap()
    }

    #[test]
    fn a_certificate_names_its_user_for_a_while() {
        let ours = authority(1);
        let named = ours.check(&made(&ours), at(10)).unwrap();
        assert_eq!(named, Named { user: "u-ada".to_owned(), id: "c-1".to_owned(), rights: Rights::ALL });
        assert!(ours.check(&made(&ours), at(-30)).is_ok(), "clocks differ");
        for (time, why) in [(-120, "too early"), (3600, "expired"), (7200, "expired long ago")] {
            assert!(ours.check(&made(&ours), at(time)).is_err(), "{why}");
        }
    }

    #[test]
    fn certificates_of_others_and_for_other_things_are_not_taken() {
        let ours = authority(1);
        assert!(ours.check(&made(&authority(2)), at(10)).is_err(), "of another authority");
        let user = |builder: &mut Builder| {
            builder.valid_principal("u-ada").unwrap();
        };
        assert!(ours.check(&built(user), at(10)).is_ok());
        let rights = ours.check(&built(user), at(10)).unwrap().rights;
        let none = Rights { terminal: false, forwarding: false, agent: false };
        assert_eq!(rights, none, "what is not said is not allowed");
        let refused = [
            built(|builder| {
                user(builder);
                builder.cert_type(CertType::Host).unwrap();
            }),
            built(|builder| {
                user(builder);
                builder.critical_option("force-command", "true").unwrap();
            }),
            built(|builder| {
                user(builder);
                builder.valid_principal("u-bob").unwrap();
            }),
            built(|builder| {
                builder.all_principals_valid().unwrap();
            }),
        ];
        for (index, certificate) in refused.iter().enumerate() {
            assert!(ours.check(certificate, at(10)).is_err(), "case {index}");
        }
    }
}
