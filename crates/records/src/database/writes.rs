//! How often something was written, for those who keep what they have read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts writes. Clones count together.
#[derive(Debug, Clone, Default)]
pub(super) struct Writes(Arc<AtomicU64>);

impl Writes {
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Counts one when it is dropped: once it is done, and also where nobody waits for its end any more.
    pub(super) fn one(&self) -> Write {
        Write(self.clone())
    }
}

/// A write that is under way.
pub(super) struct Write(Writes);

impl Drop for Write {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::SeqCst);
    }
}
