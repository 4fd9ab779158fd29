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
    /// It was decided about, which is being written; and whether something changed meanwhile that may help.
    UnderWay { stirred: bool },
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

impl Waiting {
    fn is_under_way(&self, uid: &str) -> bool {
        matches!(self.state, State::UnderWay { .. }) && self.request.uid == uid
    }

    /// Active, once it has rested.
    fn rest(&self, now: Timestamp) -> State {
        let seconds = (FIRST_WAIT << self.attempts.saturating_sub(1).min(8)).min(LONGEST_WAIT);
        let until = self.tried.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
        if until <= now { State::Active } else { State::Resting(until) }
    }
}

/// What came of a Pod that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It fits nowhere.
    Stuck,
    /// It waits for something that others do for it: that it was tried does not count against it.
    Excused,
    /// What was decided could not be written.
    Failed,
    /// It has its node.
    Placed,
    /// There is no such Pod any more.
    Gone,
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
    under_way: BTreeSet<String>,
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
        if let Some(known) = known {
            if unchanged {
                waiting.state = known.state;
            } else if known.is_under_way(&waiting.request.uid) {
                waiting.state = State::UnderWay { stirred: true };
            }
            if unchanged || waiting.is_under_way(&known.request.uid) {
                waiting.attempts = known.attempts;
                waiting.tried = known.tried;
            }
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
            State::UnderWay { .. } => {
                self.under_way.insert(key.clone());
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
            State::UnderWay { .. } => {
                self.under_way.remove(key);
            }
            State::Gated => {}
        }
        Some(waiting)
    }

    /// The Pod no longer waits.
    pub(crate) fn drop_pod(&mut self, key: &str) {
        self.remove(key);
    }

    /// Forgets all but what is under way, before all Pods are shown anew.
    pub(crate) fn clear(&mut self) {
        let next_sequence = self.next_sequence;
        let under_way: Vec<_> =
            self.under_way.clone().into_iter().filter_map(|key| Some((self.remove(&key)?, key))).collect();
        *self = Self { next_sequence, ..Self::default() };
        for (waiting, key) in under_way {
            self.insert(key, waiting);
        }
    }

    /// Whether what was decided about the Pod of that uid is still being written.
    pub(crate) fn is_under_way(&self, key: &str, uid: &str) -> bool {
        self.pods.get(key).is_some_and(|waiting| waiting.is_under_way(uid))
    }

    /// The next Pod to try: the highest priority, the longest wait. It is under way until [`Queue::end`] says what came of it.
    pub(crate) fn next(&mut self, now: Timestamp) -> Option<(String, Arc<Request>)> {
        self.wake(now);
        let key = self.active.first().map(|(_, _, key)| key.clone())?;
        let mut waiting = self.remove(&key)?;
        let request = Arc::clone(&waiting.request);
        waiting.state = State::UnderWay { stirred: false };
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
        self.stir_under_way(|_| true);
    }

    /// What is written of these may be out of date by the time it stands there.
    fn stir_under_way(&mut self, helps: impl Fn(&Request) -> bool) {
        for key in &self.under_way {
            if let Some(waiting) = self.pods.get_mut(key)
                && helps(&waiting.request)
            {
                waiting.state = State::UnderWay { stirred: true };
            }
        }
    }

    /// Another Pod was placed: those whom that may help are tried again once they have rested. Whether there are any.
    pub(crate) fn stir_lonely(&mut self, now: Timestamp, helps: impl Fn(&Request) -> bool) -> bool {
        let helped = |key: &&String| self.pods.get(*key).is_some_and(|waiting| helps(&waiting.request));
        let keys: Vec<String> = self.lonely.iter().filter(helped).cloned().collect();
        for key in &keys {
            self.try_again(key, now);
        }
        self.stir_under_way(helps);
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

    /// What was decided about the Pod of that uid has been written, or could not be.
    pub(crate) fn end(&mut self, key: &str, uid: &str, end: End, now: Timestamp) {
        if !self.is_under_way(key, uid) {
            return;
        }
        let Some(mut waiting) = self.remove(key) else { return };
        let stirred = waiting.state == State::UnderWay { stirred: true };
        // Who was long under way rests from now on, so that others have their turn.
        waiting.tried = now;
        waiting.state = match end {
            End::Placed | End::Gone => return,
            End::Failed => waiting.rest(now),
            End::Stuck if stirred => waiting.rest(now),
            End::Excused if stirred => State::Active,
            End::Stuck | End::Excused => State::Stuck(now.saturating_add(PATIENCE).unwrap_or(Timestamp::MAX)),
        };
        if end == End::Excused {
            (waiting.attempts, waiting.tried) = (0, Timestamp::MIN);
        }
        self.insert(key.to_owned(), waiting);
    }

    /// One that is stuck is tried again once it has rested.
    fn try_again(&mut self, key: &str, now: Timestamp) {
        if let Some(mut waiting) = self.remove(key) {
            waiting.state = waiting.rest(now);
            self.insert(key.to_owned(), waiting);
        }
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
