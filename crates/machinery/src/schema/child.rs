//! A node below a node: owned by it, or a definition that several nodes share and that may contain itself.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, OnceLock},
};

use super::Schema;

/// A schema below a schema.
#[derive(Clone)]
pub enum Child {
    /// Belongs to one parent.
    Own(Arc<Schema>),
    /// A named definition. It is filled in before the tree that holds it is handed out, which is what lets it hold itself.
    Shared(Arc<OnceLock<Schema>>),
}

impl Child {
    /// A definition that is filled in later.
    pub(crate) fn empty() -> (Self, Arc<OnceLock<Schema>>) {
        let cell = Arc::new(OnceLock::new());
        (Self::Shared(Arc::clone(&cell)), cell)
    }
}

impl From<Schema> for Child {
    fn from(schema: Schema) -> Self {
        Self::Own(Arc::new(schema))
    }
}

impl Deref for Child {
    type Target = Schema;

    fn deref(&self) -> &Schema {
        match self {
            Self::Own(schema) => schema,
            Self::Shared(cell) => cell.get().expect("definitions are filled in before a tree is handed out"),
        }
    }
}

impl fmt::Debug for Child {
    /// A shared definition prints its name only: it may contain itself.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(schema) => schema.fmt(formatter),
            Self::Shared(cell) => {
                let name = cell.get().and_then(|schema| schema.name.as_deref());
                formatter.debug_tuple("Shared").field(&name.unwrap_or("?")).finish()
            }
        }
    }
}
