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
    Shared(Definition),
}

/// The place of a definition, filled in once.
pub(crate) type Definition = Arc<OnceLock<Arc<Schema>>>;

impl Child {
    /// A definition that is filled in later.
    pub(crate) fn empty() -> (Self, Definition) {
        let cell = Arc::new(OnceLock::new());
        (Self::Shared(Arc::clone(&cell)), cell)
    }

    /// The schema itself, to be kept.
    pub(crate) fn schema(&self) -> Arc<Schema> {
        match self {
            Self::Own(schema) => Arc::clone(schema),
            Self::Shared(cell) => Arc::clone(cell.get().expect(FILLED)),
        }
    }
}

const FILLED: &str = "definitions are filled in before a tree is handed out";

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
            Self::Shared(cell) => cell.get().expect(FILLED),
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
