//! A statement with its values. The text is made of pieces that stand in the program, never of anything a user gave.

use jiff::Timestamp;
use sqlx::{AssertSqlSafe, Encode, Type};

use crate::{Error, Result};

/// A value of a statement, absent or not.
pub(crate) enum Value {
    Text(Option<String>),
    Number(Option<i64>),
    Flag(bool),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::Text(Some(text.clone()))
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(str::to_owned))
    }
}

impl From<&Option<String>> for Value {
    fn from(text: &Option<String>) -> Self {
        Self::Text(text.clone())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<Timestamp> for Value {
    fn from(at: Timestamp) -> Self {
        Self::Number(Some(at.as_microsecond()))
    }
}

impl From<Option<Timestamp>> for Value {
    fn from(at: Option<Timestamp>) -> Self {
        Self::Number(at.map(Timestamp::as_microsecond))
    }
}

/// A statement.
pub(crate) struct Query {
    text: String,
    values: Vec<Value>,
}

impl Query {
    /// A statement whose values are `$1`, `$2` and so on.
    pub(crate) fn new(text: &'static str) -> Self {
        Self { text: text.to_owned(), values: Vec::new() }
    }

    /// Gives the next of the values its text names.
    pub(crate) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Adds text.
    pub(crate) fn push(mut self, text: &'static str) -> Self {
        self.text.push_str(text);
        self
    }

    /// Adds a value where the text ends.
    pub(crate) fn value(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self.text.push('$');
        self.text.push_str(&self.values.len().to_string());
        self
    }

    /// Adds a condition on a value that is given; without one, none.
    pub(crate) fn and<T: Into<Value>>(self, condition: &'static str, value: Option<T>) -> Self {
        match value {
            Some(value) => self.push(" AND ").push(condition).value(value),
            None => self,
        }
    }

    /// The statement with its values, for one of the databases.
    pub(super) fn bound<DB>(self) -> Result<sqlx::query::Query<'static, DB, DB::Arguments>>
    where
        DB: sqlx::Database,
        Option<String>: Encode<'static, DB> + Type<DB>,
        Option<i64>: Encode<'static, DB> + Type<DB>,
        bool: Encode<'static, DB> + Type<DB>,
    {
        let mut statement = sqlx::query(AssertSqlSafe(self.text));
        for value in self.values {
            statement = match value {
                Value::Text(Some(text)) if text.contains('\0') => {
                    // PostgreSQL cannot store it; SQLite would, and then show half of the text.
                    return Err(Error::invalid("text", "it holds a NUL"));
                }
                Value::Text(text) => statement.bind(text),
                Value::Number(number) => statement.bind(number),
                Value::Flag(flag) => statement.bind(flag),
            };
        }
        Ok(statement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbered_as_they_come() {
        let query = Query::new("SELECT 1 WHERE a = $1")
            .bind("x")
            .and("b = ", Some(2))
            .and("c = ", None::<&str>)
            .push(" LIMIT ")
            .value(3);
        assert_eq!(query.text, "SELECT 1 WHERE a = $1 AND b = $2 LIMIT $3");
        assert_eq!(query.values.len(), 3);
    }

    #[test]
    fn a_nul_is_refused_before_it_reaches_a_database() {
        let query = Query::new("SELECT $1").bind("a\0b");
        assert!(matches!(query.bound::<sqlx::Sqlite>(), Err(Error::Invalid { .. })));
    }
}
