//! The rules of the queue, without tasks or clocks.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use tokio::time::Instant;

/// Each key is in at most one of: ready, running; and may be delayed besides running.
#[derive(Debug)]
pub(super) struct Queue<K> {
    entries: BTreeMap<K, Entry>,
    ready: VecDeque<K>,
    /// Delayed keys by due time; the number keeps those of one moment in the order they were added.
    delayed: BTreeSet<(Instant, u64, K)>,
    sequence: u64,
}

#[derive(Debug, Default)]
struct Entry {
    ready_since: Option<Instant>,
    running: bool,
    /// Added while running.
    changed: bool,
    due: Option<(Instant, u64)>,
    failures: u32,
}

/// What becomes of a key when work on it has ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum Again {
    AwaitChange,
    After(Duration),
    /// As `After`, and remember that it failed once more.
    FailedAfter(Duration),
}

impl Entry {
    fn is_idle(&self) -> bool {
        self.ready_since.is_none() && !self.running && self.due.is_none() && self.failures == 0
    }
}

impl<K: Clone + Ord> Queue<K> {
    pub(super) fn new() -> Self {
        Self { entries: BTreeMap::new(), ready: VecDeque::new(), delayed: BTreeSet::new(), sequence: 0 }
    }

    pub(super) fn depth(&self) -> usize {
        self.ready.len()
    }

    pub(super) fn failures(&self, key: &K) -> u32 {
        self.entries.get(key).map_or(0, |entry| entry.failures)
    }

    /// When the earliest delayed key becomes ready.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.delayed.first().map(|(due, ..)| *due)
    }

    pub(super) fn add(&mut self, now: Instant, key: K) {
        self.cancel_delay(&key);
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.running {
            entry.changed = true;
        } else if entry.ready_since.is_none() {
            entry.ready_since = Some(now);
            self.ready.push_back(key);
        }
    }

    /// The earliest of several delays counts; a key that is ready anyway needs none.
    pub(super) fn add_at(&mut self, due: Instant, key: K) {
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.ready_since.is_some() || entry.due.is_some_and(|(earlier, _)| earlier <= due) {
            return;
        }
        self.cancel_delay(&key);
        self.sequence += 1;
        self.delayed.insert((due, self.sequence, key.clone()));
        self.entries.entry(key).or_default().due = Some((due, self.sequence));
    }

    /// The next key and how long it was ready.
    pub(super) fn take(&mut self, now: Instant) -> Option<(K, Duration)> {
        self.release_due(now);
        let key = self.ready.pop_front()?;
        let entry = self.entries.entry(key.clone()).or_default();
        let since = entry.ready_since.take().unwrap_or(now);
        entry.running = true;
        Some((key, now.saturating_duration_since(since)))
    }

    pub(super) fn finish(&mut self, now: Instant, key: K, again: Again) {
        let entry = self.entries.entry(key.clone()).or_default();
        entry.running = false;
        let changed = std::mem::take(&mut entry.changed);
        match again {
            Again::FailedAfter(_) => entry.failures = entry.failures.saturating_add(1),
            Again::AwaitChange | Again::After(_) => entry.failures = 0,
        }
        if changed {
            self.add(now, key);
            return;
        }
        match again {
            Again::After(delay) | Again::FailedAfter(delay) if delay.is_zero() => self.add(now, key),
            Again::After(delay) | Again::FailedAfter(delay) => self.add_at(now + delay, key),
            Again::AwaitChange if self.entries.get(&key).is_some_and(Entry::is_idle) => {
                self.entries.remove(&key);
            }
            Again::AwaitChange => {}
        }
    }

    fn release_due(&mut self, now: Instant) {
        while let Some((due, ..)) = self.delayed.first()
            && *due <= now
            && let Some((due, _, key)) = self.delayed.pop_first()
        {
            let entry = self.entries.entry(key.clone()).or_default();
            entry.due = None;
            if entry.running {
                entry.changed = true;
            } else if entry.ready_since.is_none() {
                entry.ready_since = Some(due);
                self.ready.push_back(key);
            }
        }
    }

    fn cancel_delay(&mut self, key: &K) {
        if let Some((due, sequence)) = self.entries.get_mut(key).and_then(|entry| entry.due.take()) {
            self.delayed.remove(&(due, sequence, key.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn taken(queue: &mut Queue<&'static str>, now: Instant) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.take(now).map(|(key, _)| key)).collect()
    }

    #[test]
    fn keys_come_out_once_and_in_order() {
        let (mut queue, now) = (Queue::new(), Instant::now());
        for key in ["b", "a", "b", "c", "a"] {
            queue.add(now, key);
        }
        assert_eq!(queue.depth(), 3);
        assert_eq!(taken(&mut queue, now), ["b", "a", "c"]);
    }

    #[test]
    fn a_running_key_is_not_handed_out_again_but_runs_once_more_if_it_changed() {
        let (mut queue, now) = (Queue::new(), Instant::now());
        queue.add(now, "a");
        assert_eq!(taken(&mut queue, now), ["a"]);
        queue.add(now, "a");
        queue.add(now, "a");
        assert_eq!(taken(&mut queue, now), [""; 0]);
        queue.finish(now, "a", Again::AwaitChange);
        assert_eq!(taken(&mut queue, now), ["a"]);
        queue.finish(now, "a", Again::AwaitChange);
        assert_eq!(taken(&mut queue, now), [""; 0]);
        assert!(queue.entries.is_empty(), "an idle key leaves nothing behind");
    }

    #[test]
    fn the_earliest_delay_counts_and_an_addition_overtakes_it() {
        let (mut queue, now) = (Queue::new(), Instant::now());
        queue.add_at(now + SECOND * 5, "a");
        queue.add_at(now + SECOND * 2, "a");
        queue.add_at(now + SECOND * 9, "a");
        assert_eq!(queue.next_due(), Some(now + SECOND * 2));
        assert_eq!(taken(&mut queue, now + SECOND), [""; 0]);
        queue.add(now + SECOND, "a");
        assert_eq!(queue.next_due(), None);
        assert_eq!(taken(&mut queue, now + SECOND), ["a"]);
        queue.finish(now + SECOND, "a", Again::AwaitChange);
        assert_eq!(taken(&mut queue, now + SECOND * 100), [""; 0]);
    }

    #[test]
    fn keys_due_at_one_moment_keep_the_order_of_addition() {
        let (mut queue, now) = (Queue::new(), Instant::now());
        for key in ["c", "a", "b"] {
            queue.add_at(now + SECOND, key);
        }
        assert_eq!(taken(&mut queue, now + SECOND), ["c", "a", "b"]);
    }

    #[test]
    fn the_wait_counts_from_readiness() {
        let (mut queue, now) = (Queue::new(), Instant::now());
        queue.add_at(now + SECOND, "delayed");
        queue.add(now, "ready");
        assert_eq!(queue.take(now + SECOND * 3), Some(("ready", SECOND * 3)));
        assert_eq!(queue.take(now + SECOND * 3), Some(("delayed", SECOND * 2)));
    }

    #[test]
    fn failures_count_up_until_a_success() {
        let (mut queue, now) = (Queue::new(), Instant::now());
        queue.add(now, "a");
        for want in 0..3 {
            assert_eq!(queue.failures(&"a"), want);
            assert_eq!(queue.take(now + SECOND * want).map(|(key, _)| key), Some("a"));
            queue.finish(now + SECOND * want, "a", Again::FailedAfter(SECOND));
        }
        assert_eq!(queue.take(now + SECOND * 9).map(|(key, _)| key), Some("a"));
        queue.finish(now, "a", Again::After(SECOND));
        assert_eq!(queue.failures(&"a"), 0);
    }

    #[derive(Debug, Clone)]
    enum Step {
        Add(u8),
        AddAt(u8, u64),
        Take,
        Finish(u8, u8),
        Pass(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..4u8).prop_map(Step::Add),
            (0..4u8, 0..10u64).prop_map(|(key, seconds)| Step::AddAt(key, seconds)),
            Just(Step::Take),
            (0..4u8, 0..3u8).prop_map(|(key, how)| Step::Finish(key, how)),
            (0..5u64).prop_map(Step::Pass),
        ]
    }

    proptest! {
        /// No key is ever handed out twice at once, and no addition is lost: once everything has been finished and
        /// time has passed, each key that was added after its last start has been started again.
        #[test]
        fn one_worker_per_key_and_nothing_lost(steps in proptest::collection::vec(step(), 0..200)) {
            let mut queue = Queue::new();
            let mut now = Instant::now();
            let mut running = BTreeSet::new();
            let mut owed = BTreeSet::new();
            for step in steps {
                match step {
                    Step::Add(key) => { queue.add(now, key); owed.insert(key); }
                    Step::AddAt(key, seconds) => { queue.add_at(now + SECOND * u32::try_from(seconds).unwrap(), key); owed.insert(key); }
                    Step::Take => if let Some((key, _)) = queue.take(now) {
                        prop_assert!(running.insert(key), "{key} was handed out twice");
                        owed.remove(&key);
                    },
                    Step::Finish(key, how) => if running.remove(&key) {
                        let again = [Again::AwaitChange, Again::After(SECOND), Again::FailedAfter(SECOND)][usize::from(how)];
                        queue.finish(now, key, again);
                        if how > 0 { owed.insert(key); }
                    },
                    Step::Pass(seconds) => now += Duration::from_secs(seconds),
                }
            }
            now += SECOND * 60;
            for _ in 0..2 {
                for key in std::mem::take(&mut running) {
                    queue.finish(now, key, Again::AwaitChange);
                }
                while let Some((key, _)) = queue.take(now) {
                    prop_assert!(running.insert(key), "{key} was handed out twice");
                    owed.remove(&key);
                }
            }
            prop_assert!(owed.is_empty(), "never started again: {owed:?}");
        }
    }
}
