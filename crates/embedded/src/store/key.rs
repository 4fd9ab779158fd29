//! Names of objects. In a file of its own: maps by them are a third of this crate's code, which is generated anew whenever a line
//! of this file moves.

use std::sync::Arc;

/// Where an object lives: its table and `namespace/name` (or `name`) within it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The table, `plural` or `plural.group`.
    pub table: Arc<str>,
    /// `namespace/name`, or `name` for cluster-scoped objects.
    pub row: Arc<str>,
}

impl Key {
    /// The key of an object; an empty namespace means cluster-scoped.
    pub fn new(table: &Arc<str>, namespace: &str, name: &str) -> Self {
        Self { table: Arc::clone(table), row: row(namespace, name).into() }
    }

    /// The namespace, empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        self.row.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// The object's name.
    pub fn name(&self) -> &str {
        self.row.split_once('/').map_or(&*self.row, |(_, name)| name)
    }
}

fn row(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}
