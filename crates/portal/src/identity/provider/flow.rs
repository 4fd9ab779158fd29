//! A login that is under way at a provider, bound to the browser that began it.
//!
//! Nothing is kept here: the browser holds 256 random bits, the time and the page to come back to in a cookie, and
//! everything that is sent to the provider is a hash of the cookie and of the provider. So what comes back is only
//! taken from the browser that left, for the provider it left to, with nothing in the cookie changed; and who sees what
//! went to the provider can make nothing of it. That it is taken once is counted in the records; see `handlers`.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

/// How long somebody may take at the provider, in seconds.
pub(super) const LIFE: i64 = 600;
/// Clocks of several portals may differ by so much, in seconds.
const SKEW: i64 = 60;

/// A login that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flow {
    /// What the browser holds.
    cookie: String,
    issued: i64,
    /// The page to go to afterwards.
    pub(super) back: String,
    provider: String,
}

/// Why what came back is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum FlowError {
    #[error("this browser did not begin a login, or has finished it")]
    NotBegun,
    #[error("the state is not that of this browser and provider")]
    State,
    #[error("it took longer than ten minutes")]
    Late,
}

impl Flow {
    /// Begins one. `secret` has 256 random bits.
    pub(super) fn begin(provider: &str, secret: &str, back: &str, now: Timestamp) -> Self {
        let issued = now.as_second();
        let cookie = format!("{secret}.{issued}.{}", BASE64_URL_SAFE_NO_PAD.encode(back));
        Self { cookie, issued, back: back.to_owned(), provider: provider.to_owned() }
    }

    /// What the browser keeps.
    pub(super) fn cookie(&self) -> &str {
        &self.cookie
    }

    /// The login that comes back with this cookie and state.
    pub(super) fn resume(
        provider: &str,
        cookie: Option<&str>,
        state: Option<&str>,
        now: Timestamp,
    ) -> Result<Self, FlowError> {
        let flow = cookie.and_then(|cookie| Self::read(provider, cookie)).ok_or(FlowError::NotBegun)?;
        if state != Some(flow.state().as_str()) {
            return Err(FlowError::State);
        }
        let age = now.as_second().saturating_sub(flow.issued);
        if (-SKEW..=LIFE).contains(&age) { Ok(flow) } else { Err(FlowError::Late) }
    }

    fn read(provider: &str, cookie: &str) -> Option<Self> {
        let mut parts = cookie.split('.');
        let (secret, issued, back) = (parts.next()?, parts.next()?, parts.next()?);
        let whole = secret.len() >= 43 && parts.next().is_none();
        let back = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(back).ok()?).ok()?;
        whole.then_some(Self {
            cookie: cookie.to_owned(),
            issued: issued.parse().ok()?,
            back,
            provider: provider.to_owned(),
        })
    }

    /// Comes back with the browser.
    pub(super) fn state(&self) -> String {
        self.derive("state")
    }

    /// Comes back inside the ID token.
    pub(super) fn nonce(&self) -> String {
        self.derive("nonce")
    }

    /// Shows when the code is exchanged that we are who asked for it (PKCE).
    pub(super) fn verifier(&self) -> String {
        self.derive("verifier")
    }

    /// What the provider checks the verifier by.
    pub(super) fn challenge(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier().as_bytes()))
    }

    fn derive(&self, word: &str) -> String {
        let mut hash = Sha256::new();
        for part in [word, &self.provider, &self.cookie] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        BASE64_URL_SAFE_NO_PAD.encode(hash.finalize())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_login_comes_back_to_the_browser_and_provider_it_began_with_and_in_time() {
        let flow = Flow::begin("corp", SECRET, "/jobs?a=b", at(1000));
        let state = flow.state();
        let resume = |provider, cookie: &str, state: &str, second| {
            Flow::resume(provider, Some(cookie), Some(state), at(second))
        };
        assert_eq!(resume("corp", flow.cookie(), &state, 1600).as_ref(), Ok(&flow));
        assert_eq!(resume("corp", flow.cookie(), &state, 1601), Err(FlowError::Late));
        assert_eq!(resume("corp", flow.cookie(), &state, 900), Err(FlowError::Late), "from the future");
        assert_eq!(resume("other", flow.cookie(), &state, 1001), Err(FlowError::State), "mixed up");
        assert_eq!(resume("corp", flow.cookie(), "x", 1001), Err(FlowError::State));
        assert_eq!(Flow::resume("corp", Some(flow.cookie()), None, at(1001)), Err(FlowError::State));
        assert_eq!(Flow::resume("corp", None, Some(&state), at(1001)), Err(FlowError::NotBegun));
        for broken in ["", "a", "a.b.c", ".1000.", &format!("{SECRET}.1000.!"), &format!("{SECRET}.x.")] {
            assert_eq!(resume("corp", broken, &state, 1001), Err(FlowError::NotBegun), "{broken}");
        }
        let elsewhere = flow
            .cookie()
            .replace(&BASE64_URL_SAFE_NO_PAD.encode("/jobs?a=b"), &BASE64_URL_SAFE_NO_PAD.encode("//evil"));
        assert_eq!(resume("corp", &elsewhere, &state, 1001), Err(FlowError::State), "a changed cookie");
        let later = flow.cookie().replace(".1000.", ".9000.");
        assert_eq!(resume("corp", &later, &state, 9001), Err(FlowError::State), "a changed time");
    }

    #[test]
    fn the_challenge_is_the_hash_of_the_verifier() {
        // The example of RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        assert_eq!(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let flow = Flow::begin("corp", SECRET, "/", at(0));
        assert_eq!(flow.verifier().len(), 43, "as short as allowed and with 256 bits");
        assert_eq!(
            flow.challenge(),
            BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(flow.verifier().as_bytes()))
        );
    }

    proptest! {
        #[test]
        fn nothing_that_is_sent_is_alike_or_holds_the_secret(secret in "[A-Za-z0-9_-]{43}", back in "/[a-z]{0,8}", id in "[a-z]{1,5}") {
            let flow = Flow::begin(&id, &secret, &back, at(5));
            let sent = [flow.state(), flow.nonce(), flow.verifier(), flow.challenge()];
            for (index, one) in sent.iter().enumerate() {
                prop_assert!(!one.contains(&secret));
                prop_assert!(sent[index + 1..].iter().all(|other| other != one));
            }
            prop_assert_eq!(Flow::resume(&id, Some(flow.cookie()), Some(&flow.state()), at(6)), Ok(flow));
        }
    }
}
