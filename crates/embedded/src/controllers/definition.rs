//! CRDs: `names` accepts their names and establishes them, `cleanup` deletes their objects when they go.

mod cleanup;
mod names;

pub(crate) use cleanup::DefinitionCleanup;
pub(crate) use names::DefinitionNames;
