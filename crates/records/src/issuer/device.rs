//! Devices without a browser that wait for somebody to let them in (RFC 8628).

use jiff::{SignedDuration, Timestamp};

use super::grant::words;
use crate::database::{Query, Row};
use crate::{Records, Result, TokenHash, text};

/// A device that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// The client that runs on it.
    pub client: String,
    /// What it asks for.
    pub scopes: Vec<String>,
    /// From when on its code is worth nothing.
    pub expires_at: Timestamp,
}

/// A device to be.
#[derive(Debug, Clone)]
pub struct NewDevice {
    /// The hash of what the device holds.
    pub token: TokenHash,
    /// What its user types, unlike those of all others.
    pub user_code: String,
    /// The client that runs on it.
    pub client: String,
    /// What it asks for.
    pub scopes: Vec<String>,
    /// Seconds between two questions.
    pub interval: i64,
    /// From when on its code is worth nothing.
    pub expires_at: Timestamp,
}

/// What a device that asks is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceState {
    /// There is none of this code and client, or it was used.
    Unknown,
    /// It is too late.
    Expired,
    /// It asks too often, and from now on has to wait longer.
    TooFast,
    /// Nobody has answered.
    Pending,
    /// Its user said no.
    Denied,
    /// Its user said yes, by this grant, and this is the first who hears of it.
    Granted(String),
}

impl Device {
    fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            client: row.text("client")?,
            scopes: words(&row.text("scopes")?),
            expires_at: row.time("expires_at")?,
        })
    }
}

impl Records {
    /// Keeps a device; a user code that is taken is a conflict.
    pub async fn create_device(&self, device: &NewDevice) -> Result<()> {
        text::line("user_code", &device.user_code, 32)?;
        text::line("client", &device.client, 128)?;
        text::optional_line("scopes", &device.scopes.join(" "), 1024)?;
        let query = Query::new(
            "INSERT INTO issuer_devices (token_hash, user_code, client, scopes, interval_seconds, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6)",
        );
        let query = query
            .bind(&device.token)
            .bind(&device.user_code)
            .bind(&device.client)
            .bind(device.scopes.join(" "))
            .bind(device.interval)
            .bind(device.expires_at);
        self.database.write(query).await.map(|_| ())
    }

    /// A device that waits for an answer, by what its user types.
    pub async fn waiting_device(&self, user_code: &str, now: Timestamp) -> Result<Option<Device>> {
        let query = Query::new(
            "SELECT client, scopes, expires_at FROM issuer_devices WHERE user_code = $1 AND grant_id IS NULL \
             AND denied_at IS NULL AND expires_at > $2",
        );
        self.database.row(query.bind(user_code).bind(now)).await?.as_ref().map(Device::read).transpose()
    }

    /// Answers a device, for the first who does: with a grant, or no. Whether that was the caller.
    pub async fn answer_device(&self, user_code: &str, grant: Option<&str>, now: Timestamp) -> Result<bool> {
        let query = Query::new(
            "UPDATE issuer_devices SET grant_id = $2, denied_at = $3 WHERE user_code = $1 AND grant_id IS NULL \
             AND denied_at IS NULL AND expires_at > $4",
        );
        let denied = grant.is_none().then_some(now);
        let query = query.bind(user_code).bind(grant).bind(denied).bind(now);
        Ok(self.database.write(query).await? > 0)
    }

    /// A device asks how it stands.
    pub async fn poll_device(&self, token: &TokenHash, client: &str, now: Timestamp) -> Result<DeviceState> {
        let query = Query::new(
            "SELECT grant_id, interval_seconds, polled_at, denied_at, used_at, expires_at FROM issuer_devices \
             WHERE token_hash = $1 AND client = $2",
        );
        let Some(row) = self.database.row(query.bind(token).bind(client)).await? else {
            return Ok(DeviceState::Unknown);
        };
        if row.optional_time("used_at")?.is_some() {
            return Ok(DeviceState::Unknown);
        }
        if row.time("expires_at")? <= now {
            return Ok(DeviceState::Expired);
        }
        let interval = SignedDuration::from_secs(row.number("interval_seconds")?);
        let early = row.optional_time("polled_at")?.is_some_and(|last| now.duration_since(last) < interval);
        let more: i64 = if early { 5 } else { 0 };
        let query = Query::new(
            "UPDATE issuer_devices SET polled_at = $2, interval_seconds = interval_seconds + $3 WHERE token_hash = $1",
        );
        self.database.write(query.bind(token).bind(now).bind(more)).await?;
        if early {
            return Ok(DeviceState::TooFast);
        }
        if row.optional_time("denied_at")?.is_some() {
            return Ok(DeviceState::Denied);
        }
        let Some(grant) = row.optional_text("grant_id")? else { return Ok(DeviceState::Pending) };
        let query =
            Query::new("UPDATE issuer_devices SET used_at = $2 WHERE token_hash = $1 AND used_at IS NULL");
        let first = self.database.write(query.bind(token).bind(now)).await? > 0;
        Ok(if first { DeviceState::Granted(grant) } else { DeviceState::Unknown })
    }
}
