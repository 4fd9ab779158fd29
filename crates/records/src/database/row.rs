//! A row of an answer, read by the names of its columns.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;

use crate::{Error, Result};

/// A row, or the columns of it whose names begin alike.
pub(crate) struct Row {
    kind: Kind,
    prefix: &'static str,
}

enum Kind {
    Sqlite(SqliteRow),
    Postgres(Box<PgRow>),
}

impl From<SqliteRow> for Row {
    fn from(row: SqliteRow) -> Self {
        Self { kind: Kind::Sqlite(row), prefix: "" }
    }
}

impl From<PgRow> for Row {
    fn from(row: PgRow) -> Self {
        Self { kind: Kind::Postgres(Box::new(row)), prefix: "" }
    }
}

macro_rules! get {
    ($row:expr, $column:expr) => {{
        let name = $row.name($column);
        let read = match &$row.kind {
            Kind::Sqlite(row) => row.try_get(name.as_ref()),
            Kind::Postgres(row) => row.try_get(name.as_ref()),
        };
        read.map_err(|error| damaged($column, &error))
    }};
}

impl Row {
    /// The columns whose names begin so, for answers about two things at once.
    pub(crate) fn under(self, prefix: &'static str) -> Self {
        Self { prefix, ..self }
    }

    fn name(&self, column: &'static str) -> Cow<'static, str> {
        if self.prefix.is_empty() {
            Cow::Borrowed(column)
        } else {
            Cow::Owned(format!("{}{column}", self.prefix))
        }
    }

    pub(crate) fn text(&self, column: &'static str) -> Result<String> {
        get!(self, column)
    }

    pub(crate) fn optional_text(&self, column: &'static str) -> Result<Option<String>> {
        get!(self, column)
    }

    pub(crate) fn number(&self, column: &'static str) -> Result<i64> {
        get!(self, column)
    }

    pub(crate) fn flag(&self, column: &'static str) -> Result<bool> {
        get!(self, column)
    }

    pub(crate) fn time(&self, column: &'static str) -> Result<Timestamp> {
        instant(self.number(column)?).map_err(|error| damaged(column, &error))
    }

    pub(crate) fn optional_time(&self, column: &'static str) -> Result<Option<Timestamp>> {
        let number: Option<i64> = get!(self, column)?;
        number.map(instant).transpose().map_err(|error| damaged(column, &error))
    }

    pub(crate) fn json<T: DeserializeOwned>(&self, column: &'static str) -> Result<T> {
        serde_json::from_str(&self.text(column)?).map_err(|error| damaged(column, &error))
    }

    pub(crate) fn optional_json<T: DeserializeOwned>(&self, column: &'static str) -> Result<Option<T>> {
        let text = self.optional_text(column)?;
        text.map(|text| serde_json::from_str(&text)).transpose().map_err(|error| damaged(column, &error))
    }
}

/// The time a stored number means.
pub(crate) fn instant(micros: i64) -> Result<Timestamp, jiff::Error> {
    Timestamp::from_microsecond(micros)
}

pub(crate) fn damaged(column: &str, error: &dyn std::error::Error) -> Error {
    Error::Damaged { field: column.to_owned(), why: error.to_string() }
}
