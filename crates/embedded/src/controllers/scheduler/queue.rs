//! Pods that wait for a node: who is next, and who has to wait before trying again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::request::Request;

const FIRST_WAIT: i64 = 1;
const LONGEST_WAIT: i64 = 10;
/// How long a Pod waits at most for something to change.
const PATIENCE: SignedDuration = SignedDuration::from_mins(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// To be tried now.
    Active,
    /// To be tried at that time.
    Resting(Timestamp),
    /// To be tried when something changes that may help, or at that time in case a change was overlooked.
    Stuck(Timestamp),
    /// Held by gates.
    Gated,
}

#[derive(Debug)]
struct Waiting {
    request: Arc<Request>,
    sequence: u64,
    state: State,
    attempts: u32,
    tried: Timestamp,
}

type Rank = (Reverse<i32>, u64, String);

/// See the module documentation. Pods are known by `namespace/name`.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pods: BTreeMap<String, Waiting>,
    active: BTreeSet<Rank>,
    resting: BTreeSet<(Timestamp, String)>,
    stuck: BTreeSet<(Timestamp, String)>,
    /// Those of the stuck that the arrival of another Pod may help.
    lonely: BTreeSet<String>,
    next_sequence: u64,
}

impl Queue {
    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    /// Adds a Pod or notes its change. A change that does not bear on where it fits does not hurry it.
    pub(crate) fn set(&mut self, key: &str, request: Request) {
        let known = self.remove(key);
        let unchanged = known.as_ref().is_some_and(|known| {
            known.request.uid == request.uid
                && known.request.signature == request.signature
                && known.request.gated == request.gated
        });
        let sequence = known.as_ref().map_or(self.next_sequence, |known| known.sequence);
        self.next_sequence += u64::from(known.is_none());
        let gated = request.gated;
        let mut waiting = Waiting {
            request: Arc::new(request),
            sequence,
            state: if gated { State::Gated } else { State::Active },
            attempts: 0,
            tried: Timestamp::MIN,
        };
        if let Some(known) = known.filter(|_| unchanged) {
            waiting.state = known.state;
            waiting.attempts = known.attempts;
            waiting.tried = known.tried;
        }
        self.insert(key.to_owned(), waiting);
    }

    fn insert(&mut self, key: String, waiting: Waiting) {
        match waiting.state {
            State::Active => {
                self.active.insert((Reverse(waiting.request.priority), waiting.sequence, key.clone()));
            }
            State::Resting(until) => {
                self.resting.insert((until, key.clone()));
            }
            State::Stuck(until) => {
                self.stuck.insert((until, key.clone()));
                if waiting.request.waits_for_others() {
                    self.lonely.insert(key.clone());
                }
            }
            State::Gated => {}
        }
        self.pods.insert(key, waiting);
    }

    fn remove(&mut self, key: &str) -> Option<Waiting> {
        let waiting = self.pods.remove(key)?;
        match waiting.state {
            State::Active => {
                self.active.remove(&(Reverse(waiting.request.priority), waiting.sequence, key.to_owned()));
            }
            State::Resting(until) => {
                self.resting.remove(&(until, key.to_owned()));
            }
            State::Stuck(until) => {
                self.stuck.remove(&(until, key.to_owned()));
                self.lonely.remove(key);
            }
            State::Gated => {}
        }
        Some(waiting)
    }

    /// The Pod no longer waits.
    pub(crate) fn drop_pod(&mut self, key: &str) {
        self.remove(key);
    }

    /// Forgets everything, before all Pods are shown anew.
    pub(crate) fn clear(&mut self) {
        let next_sequence = self.next_sequence;
        *self = Self { next_sequence, ..Self::default() };
    }

    /// The next Pod to try: the highest priority, the longest wait.
    pub(crate) fn next(&mut self, now: Timestamp) -> Option<(String, Arc<Request>)> {
        self.wake(now);
        let key = self.active.first().map(|(_, _, key)| key.clone())?;
        let mut waiting = self.remove(&key)?;
        let request = Arc::clone(&waiting.request);
        waiting.state = State::Stuck(now.saturating_add(PATIENCE).unwrap_or(Timestamp::MAX));
        waiting.attempts += 1;
        waiting.tried = now;
        self.insert(key.clone(), waiting);
        Some((key, request))
    }

    fn wake(&mut self, now: Timestamp) {
        while let Some((until, key)) = self.resting.first().cloned() {
            if until > now {
                break;
            }
            if let Some(mut waiting) = self.remove(&key) {
                waiting.state = State::Active;
                self.insert(key, waiting);
            }
        }
    }

    /// Something changed that may help: those that are stuck are tried again once they have rested.
    pub(crate) fn stir(&mut self, now: Timestamp) {
        for (_, key) in self.stuck.clone() {
            self.try_again(&key, now);
        }
    }

    /// Another Pod was placed: those whom that may help are tried again once they have rested. Whether there are any.
    pub(crate) fn stir_lonely(&mut self, now: Timestamp, helps: impl Fn(&Request) -> bool) -> bool {
        let helped = |key: &&String| self.pods.get(*key).is_some_and(|waiting| helps(&waiting.request));
        let keys: Vec<String> = self.lonely.iter().filter(helped).cloned().collect();
        for key in &keys {
            self.try_again(key, now);
        }
        !keys.is_empty()
    }

    /// Those that have been stuck for too long are tried again. Whether there are any.
    pub(crate) fn flush(&mut self, now: Timestamp) -> bool {
        let keys: Vec<String> =
            self.stuck.iter().take_while(|(until, _)| *until <= now).map(|(_, key)| key.clone()).collect();
        for key in &keys {
            self.try_again(key, now);
        }
        !keys.is_empty()
    }

    /// The Pod waits for something that is under way: that it was tried does not count against it.
    pub(crate) fn excuse(&mut self, key: &str) {
        if let Some(mut waiting) = self.remove(key) {
            waiting.attempts = 0;
            waiting.tried = Timestamp::MIN;
            self.insert(key.to_owned(), waiting);
        }
    }

    /// One Pod is tried again once it has rested.
    pub(crate) fn try_again(&mut self, key: &str, now: Timestamp) {
        let Some(mut waiting) = self.remove(key) else { return };
        if matches!(waiting.state, State::Stuck(_)) {
            let seconds = (FIRST_WAIT << waiting.attempts.saturating_sub(1).min(8)).min(LONGEST_WAIT);
            let until =
                waiting.tried.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
            waiting.state = if until <= now { State::Active } else { State::Resting(until) };
        }
        self.insert(key.to_owned(), waiting);
    }

    /// When the next one has rested or was stuck for too long; now, if one is waiting to be tried.
    pub(crate) fn next_time(&self, now: Timestamp) -> Option<Timestamp> {
        if !self.active.is_empty() {
            return Some(now);
        }
        let first = |times: &BTreeSet<(Timestamp, String)>| times.first().map(|(until, _)| *until);
        first(&self.resting).into_iter().chain(first(&self.stuck)).min()
    }
}
