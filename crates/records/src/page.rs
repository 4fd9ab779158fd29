//! Lists in pages: a cursor is the key of the last row seen, so that rows that come and go between two pages neither
//! repeat nor hide another.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::database::{Query, Row, instant};
use crate::{Error, Result};

/// The most rows of one page.
pub const MAX_LIMIT: u32 = 500;

/// Which part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    limit: u32,
    after: Option<Cursor>,
}

impl Page {
    /// The beginning of a list; between 1 and [`MAX_LIMIT`] rows.
    pub fn first(limit: u32) -> Result<Self> {
        if (1..=MAX_LIMIT).contains(&limit) {
            return Ok(Self { limit, after: None });
        }
        Err(Error::invalid("limit", format!("it must be between 1 and {MAX_LIMIT}")))
    }

    /// What comes after a [`Listing`] that has a next.
    pub fn after(self, cursor: Cursor) -> Self {
        Self { after: Some(cursor), ..self }
    }

    pub(crate) const fn limit(&self) -> u32 {
        self.limit
    }

    pub(crate) const fn cursor(&self) -> Option<&Cursor> {
        self.after.as_ref()
    }

    /// Ends a query with the order and one row more than wanted, which tells whether there is a next page.
    pub(crate) fn limited(&self, query: Query, order: &'static str) -> Query {
        query.push(order).push(" LIMIT ").value(i64::from(self.limit) + 1)
    }

    /// The same for a list by time and then id, newest first.
    pub(crate) fn newest_first(&self, query: Query, at: &'static str, id: &'static str) -> Result<Query> {
        let query = match self.cursor().map(Cursor::time).transpose()? {
            Some((last, last_id)) => query
                .push(" AND (")
                .push(at)
                .push(", ")
                .push(id)
                .push(") < (")
                .value(last)
                .push(", ")
                .value(last_id)
                .push(")"),
            None => query,
        };
        let query = query.push(" ORDER BY ").push(at).push(" DESC, ").push(id);
        Ok(self.limited(query, " DESC"))
    }
}

/// Where to go on; its text means nothing to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(String);

impl Cursor {
    /// From what an earlier [`Listing`] gave.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text to hand out.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn of_time(at: Timestamp, id: &str) -> Self {
        Self(format!("{}~{id}", at.as_microsecond()))
    }

    /// The time and id it was made of.
    pub(crate) fn time(&self) -> Result<(Timestamp, &str)> {
        let parts = self.0.split_once('~').and_then(|(at, id)| Some((at.parse().ok()?, id)));
        let (micros, id) = parts.ok_or_else(wrong)?;
        Ok((instant(micros).map_err(|_| wrong())?, id))
    }

    /// The number it was made of.
    pub(crate) fn position(&self) -> Result<i64> {
        self.0.parse().map_err(|_| wrong())
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn wrong() -> Error {
    Error::invalid("cursor", "it was not given by this list")
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing<T> {
    /// The rows.
    pub items: Vec<T>,
    /// Where the next page begins, if there is one.
    pub next: Option<Cursor>,
}

impl<T> Listing<T> {
    /// Reads a page from what [`Page::limited`] asked for.
    pub(crate) fn read(
        page: &Page,
        mut rows: Vec<Row>,
        read: impl Fn(&Row) -> Result<T>,
        cursor: impl Fn(&T) -> Cursor,
    ) -> Result<Self> {
        let limit = page.limit() as usize;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let items = rows.iter().map(read).collect::<Result<Vec<T>>>()?;
        let next = if more { items.last().map(cursor) } else { None };
        Ok(Self { items, next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_has_bounds() {
        assert!(Page::first(0).is_err());
        assert!(Page::first(MAX_LIMIT).is_ok());
        assert!(Page::first(MAX_LIMIT + 1).is_err());
    }

    #[test]
    fn a_cursor_that_was_made_up_is_refused() {
        for text in ["", "x", "1", "~", "x~y", "99999999999999999999~y", "9223372036854775807~y"] {
            let error = Cursor::new(text).time().unwrap_err();
            assert_eq!(error.to_string(), "cursor is not valid: it was not given by this list", "{text}");
        }
        assert!(Cursor::new("-").position().is_err());
    }

    #[test]
    fn a_cursor_holds_time_and_id() {
        let at = Timestamp::from_microsecond(1_700_000_000_000_001).unwrap();
        assert_eq!(Cursor::of_time(at, "a~b").time().unwrap(), (at, "a~b"));
    }
}
