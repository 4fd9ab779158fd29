//! What happened, in order, with a hash that grows along.

use std::collections::VecDeque;
use std::fmt;

use jiff::Timestamp;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::Subject;
use crate::world::Clock;

/// How many entries are kept to be read; all of them are hashed.
const KEPT: usize = 1 << 18;

/// One request and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The cluster's time.
    pub time: Timestamp,
    /// Who asked for what.
    pub subject: Subject,
    /// The fault that met it, empty for none.
    pub fault: &'static str,
    /// The HTTP status code, or a word for answers that are none.
    pub outcome: String,
    /// The newest revision of the cluster afterwards.
    pub revision: u64,
}

impl fmt::Display for LogEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, subject, fault, outcome, revision } = self;
        write!(formatter, "{time} {subject} -> {outcome} @{revision}")?;
        if fault.is_empty() { Ok(()) } else { write!(formatter, " [{fault}]") }
    }
}

/// An append-only record of all requests of components and all writes of built-in controllers.
pub struct EventLog {
    clock: Clock,
    state: Mutex<State>,
}

struct State {
    hash: Sha256,
    count: u64,
    recent: VecDeque<LogEntry>,
}

impl fmt::Debug for EventLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EventLog").field("count", &self.count()).finish_non_exhaustive()
    }
}

impl EventLog {
    pub(super) fn new(clock: Clock) -> Self {
        let state = State { hash: Sha256::new(), count: 0, recent: VecDeque::new() };
        Self { clock, state: Mutex::new(state) }
    }

    pub(super) fn append(&self, subject: &Subject, fault: &'static str, outcome: &str, revision: u64) {
        let entry = LogEntry {
            time: self.clock.now(),
            subject: subject.clone(),
            fault,
            outcome: outcome.to_owned(),
            revision,
        };
        let line = format!("{entry}\n");
        let mut state = self.state.lock();
        state.hash.update(line.as_bytes());
        state.count += 1;
        if state.recent.len() == KEPT {
            state.recent.pop_front();
        }
        state.recent.push_back(entry);
    }

    /// The hash of everything so far: equal histories have equal hashes.
    pub fn hash(&self) -> String {
        format!("{:x}", self.state.lock().hash.clone().finalize())
    }

    /// How many entries there ever were.
    pub fn count(&self) -> u64 {
        self.state.lock().count
    }

    /// The latest entries, oldest first; at most some hundred thousand are kept.
    pub fn entries(&self) -> Vec<LogEntry> {
        self.state.lock().recent.iter().cloned().collect()
    }
}
