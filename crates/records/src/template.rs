//! What people save to begin from: workspaces and jobs, for themselves or for their account.

use jiff::Timestamp;
use serde_json::Value as Json;

use crate::database::{Query, Row};
use crate::page::{Cursor, Listing, Page};
use crate::{Error, Records, Result, TemplateId, UserId, text};

/// The longest body, in bytes of JSON.
const MOST: usize = 256 * 1024;

macro_rules! columns {
    () => {
        "id, user_id, account, kind, name, description, body, created_at, updated_at"
    };
}

/// A template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// What it is found by.
    pub id: TemplateId,
    /// Whose it is.
    pub owner: UserId,
    /// The account it is shared with, if it is.
    pub account: Option<String>,
    /// What it makes, in the caller's words.
    pub kind: String,
    /// What its owner calls it; unlike their others of this kind.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What it holds.
    pub body: Json,
    /// When it was saved first.
    pub created_at: Timestamp,
    /// When it was saved last.
    pub updated_at: Timestamp,
}

/// What can be said about a template by its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateText {
    /// The account it is shared with, if it is.
    pub account: Option<String>,
    /// What its owner calls it.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What it holds.
    pub body: Json,
}

impl TemplateText {
    /// The body as it is stored.
    fn check(&self) -> Result<String> {
        text::line("name", &self.name, 128)?;
        text::optional_line("description", &self.description, 1024)?;
        if let Some(account) = &self.account {
            text::line("account", account, 253)?;
        }
        text::json("body", &self.body, MOST)
    }
}

/// Which templates: those of the owner and those shared with one of the accounts; without either, none.
#[derive(Debug, Clone, Default)]
pub struct TemplateFilter {
    /// Whose.
    pub owner: Option<UserId>,
    /// Shared with one of these.
    pub accounts: Vec<String>,
    /// Only of this kind.
    pub kind: Option<String>,
}

impl Template {
    fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            id: TemplateId::new(row.text("id")?),
            owner: UserId::new(row.text("user_id")?),
            account: row.optional_text("account")?,
            kind: row.text("kind")?,
            name: row.text("name")?,
            description: row.text("description")?,
            body: row.json("body")?,
            created_at: row.time("created_at")?,
            updated_at: row.time("updated_at")?,
        })
    }
}

impl Records {
    /// Saves a template.
    pub async fn create_template(
        &self,
        id: &TemplateId,
        owner: &UserId,
        kind: &str,
        text: &TemplateText,
        now: Timestamp,
    ) -> Result<()> {
        text::line("id", id.as_str(), 128)?;
        text::line("kind", kind, 64)?;
        let body = text.check()?;
        let query = Query::new(
            "INSERT INTO templates (id, user_id, kind, account, name, description, body, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)",
        );
        let query = query.bind(id).bind(owner).bind(kind).bind(&text.account);
        let query = query.bind(&text.name).bind(&text.description).bind(body).bind(now);
        self.database.write(query).await.map(|_| ())
    }

    /// Saves a template over what it was.
    pub async fn update_template(&self, id: &TemplateId, text: &TemplateText, now: Timestamp) -> Result<()> {
        let body = text.check()?;
        let query = Query::new(
            "UPDATE templates SET account = $2, name = $3, description = $4, body = $5, updated_at = $6 \
             WHERE id = $1",
        );
        let query = query.bind(id).bind(&text.account).bind(&text.name);
        let query = query.bind(&text.description).bind(body).bind(now);
        let count = self.database.write(query).await?;
        if count == 0 { Err(Error::NotFound { what: "template" }) } else { Ok(()) }
    }

    /// Removes a template. Removing it again changes nothing.
    pub async fn delete_template(&self, id: &TemplateId) -> Result<()> {
        self.database.write(Query::new("DELETE FROM templates WHERE id = $1").bind(id)).await.map(|_| ())
    }

    /// The template of an id.
    pub async fn template(&self, id: &TemplateId) -> Result<Template> {
        let query = Query::new(concat!("SELECT ", columns!(), " FROM templates WHERE id = $1")).bind(id);
        Template::read(&self.database.row(query).await?.ok_or(Error::NotFound { what: "template" })?)
    }

    /// Templates, newest first.
    pub async fn templates(&self, filter: &TemplateFilter, page: &Page) -> Result<Listing<Template>> {
        let mut query = Query::new(concat!("SELECT ", columns!(), " FROM templates WHERE (1 = 0"));
        if let Some(owner) = &filter.owner {
            query = query.push(" OR user_id = ").value(owner);
        }
        for account in &filter.accounts {
            query = query.push(" OR account = ").value(account);
        }
        let query = query.push(")").and("kind = ", filter.kind.as_ref());
        let rows = self.database.rows(page.newest_first(query, "created_at", "id")?).await?;
        Listing::read(page, rows, Template::read, |one| Cursor::of_time(one.created_at, one.id.as_str()))
    }
}
