//! Secrets of the portal itself, which all its processes share.

use jiff::Timestamp;

use crate::database::Query;
use crate::{Error, Records, Result, text};

/// The longest secret.
const MOST: usize = 16 * 1024;

impl Records {
    /// The secret of a name: `made` if there is none yet. Of several who ask at once all get the same.
    pub async fn secret(&self, name: &str, made: &str, now: Timestamp) -> Result<String> {
        text::line("name", name, 64)?;
        if made.is_empty() || made.len() > MOST {
            return Err(Error::invalid("secret", "it is empty or too long"));
        }
        let query = Query::new(
            "INSERT INTO secrets (name, body, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING",
        );
        self.database.write(query.bind(name).bind(made).bind(now)).await?;
        let query = Query::new("SELECT body FROM secrets WHERE name = $1").bind(name);
        let row = self.database.row(query).await?.ok_or(Error::NotFound { what: "secret" })?;
        row.text("body")
    }
}
