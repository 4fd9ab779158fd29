//! The provider: what it is told, and what its parts share.

use std::sync::Arc;

use jiff::SignedDuration;
use maar_records::Records;

use crate::{Clients, Host, RsaKey, Sealer, rotation::Schedule};

/// How long things last.
#[derive(Debug, Clone, Copy)]
pub struct Lives {
    /// A code, from the browser to the client.
    pub code: SignedDuration,
    /// Tokens that say who somebody is.
    pub token: SignedDuration,
    /// A refresh token that is not used.
    pub refresh: SignedDuration,
    /// All that comes of one grant.
    pub grant: SignedDuration,
    /// A device that waits for its user, and a request that does.
    pub wait: SignedDuration,
    /// A key that signs.
    pub key: SignedDuration,
}

impl Default for Lives {
    fn default() -> Self {
        Self {
            code: SignedDuration::from_secs(60),
            token: SignedDuration::from_mins(10),
            refresh: SignedDuration::from_hours(7 * 24),
            grant: SignedDuration::from_hours(30 * 24),
            wait: SignedDuration::from_mins(10),
            key: SignedDuration::from_hours(30 * 24),
        }
    }
}

impl Lives {
    pub(crate) fn schedule(self) -> Schedule {
        // Clocks of others may be wrong by some minutes.
        let after = self.token.saturating_add(SignedDuration::from_hours(1));
        Schedule { signs: self.key, ahead: SignedDuration::from_hours(24), after }
    }
}

/// What the provider is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What it calls itself, such as `https://gpu.example`: tokens name it, and it is found there.
    pub issuer: String,
    /// Who may ask.
    pub clients: Clients,
    /// Seals keys.
    pub sealer: Sealer,
    /// Keys for RS256; the first signs, all are shown.
    pub rsa: Vec<RsaKey>,
    /// How long things last.
    pub lives: Lives,
}

/// The provider. Clones share everything.
#[derive(Debug, Clone)]
pub struct Issuer {
    pub(crate) settings: Settings,
    pub(crate) records: Records,
    pub(crate) host: Arc<dyn Host>,
}

impl Issuer {
    /// A provider on these records.
    pub fn new(settings: Settings, records: Records, host: Arc<dyn Host>) -> Self {
        Self { settings, records, host }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.settings.issuer)
    }

    pub(crate) fn after(&self, life: SignedDuration) -> jiff::Timestamp {
        let now = self.host.now();
        now.saturating_add(life).unwrap_or(now)
    }
}
