//! What can go wrong, told so that a caller can answer a person.

use std::path::PathBuf;

/// The result of asking the records.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the records could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was named is not there.
    #[error("there is no such {what}")]
    NotFound {
        /// The kind of thing.
        what: &'static str,
    },
    /// Another record has this value already.
    #[error("{field} is taken")]
    Conflict {
        /// The field whose value is taken.
        field: String,
    },
    /// A value that cannot be stored or asked for.
    #[error("{field} is not valid: {why}")]
    Invalid {
        /// The field with the value.
        field: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The change would leave nobody who can administer.
    #[error("this would leave no administrator who can log in")]
    LastAdministrator,
    /// This database does not offer it.
    #[error("{what} is not supported on {database}: {instead}")]
    Unsupported {
        /// What was asked.
        what: &'static str,
        /// The database in use.
        database: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// Somebody whose password is kept elsewhere.
    #[error("{name} signs in by {providers} and has no password here")]
    NoPassword {
        /// Who.
        name: String,
        /// The names of the providers.
        providers: String,
    },
    /// The database is of an older Maar.
    #[error(
        "the database has schema {found}, this version needs {known}: maar records migrate brings it there"
    )]
    Older {
        /// The newest version in the database.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// A newer Maar has changed the database.
    #[error("the database has schema {found}, this version knows up to {known}: run the newer version")]
    Newer {
        /// The newest version in the database.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// A migration that ran is not the one known here.
    #[error("migration {version} of the database is not the one known here")]
    Diverged {
        /// The version of the migration.
        version: i64,
    },
    /// A record that cannot be understood.
    #[error("the field {field} of a record cannot be read: {why}")]
    Damaged {
        /// The field with the value.
        field: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file that cannot be made or used.
    #[error("using the file {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The database cannot be reached or refuses to work.
    #[error("the database does not answer as it should")]
    Unavailable(#[source] sqlx::Error),
}

impl Error {
    /// A word for metrics and for deciding how to answer.
    pub const fn category(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "missing",
            Self::Conflict { .. } | Self::LastAdministrator | Self::NoPassword { .. } => "conflict",
            Self::Invalid { .. } | Self::Unsupported { .. } => "invalid",
            Self::Older { .. } | Self::Newer { .. } | Self::Diverged { .. } | Self::Damaged { .. } => {
                "damaged"
            }
            Self::File { .. } => "file",
            Self::Unavailable(_) => "transient",
        }
    }

    pub(crate) fn invalid(field: &'static str, why: impl Into<String>) -> Self {
        Self::Invalid { field, why: why.into() }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match error.as_database_error() {
            Some(cause) if cause.is_unique_violation() => {
                Self::Conflict { field: taken(cause.table(), cause.constraint(), cause.message()) }
            }
            // The only thing others refer to.
            Some(cause) if cause.is_foreign_key_violation() => Self::NotFound { what: "user" },
            _ => Self::Unavailable(error),
        }
    }
}

/// The field that is taken: PostgreSQL names a constraint `TABLE_FIELD_key`, SQLite says `…: TABLE.FIELD, TABLE.FIELD`,
/// of which the last is what the caller chose.
fn taken(table: Option<&str>, constraint: Option<&str>, message: &str) -> String {
    if let (Some(table), Some(constraint)) = (table, constraint) {
        let field = constraint.strip_prefix(table).and_then(|rest| rest.strip_prefix('_'));
        return field.unwrap_or(constraint).trim_end_matches("_key").to_owned();
    }
    message.rsplit(['.', ' ']).next().unwrap_or("id").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_databases_name_the_field_that_is_taken() {
        assert_eq!(taken(Some("users"), Some("users_name_key"), "duplicate key value"), "name");
        assert_eq!(taken(Some("api_keys"), Some("api_keys_token_hash_key"), ""), "token_hash");
        assert_eq!(taken(None, None, "UNIQUE constraint failed: users.name"), "name");
        let two = "UNIQUE constraint failed: identities.provider, identities.subject";
        assert_eq!(taken(None, None, two), "subject");
    }
}
