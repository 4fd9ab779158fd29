//! What tokens were last found to be.
//!
//! Every request shows a token, and without this every one of them would ask the database whose it is. A write through the
//! same records makes all of it forgotten, so that whoever ends a session here is obeyed at once. What another process
//! writes is obeyed within [`FRESH`].

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use crate::TokenHash;

/// How long it is believed without looking again.
const FRESH: SignedDuration = SignedDuration::from_secs(1);
/// So many are kept.
const MOST: usize = 10_000;

/// What is known, as of one count of writes. Clones share it.
#[derive(Clone)]
pub(crate) struct Known<T>(Arc<Mutex<State<T>>>);

struct State<T> {
    writes: u64,
    /// When it was read, and what.
    found: HashMap<String, (Timestamp, T)>,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(State { writes: 0, found: HashMap::new() })))
    }
}

impl<T> fmt::Debug for Known<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It is full of hashes.
        formatter.write_str("Known")
    }
}

impl<T: Clone> Known<T> {
    /// What was found, if nothing was written since and it is fresh.
    pub(crate) fn get(&self, token: &TokenHash, writes: u64, now: Timestamp) -> Option<T> {
        let state = self.0.lock();
        let (read, found) = state.found.get(token.as_str()).filter(|_| state.writes == writes)?;
        let age = now.duration_since(*read);
        // A clock that was put back makes nothing fresh.
        (SignedDuration::ZERO <= age && age < FRESH).then(|| found.clone())
    }

    /// Keeps what was found. `writes` was counted before it was read: what was written meanwhile may not be in it.
    pub(crate) fn put(&self, token: &TokenHash, writes: u64, now: Timestamp, found: T) {
        let mut state = self.0.lock();
        if state.writes < writes || state.found.len() >= MOST {
            state.found.clear();
        }
        state.writes = state.writes.max(writes);
        if state.writes == writes {
            state.found.insert(token.as_str().to_owned(), (now, found));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_before_a_write_is_not_kept_after_it() {
        let (known, token, now) = (Known::default(), TokenHash::new("t"), Timestamp::UNIX_EPOCH);
        known.put(&token, 1, now, "one");
        assert_eq!(known.get(&token, 1, now), Some("one"));
        assert_eq!(known.get(&token, 2, now), None, "something was written");
        known.put(&token, 2, now, "two");
        known.put(&token, 1, now, "late");
        assert_eq!((known.get(&token, 2, now), known.get(&token, 1, now)), (Some("two"), None));
    }

    #[test]
    fn it_is_fresh_for_a_moment_whichever_way_the_clock_goes() {
        let (known, token, now) = (Known::default(), TokenHash::new("t"), Timestamp::UNIX_EPOCH);
        known.put(&token, 0, now, ());
        let after = |milliseconds| now + SignedDuration::from_millis(milliseconds);
        let fresh = |milliseconds| known.get(&token, 0, after(milliseconds)).is_some();
        assert!(fresh(0) && fresh(999));
        assert!(!fresh(1000) && !fresh(-1));
    }
}
