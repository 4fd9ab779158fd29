//! Which notes become new Events, which are counted on an Event that is there, and which are held back. Pure.
//!
//! The rules are those of Kubernetes' clients: the same words about the same thing raise the count of one Event; one
//! object may cause 25 writes of a severity at once and one every five minutes after that; and all of a set together 500
//! at once and 50 a second.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use jiff::Timestamp;

use super::{News, Note, Severity, Subject};

/// Events and objects remembered; the oldest are forgotten first.
const REMEMBERED: usize = 4096;
/// What one object may cause at once, and the seconds until it may cause one more.
const OBJECT_BURST: f64 = 25.0;
const OBJECT_REFILL_SECONDS: f64 = 300.0;
/// What all of a set may cause at once, and how many a second after that.
const SET_BURST: f64 = 500.0;
const SET_RATE: f64 = 50.0;

/// What to do with a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// Write a new Event of that name.
    Create { name: String },
    /// It happened before: this Event counts so many by now.
    Count { name: String, count: u32 },
    /// Too many: say nothing.
    HeldBack,
}

type Key = (Subject, News);

/// See the module.
#[derive(Debug)]
pub(super) struct Ledger {
    known: Bounded<Key, (String, u32)>,
    /// By uid and severity: what starts again and again must not drown out that it fails.
    objects: Bounded<(Arc<str>, Severity), Bucket>,
    set: Bucket,
}

impl Ledger {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            known: Bounded::default(),
            objects: Bounded::default(),
            set: Bucket { tokens: SET_BURST, at: now },
        }
    }

    pub(super) fn enter(&mut self, note: &Note) -> Entry {
        let key = (note.subject.clone(), note.news.clone());
        let full = Bucket { tokens: OBJECT_BURST, at: note.at };
        let object = self.objects.entry((note.subject.uid.clone(), note.news.severity), full);
        let allowed = object.take(OBJECT_BURST, 1.0 / OBJECT_REFILL_SECONDS, note.at)
            && self.set.take(SET_BURST, SET_RATE, note.at);
        // What is held back still counts: the next write of that Event tells.
        if let Some((name, count)) = self.known.get_mut(&key) {
            *count = count.saturating_add(1);
            return if allowed {
                Entry::Count { name: name.clone(), count: *count }
            } else {
                Entry::HeldBack
            };
        }
        if !allowed {
            return Entry::HeldBack;
        }
        let name = name(note);
        self.known.entry(key, (name.clone(), 1));
        Entry::Create { name }
    }

    /// The Event is gone: the next time it begins anew.
    pub(super) fn forget(&mut self, note: &Note) {
        self.known.remove(&(note.subject.clone(), note.news.clone()));
    }
}

/// The object's name and a number, as clients name Events; the number follows from what happened.
fn name(note: &Note) -> String {
    let at = note.at.as_nanosecond().to_string();
    let parts = [&*note.subject.uid, &note.subject.field, &note.news.reason, &note.news.message, &at];
    let subject = &note.subject.name[..note.subject.name.floor_char_boundary(230)];
    format!("{subject}.{:016x}", crate::ids::hash(&parts))
}

/// Tokens that come back with time.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: Timestamp,
}

impl Bucket {
    fn take(&mut self, burst: f64, per_second: f64, now: Timestamp) -> bool {
        let passed = now.duration_since(self.at).as_secs_f64().max(0.0);
        self.tokens = (self.tokens + passed * per_second).min(burst);
        self.at = self.at.max(now);
        if self.tokens < 1.0 {
            return false;
        }
        self.tokens -= 1.0;
        true
    }
}

/// A map that forgets its oldest entries.
#[derive(Debug)]
struct Bounded<K, V> {
    map: HashMap<K, V>,
    order: VecDeque<K>,
}

impl<K, V> Default for Bounded<K, V> {
    fn default() -> Self {
        Self { map: HashMap::new(), order: VecDeque::new() }
    }
}

impl<K: Clone + Eq + std::hash::Hash, V> Bounded<K, V> {
    fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.map.get_mut(key)
    }

    fn entry(&mut self, key: K, value: V) -> &mut V {
        if !self.map.contains_key(&key) {
            if self.order.len() >= REMEMBERED
                && let Some(oldest) = self.order.pop_front()
            {
                self.map.remove(&oldest);
            }
            self.order.push_back(key.clone());
        }
        self.map.entry(key).or_insert(value)
    }

    fn remove(&mut self, key: &K) {
        if self.map.remove(key).is_some() {
            self.order.retain(|known| known != key);
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    fn note(pod: usize, message: &str, second: i64) -> Note {
        Note {
            node: "n".into(),
            subject: Subject {
                kind: "Pod",
                namespace: "ns".into(),
                name: format!("p{pod}").into(),
                uid: format!("uid-{pod}").into(),
                field: String::new(),
            },
            news: News::warning("BackOff", message),
            at: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second),
        }
    }

    #[test]
    fn a_crash_loop_is_one_event_that_counts() {
        let mut ledger = Ledger::new(Timestamp::UNIX_EPOCH);
        let Entry::Create { name } = ledger.enter(&note(0, "again", 0)) else { panic!("the first is new") };
        assert!(name.starts_with("p0.") && name.len() == 19, "{name}");
        for count in 2..=5 {
            let want = Entry::Count { name: name.clone(), count };
            assert_eq!(ledger.enter(&note(0, "again", i64::from(count) * 300)), want);
        }
        ledger.forget(&note(0, "again", 0));
        assert!(matches!(ledger.enter(&note(0, "again", 9000)), Entry::Create { .. }));
    }

    #[test]
    fn one_object_cannot_flood_and_neither_can_a_set() {
        let mut ledger = Ledger::new(Timestamp::UNIX_EPOCH);
        let written = |ledger: &mut Ledger, pod: &dyn Fn(usize) -> usize, count: usize, second: i64| {
            (0..count)
                .filter(|&number| {
                    let note = note(pod(number), &format!("{second} {number}"), second);
                    ledger.enter(&note) != Entry::HeldBack
                })
                .count()
        };
        assert_eq!(written(&mut ledger, &|_| 7, 100, 0), 25);
        assert_eq!(written(&mut ledger, &|_| 7, 100, 600), 2);
        let mut ledger = Ledger::new(Timestamp::UNIX_EPOCH);
        assert_eq!(written(&mut ledger, &|number| number, 10_000, 0), 500);
        assert_eq!(written(&mut ledger, &|number| number, 10_000, 2), 100);
    }

    #[test]
    fn memory_is_bounded() {
        let mut ledger = Ledger::new(Timestamp::UNIX_EPOCH);
        for pod in 0..20_000 {
            ledger.enter(&note(pod, "x", i64::try_from(pod).unwrap()));
        }
        assert!(ledger.known.map.len() <= REMEMBERED && ledger.known.order.len() <= REMEMBERED);
        assert!(ledger.objects.map.len() <= REMEMBERED);
    }
}
