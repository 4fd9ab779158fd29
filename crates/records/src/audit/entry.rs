//! An entry of the audit log.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::database::{Query, Row};
use crate::{AuditId, Error, Result, UserId, text};

macro_rules! columns {
    () => {
        "position, id, at, actor_kind, actor_id, actor_name, via, action, object_kind, object_name, account, \
         outcome, detail, before_json, after_json, address, request_id"
    };
}
pub(super) use columns;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// The word that is stored.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            fn read(row: &Row, column: &'static str) -> Result<Self> {
                match row.text(column)?.as_str() {
                    $($word => Ok(Self::$variant),)*
                    other => {
                        Err(Error::Damaged { field: column.to_owned(), why: format!("{other} is not known") })
                    }
                }
            }
        }
    };
}

words! {
    /// What kind of thing acted.
    ActorKind {
        /// A person in a session.
        User = "user",
        /// A program with an API key.
        Key = "key",
        /// Maar itself.
        System = "system",
        /// Somebody unknown, such as whoever failed to log in.
        Anonymous = "anonymous",
    }
}

words! {
    /// How it ended.
    Outcome {
        /// As asked.
        Done = "done",
        /// Not allowed.
        Denied = "denied",
        /// Tried, and it went wrong.
        Failed = "failed",
        /// Begun, and nobody lived to tell how it ended.
        Unknown = "unknown",
    }
}

/// Who acted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Actor {
    /// What kind of thing.
    pub kind: ActorKind,
    /// Which user, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<UserId>,
    /// The name at that time; of a login that failed, the name that was given.
    pub name: String,
    /// The id of the session or key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
}

impl Actor {
    /// Maar itself, by the name of a part of it.
    pub fn system(name: impl Into<String>) -> Self {
        Self { kind: ActorKind::System, id: None, name: name.into(), via: None }
    }
}

/// Something that was done, or tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Made by the caller.
    pub id: AuditId,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: Actor,
    /// What, such as `workspace.create`.
    pub action: String,
    /// To what kind of thing.
    pub object_kind: String,
    /// To which, such as `namespace/name`.
    pub object_name: String,
    /// In which account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it ended so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What it was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Json>,
    /// What it was after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Json>,
    /// From where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// In which request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl Entry {
    /// Something that was done; the rest is filled in where it is known.
    pub fn new(
        id: AuditId,
        at: Timestamp,
        actor: Actor,
        action: impl Into<String>,
        (object_kind, object_name): (&str, &str),
    ) -> Self {
        Self {
            id,
            at,
            actor,
            action: action.into(),
            object_kind: object_kind.to_owned(),
            object_name: object_name.to_owned(),
            account: None,
            outcome: Outcome::Done,
            detail: None,
            before: None,
            after: None,
            address: None,
            request_id: None,
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        text::line("id", self.id.as_str(), 128)?;
        text::line("action", &self.action, 128)?;
        text::line("object_kind", &self.object_kind, 128)
    }

    /// Gives the values of all columns but the position, in order. What others chose the length of is shortened: an
    /// entry must not be lost to a name that is too long.
    pub(super) fn bind(&self, query: Query) -> Query {
        let json = |value: &Option<Json>| value.as_ref().map(Json::to_string);
        let short = |value: &Option<String>, most| value.as_deref().map(|text| text::shortened(text, most));
        query
            .bind(&self.id)
            .bind(self.at)
            .bind(self.actor.kind.as_str())
            .bind(self.actor.id.as_ref().map(UserId::as_str))
            .bind(text::shortened(&self.actor.name, 256))
            .bind(&short(&self.actor.via, 128))
            .bind(&self.action)
            .bind(&self.object_kind)
            .bind(text::shortened(&self.object_name, 512))
            .bind(&short(&self.account, 256))
            .bind(self.outcome.as_str())
            .bind(&short(&self.detail, 1024))
            .bind(&json(&self.before))
            .bind(&json(&self.after))
            .bind(&short(&self.address, 128))
            .bind(&short(&self.request_id, 128))
    }
}

/// An entry that is in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditRecord {
    /// Its place in the log: later ones are higher.
    pub position: i64,
    /// What happened.
    #[serde(flatten)]
    pub entry: Entry,
}

impl AuditRecord {
    pub(super) fn read(row: &Row) -> Result<Self> {
        let actor = Actor {
            kind: ActorKind::read(row, "actor_kind")?,
            id: row.optional_text("actor_id")?.map(UserId::new),
            name: row.text("actor_name")?,
            via: row.optional_text("via")?,
        };
        let entry = Entry {
            id: AuditId::new(row.text("id")?),
            at: row.time("at")?,
            actor,
            action: row.text("action")?,
            object_kind: row.text("object_kind")?,
            object_name: row.text("object_name")?,
            account: row.optional_text("account")?,
            outcome: Outcome::read(row, "outcome")?,
            detail: row.optional_text("detail")?,
            before: row.optional_json("before_json")?,
            after: row.optional_json("after_json")?,
            address: row.optional_text("address")?,
            request_id: row.optional_text("request_id")?,
        };
        Ok(Self { position: row.number("position")?, entry })
    }
}
