//! Randomness for secrets, injected.

use std::{fmt, sync::Arc};

use parking_lot::Mutex;
use ring::rand::{SecureRandom as _, SystemRandom};

/// Where secrets come from. Clones share the source.
#[derive(Clone)]
pub struct Entropy(Arc<Fill>);

type Fill = dyn Fn(&mut [u8]) -> bool + Send + Sync;

impl fmt::Debug for Entropy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Entropy")
    }
}

impl Entropy {
    /// From the operating system.
    pub fn system() -> Self {
        let source = SystemRandom::new();
        Self(Arc::new(move |bytes| source.fill(bytes).is_ok()))
    }

    /// Predictable, for tests.
    pub fn counting() -> Self {
        let next = Mutex::new(0_u64);
        Self(Arc::new(move |bytes| {
            let mut next = next.lock();
            for part in bytes.chunks_mut(8) {
                *next += 1;
                part.copy_from_slice(&next.to_be_bytes()[8 - part.len()..]);
            }
            true
        }))
    }

    /// Random bytes; none if the system has none, in which case nothing may be made of them.
    pub(crate) fn bytes<const N: usize>(&self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes).then_some(bytes)
    }

    /// Fills with random bytes; whether there were any.
    pub(crate) fn fill(&self, bytes: &mut [u8]) -> bool {
        (self.0)(bytes)
    }
}
