//! Kubernetes API machinery without I/O: schemas, patches, apply, selectors, CEL.

pub mod apply;
pub mod builtin;
pub mod crd;
pub mod duplicates;
pub mod error;
pub mod fields;
pub mod merge_keys;
pub mod names;
pub mod patch;
pub mod schema;
pub mod selector;
