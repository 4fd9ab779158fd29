//! Kubeconfigs that were given out, one for each device of a user.

use jiff::Timestamp;

use crate::database::{Query, Row};
use crate::page::{Cursor, Listing, Page};
use crate::{Error, KubeconfigId, Records, Result, UserId, text};

macro_rules! columns {
    () => {
        "id, user_id, mode, device, created_at, expires_at, revoked_at"
    };
}

/// A kubeconfig that was given out, without what it proves by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kubeconfig {
    /// What it is listed and revoked by.
    pub id: KubeconfigId,
    /// Whose it is.
    pub user: UserId,
    /// How it proves who he is, in the caller's words.
    pub mode: String,
    /// What its owner calls the device.
    pub device: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it does not work.
    pub expires_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl Kubeconfig {
    fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            id: KubeconfigId::new(row.text("id")?),
            user: UserId::new(row.text("user_id")?),
            mode: row.text("mode")?,
            device: row.text("device")?,
            created_at: row.time("created_at")?,
            expires_at: row.time("expires_at")?,
            revoked_at: row.optional_time("revoked_at")?,
        })
    }
}

impl Records {
    /// Notes a kubeconfig that is given out.
    pub async fn create_kubeconfig(&self, kubeconfig: &Kubeconfig) -> Result<()> {
        text::line("id", kubeconfig.id.as_str(), 64)?;
        text::line("mode", &kubeconfig.mode, 32)?;
        text::line("device", &kubeconfig.device, 64)?;
        let query = Query::new(
            "INSERT INTO kubeconfigs (id, user_id, mode, device, created_at, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6)",
        );
        let query = query
            .bind(&kubeconfig.id)
            .bind(&kubeconfig.user)
            .bind(&kubeconfig.mode)
            .bind(&kubeconfig.device)
            .bind(kubeconfig.created_at)
            .bind(kubeconfig.expires_at);
        self.database.write(query).await.map(|_| ())
    }

    /// The kubeconfig of an id, whether it works or not.
    pub async fn kubeconfig(&self, id: &KubeconfigId) -> Result<Kubeconfig> {
        let query = Query::new(concat!("SELECT ", columns!(), " FROM kubeconfigs WHERE id = $1")).bind(id);
        let row = self.database.row(query).await?;
        Kubeconfig::read(&row.ok_or(Error::NotFound { what: "kubeconfig" })?)
    }

    /// Notes that a kubeconfig works no more. Doing it again changes nothing.
    pub async fn revoke_kubeconfig(&self, id: &KubeconfigId, now: Timestamp) -> Result<()> {
        let query = Query::new("UPDATE kubeconfigs SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1");
        let count = self.database.write(query.bind(id).bind(now)).await?;
        if count == 0 { Err(Error::NotFound { what: "kubeconfig" }) } else { Ok(()) }
    }

    /// The kubeconfigs of a user, newest first, revoked ones too.
    pub async fn kubeconfigs_of(&self, user: &UserId, page: &Page) -> Result<Listing<Kubeconfig>> {
        let query = Query::new(concat!("SELECT ", columns!(), " FROM kubeconfigs WHERE user_id = $1"));
        let rows = self.database.rows(page.newest_first(query.bind(user), "created_at", "id")?).await?;
        Listing::read(page, rows, Kubeconfig::read, |one| Cursor::of_time(one.created_at, one.id.as_str()))
    }

    /// The kubeconfigs of all users that have ended and were not revoked, the first to end first, at most 100.
    pub async fn ended_kubeconfigs(&self, now: Timestamp) -> Result<Vec<Kubeconfig>> {
        let query = Query::new(concat!(
            "SELECT ",
            columns!(),
            " FROM kubeconfigs WHERE revoked_at IS NULL AND expires_at <= $1 ORDER BY expires_at, id LIMIT 100"
        ));
        let rows = self.database.rows(query.bind(now)).await?;
        rows.iter().map(Kubeconfig::read).collect()
    }

    /// The kubeconfigs of a user that neither were revoked nor have ended, the oldest first, at most 500.
    pub async fn live_kubeconfigs(&self, user: &UserId, now: Timestamp) -> Result<Vec<Kubeconfig>> {
        let query = Query::new(concat!(
            "SELECT ",
            columns!(),
            " FROM kubeconfigs WHERE user_id = $1 AND revoked_at IS NULL AND expires_at > $2 \
             ORDER BY created_at, id LIMIT 500"
        ));
        let rows = self.database.rows(query.bind(user).bind(now)).await?;
        rows.iter().map(Kubeconfig::read).collect()
    }
}
