//! CSINodes: what the storage drivers of a node say about it.

use super::Strategy;

/// The strategy of CSINodes: their metadata follow the rules of built-in kinds.
#[derive(Debug)]
pub(crate) struct CsiNode;

impl Strategy for CsiNode {}
