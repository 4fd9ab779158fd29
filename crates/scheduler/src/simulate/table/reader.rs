//! Comma-separated values, with errors that say where they are.

use std::{borrow::Cow, ops::RangeInclusive};

use thiserror::Error;

use super::{Columns, File};

/// Why a table cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TableError {
    /// There is no first line with the names of columns.
    #[error("{file} is empty; its first line must name the columns {needed}")]
    Empty {
        /// The file.
        file: String,
        /// Columns there must be.
        needed: String,
    },
    /// A column is missing.
    #[error("{file} line 1: column {column} is missing; needed are {needed}")]
    MissingColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// Columns there must be.
        needed: String,
    },
    /// A column is not known.
    #[error("{file} line 1: column {column:?} is not known; allowed are {allowed}")]
    UnknownColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// Columns there may be.
        allowed: String,
    },
    /// A line has another number of cells than the first one has columns.
    #[error("{file} line {line}: {found} cells, but {wanted} columns")]
    Cells {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// Cells there.
        found: usize,
        /// Columns.
        wanted: usize,
    },
    /// A cell holds what it may not.
    #[error("{file} line {line}, column {column}: {value:?} is not allowed; it must be {allowed}")]
    Cell {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The column.
        column: String,
        /// What it holds.
        value: String,
        /// What it may hold.
        allowed: String,
    },
}

pub(super) struct Table<'a> {
    file: File<'a>,
    header: Vec<Cow<'a, str>>,
}

pub(super) struct Row<'a> {
    file: &'a str,
    line: usize,
    header: &'a [Cow<'a, str>],
    cells: Vec<Cow<'a, str>>,
}

impl<'a> Table<'a> {
    pub(super) fn parse(file: File<'a>, columns: Columns) -> Result<Self, TableError> {
        let name = || file.name.to_owned();
        let needed = || columns.needed.join(", ");
        let first = file.text.lines().next().filter(|line| !line.trim().is_empty());
        let first = first.ok_or_else(|| TableError::Empty { file: name(), needed: needed() })?;
        let header: Vec<Cow<'a, str>> = cells(first.trim_start_matches('\u{feff}'));
        if let Some(missing) = columns.needed.iter().find(|column| !header.iter().any(|one| one == *column)) {
            let column = (*missing).to_owned();
            return Err(TableError::MissingColumn { file: name(), column, needed: needed() });
        }
        let known =
            |column: &&Cow<'a, str>| columns.needed.iter().chain(columns.optional).any(|one| one == *column);
        if let Some(unknown) = header.iter().find(|column| !known(column)) {
            let allowed = [columns.needed, columns.optional].concat().join(", ");
            return Err(TableError::UnknownColumn { file: name(), column: unknown.to_string(), allowed });
        }
        Ok(Self { file, header })
    }

    /// The lines below the first; empty ones are passed over.
    pub(super) fn rows(&self) -> impl Iterator<Item = Result<Row<'_>, TableError>> {
        let lines = (1..).zip(self.file.text.lines()).skip(1);
        lines.filter(|(_, text)| !text.trim().is_empty()).map(|(line, text)| {
            let cells = cells(text);
            if cells.len() == self.header.len() {
                return Ok(Row { file: self.file.name, line, header: &self.header, cells });
            }
            let (file, found, wanted) = (self.file.name.to_owned(), cells.len(), self.header.len());
            Err(TableError::Cells { file, line, found, wanted })
        })
    }
}

impl Row<'_> {
    /// A cell, unless it is empty or there is no such column.
    pub(super) fn optional(&self, column: &str) -> Option<&str> {
        let index = self.header.iter().position(|one| one == column)?;
        Some(self.cells.get(index)?.trim()).filter(|text| !text.is_empty())
    }

    /// A cell that must hold something.
    pub(super) fn text(&self, column: &str) -> Result<&str, TableError> {
        self.optional(column).ok_or_else(|| self.refuse(column, "a name".to_owned()))
    }

    /// A cell that must hold a whole number. Numbers written with zeros behind a point are whole.
    pub(super) fn number(&self, column: &str, allowed: RangeInclusive<i64>) -> Result<i64, TableError> {
        let number = self.optional(column).and_then(|text| {
            let whole = text.split_once('.').filter(|(_, rest)| rest.bytes().all(|digit| digit == b'0'));
            whole.map_or(text, |(whole, _)| whole).parse().ok()
        });
        number.filter(|number| allowed.contains(number)).ok_or_else(|| {
            self.refuse(column, format!("a whole number from {} to {}", allowed.start(), allowed.end()))
        })
    }

    /// A cell that may be empty.
    pub(super) fn optional_number(
        &self,
        column: &str,
        allowed: RangeInclusive<i64>,
    ) -> Result<Option<i64>, TableError> {
        self.optional(column).map(|_| self.number(column, allowed)).transpose()
    }

    pub(super) fn refuse(&self, column: &str, allowed: String) -> TableError {
        let value = self.optional(column).unwrap_or_default().to_owned();
        TableError::Cell {
            file: self.file.to_owned(),
            line: self.line,
            column: column.to_owned(),
            value,
            allowed,
        }
    }
}

/// The cells of a line. A cell in quotes may hold commas, and quotes twice.
fn cells(line: &str) -> Vec<Cow<'_, str>> {
    if !line.contains('"') {
        return line.split(',').map(Cow::Borrowed).collect();
    }
    let mut all = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(one) = characters.next() {
        let last = all.len() - 1;
        match one {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => all[last].push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(String::new()),
            other => all[last].push(other),
        }
    }
    all.into_iter().map(Cow::Owned).collect()
}
