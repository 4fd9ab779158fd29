//! Kubernetes API machinery without I/O: schemas, patches, apply, selectors, CEL.

pub mod fields;
pub mod merge_keys;
pub mod patch;
pub mod selector;
