//! Ports of workspaces that others may see, and those who look at one.

use jiff::Timestamp;

use crate::database::{Lock, Query, Row};
use crate::{Error, Records, Result, TokenHash, UserId, text};

macro_rules! share_columns {
    () => {
        "namespace, workspace, port, uid, user_id, kind, secret_hash, created_at, expires_at"
    };
}

macro_rules! visit_columns {
    () => {
        "token_hash, ticket, proof, namespace, workspace, uid, port, created_at, expires_at"
    };
}

/// A port of a workspace. A workspace that is made again is another, whatever it is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PortPlace {
    /// The namespace of the workspace.
    pub namespace: String,
    /// Its name; that of something else with ports has its kind and a slash before (`job/train`).
    pub workspace: String,
    /// Its identifier in the cluster.
    pub uid: String,
    /// The port.
    pub port: u16,
}

impl PortPlace {
    fn check(&self) -> Result<()> {
        text::line("namespace", &self.namespace, 253)?;
        text::line("workspace", &self.workspace, 253)?;
        text::line("uid", &self.uid, 128)
    }

    fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            namespace: row.text("namespace")?,
            workspace: row.text("workspace")?,
            uid: row.text("uid")?,
            port: u16::try_from(row.number("port")?)
                .map_err(|error| Error::Damaged { field: "port".to_owned(), why: error.to_string() })?,
        })
    }
}

/// A port that others than the owner of its workspace may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedPort {
    /// Which.
    pub place: PortPlace,
    /// Who shared it.
    pub user: UserId,
    /// With whom, in the caller's words.
    pub kind: String,
    /// The hash of the secret of its link, if it has one.
    pub secret: Option<TokenHash>,
    /// When it was shared.
    pub created_at: Timestamp,
    /// Until when.
    pub expires_at: Option<Timestamp>,
}

impl SharedPort {
    fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            place: PortPlace::read(row)?,
            user: UserId::new(row.text("user_id")?),
            kind: row.text("kind")?,
            secret: row.optional_text("secret_hash")?.map(TokenHash::new),
            created_at: row.time("created_at")?,
            expires_at: row.optional_time("expires_at")?,
        })
    }
}

/// Somebody who looks at a port, or holds a ticket to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortVisit {
    /// The hash of what the browser holds.
    pub token: TokenHash,
    /// Good for one use, and for nothing but a visit.
    pub ticket: bool,
    /// What he was let in by, in the caller's words, to look it up again.
    pub proof: String,
    /// What he looks at.
    pub place: PortPlace,
    /// When it began.
    pub created_at: Timestamp,
    /// When it ends at the latest.
    pub expires_at: Timestamp,
}

impl PortVisit {
    fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            token: TokenHash::new(row.text("token_hash")?),
            ticket: row.flag("ticket")?,
            proof: row.text("proof")?,
            place: PortPlace::read(row)?,
            created_at: row.time("created_at")?,
            expires_at: row.time("expires_at")?,
        })
    }
}

impl Records {
    /// Shares a port, instead of how it was shared before.
    pub async fn share_port(&self, share: &SharedPort) -> Result<()> {
        share.place.check()?;
        text::line("kind", &share.kind, 64)?;
        let query = Query::new(concat!(
            "INSERT INTO shared_ports (",
            share_columns!(),
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (namespace, workspace, port) DO UPDATE SET \
             uid = excluded.uid, user_id = excluded.user_id, kind = excluded.kind, \
             secret_hash = excluded.secret_hash, created_at = excluded.created_at, expires_at = excluded.expires_at"
        ));
        let query = query.bind(&share.place.namespace).bind(&share.place.workspace);
        let query = query.bind(i64::from(share.place.port)).bind(&share.place.uid).bind(&share.user);
        let query = query.bind(&share.kind).bind(share.secret.as_ref().map(TokenHash::as_str));
        self.database.write(query.bind(share.created_at).bind(share.expires_at)).await.map(|_| ())
    }

    /// Shares a port no longer. Doing so again changes nothing.
    pub async fn unshare_port(&self, place: &PortPlace) -> Result<()> {
        let query =
            Query::new("DELETE FROM shared_ports WHERE namespace = $1 AND workspace = $2 AND port = $3");
        let query = query.bind(&place.namespace).bind(&place.workspace).bind(i64::from(place.port));
        self.database.write(query).await.map(|_| ())
    }

    /// How a port is shared now, if it is.
    pub async fn shared_port(&self, place: &PortPlace, now: Timestamp) -> Result<Option<SharedPort>> {
        let query = Query::new(concat!(
            "SELECT ",
            share_columns!(),
            " FROM shared_ports WHERE namespace = $1 AND workspace = $2 AND port = $3 AND uid = $4 \
             AND (expires_at IS NULL OR expires_at > $5)"
        ));
        let query = query.bind(&place.namespace).bind(&place.workspace).bind(i64::from(place.port));
        let row = self.database.row(query.bind(&place.uid).bind(now)).await?;
        row.as_ref().map(SharedPort::read).transpose()
    }

    /// The port that is shared by a link with this secret.
    pub async fn port_shared_by(&self, secret: &TokenHash, now: Timestamp) -> Result<Option<SharedPort>> {
        let query = Query::new(concat!(
            "SELECT ",
            share_columns!(),
            " FROM shared_ports WHERE secret_hash = $1 AND (expires_at IS NULL OR expires_at > $2)"
        ));
        let row = self.database.row(query.bind(secret).bind(now)).await?;
        row.as_ref().map(SharedPort::read).transpose()
    }

    /// Ports of a workspace that are shared now, in order. There are few: each was shared by hand.
    pub async fn shared_ports(
        &self,
        namespace: &str,
        workspace: &str,
        uid: &str,
        now: Timestamp,
    ) -> Result<Vec<SharedPort>> {
        let query = Query::new(concat!(
            "SELECT ",
            share_columns!(),
            " FROM shared_ports WHERE namespace = $1 AND workspace = $2 AND uid = $3 \
             AND (expires_at IS NULL OR expires_at > $4) ORDER BY port"
        ));
        let rows = self.database.rows(query.bind(namespace).bind(workspace).bind(uid).bind(now)).await?;
        rows.iter().map(SharedPort::read).collect()
    }

    /// Writes down a ticket or a visit.
    pub async fn create_port_visit(&self, visit: &PortVisit) -> Result<()> {
        visit.place.check()?;
        text::line("token", visit.token.as_str(), 256)?;
        text::line("proof", &visit.proof, 512)?;
        let query = Query::new(concat!(
            "INSERT INTO port_visits (",
            visit_columns!(),
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
        ));
        let query = query.bind(&visit.token).bind(visit.ticket).bind(&visit.proof);
        let query = query.bind(&visit.place.namespace).bind(&visit.place.workspace).bind(&visit.place.uid);
        let query = query.bind(i64::from(visit.place.port)).bind(visit.created_at).bind(visit.expires_at);
        self.database.write(query).await.map(|_| ())
    }

    /// The visit of a token; a ticket is none.
    pub async fn port_visit(&self, token: &TokenHash, now: Timestamp) -> Result<Option<PortVisit>> {
        let query = Query::new(concat!(
            "SELECT ",
            visit_columns!(),
            " FROM port_visits WHERE token_hash = $1 AND expires_at > $2"
        ));
        let row = self.database.row(query.bind(token).bind(now)).await?;
        Ok(row.as_ref().map(PortVisit::read).transpose()?.filter(|visit| !visit.ticket))
    }

    /// Takes a ticket, for the one who comes first.
    pub async fn take_port_ticket(&self, token: &TokenHash, now: Timestamp) -> Result<Option<PortVisit>> {
        let mut transaction = self.database.begin(Lock::None).await?;
        let query =
            Query::new(concat!("SELECT ", visit_columns!(), " FROM port_visits WHERE token_hash = $1"));
        let found = transaction.rows(query.bind(token)).await?;
        let Some(found) = found.first().map(PortVisit::read).transpose()?.filter(|found| found.ticket) else {
            return Ok(None);
        };
        let query = Query::new("DELETE FROM port_visits WHERE token_hash = $1").bind(token);
        let count = transaction.write(query).await?;
        transaction.commit().await?;
        Ok((count == 1 && found.expires_at > now).then_some(found))
    }

    /// Ends a visit. Ending it again changes nothing.
    pub async fn end_port_visit(&self, token: &TokenHash) -> Result<()> {
        let query = Query::new("DELETE FROM port_visits WHERE token_hash = $1").bind(token);
        self.database.write(query).await.map(|_| ())
    }
}
