//! Which keys are due, and when others will be.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::store::Key;

/// Keys in the order they became due, each at most once.
#[derive(Default)]
pub(super) struct Due {
    order: VecDeque<Key>,
    present: BTreeSet<Key>,
    /// Keys to be looked at later; a key has at most one such time, the earliest asked for.
    timers: BTreeMap<(Instant, u64), Key>,
    timer_of: HashMap<Key, (Instant, u64)>,
    next_timer: u64,
    /// The least time between two looks at one key, and when keys were looked at within that time.
    pace: Duration,
    looked: HashMap<Key, Instant>,
    /// Keys that are being looked at, and those among them that became due meanwhile: nobody looks at one twice at
    /// the same time.
    busy: BTreeSet<Key>,
    missed: BTreeSet<Key>,
}

impl Due {
    pub(super) fn paced(pace: Duration) -> Self {
        Self { pace, ..Self::default() }
    }

    /// As soon as the pace allows.
    pub(super) fn soon(&mut self, key: Key) {
        match self.looked.get(&key) {
            Some(last) if !self.present.contains(&key) => {
                let at = *last + self.pace;
                self.later(key, at);
            }
            _ => self.now(key),
        }
    }

    /// Remembers that a key is being looked at, and when for as long as the pace asks for.
    pub(super) fn begin(&mut self, key: &Key, now: Instant) {
        self.busy.insert(key.clone());
        if self.pace.is_zero() {
            return;
        }
        if self.looked.len() > 1024 {
            let pace = self.pace;
            self.looked.retain(|_, last| *last + pace > now);
        }
        self.looked.insert(key.clone(), now);
    }

    /// The look at a key is over.
    pub(super) fn end(&mut self, key: &Key) {
        self.busy.remove(key);
        if let Some(key) = self.missed.take(key) {
            self.soon(key);
        }
    }

    pub(super) fn now(&mut self, key: Key) {
        if self.busy.contains(&key) {
            self.missed.insert(key);
        } else if self.present.insert(key.clone()) {
            self.order.push_back(key);
        }
    }

    pub(super) fn later(&mut self, key: Key, at: Instant) {
        if let Some(existing) = self.timer_of.get(&key) {
            if existing.0 <= at {
                return;
            }
            self.timers.remove(existing);
        }
        self.next_timer += 1;
        let slot = (at, self.next_timer);
        self.timer_of.insert(key.clone(), slot);
        self.timers.insert(slot, key);
    }

    pub(super) fn ring(&mut self, now: Instant) {
        while let Some((&slot, _)) = self.timers.first_key_value() {
            if slot.0 > now {
                break;
            }
            if let Some(key) = self.timers.remove(&slot) {
                self.timer_of.remove(&key);
                self.now(key);
            }
        }
    }

    pub(super) fn pop(&mut self) -> Option<Key> {
        let key = self.order.pop_front()?;
        self.present.remove(&key);
        Some(key)
    }

    pub(super) fn next_ring(&self) -> Option<Instant> {
        self.timers.first_key_value().map(|(slot, _)| slot.0)
    }
}
