//! Decides what becomes of an occurrence: a new Event, a higher count on an old one, or nothing.
//!
//! As in Kubernetes: equal occurrences are counted on one Event; when one object has more than ten different
//! messages for the same reason within ten minutes, further ones are counted together; and one object may speak
//! only so often, so that a big ReplicaSet does not flood the cluster.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

/// How many different messages one reason may have before they are put together.
const MOST_MESSAGES: usize = 10;
/// How long similar messages are remembered.
const SIMILAR_WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// How many Events about one object may come at once.
const BURST: f64 = 25.0;
/// Seconds until one more may come.
const REFILL_SECONDS: f64 = 300.0;
/// How many objects and Events are remembered. Forgetting costs a duplicate Event, nothing else.
const REMEMBERED: usize = 4096;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Occurrence {
    /// The object's uid, or its kind and name where it has none.
    pub(crate) about: String,
    pub(crate) kind: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

/// What to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Drop,
    Create { message: String },
    Count { name: String, message: String, count: i32 },
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Timestamp,
}

#[derive(Debug)]
struct Similar {
    messages: BTreeSet<String>,
    last: Timestamp,
}

#[derive(Debug)]
struct Known {
    name: String,
    count: i32,
}

/// What was seen so far.
#[derive(Debug, Default)]
pub(crate) struct Correlation {
    buckets: BTreeMap<String, Bucket>,
    similar: BTreeMap<(String, &'static str, &'static str), Similar>,
    known: BTreeMap<Occurrence, Known>,
}

impl Correlation {
    /// Takes note of an occurrence. After `Create`, tell [`Correlation::created`] the Event's name.
    pub(crate) fn observe(&mut self, occurrence: &mut Occurrence, now: Timestamp) -> Decision {
        self.forget_when_full();
        if self.is_too_much(occurrence, now) {
            occurrence.message = format!("(combined from similar events): {}", occurrence.message);
        }
        if !self.may_speak(&occurrence.about, now) {
            return Decision::Drop;
        }
        let message = occurrence.message.clone();
        match self.known.get_mut(&combined_key(occurrence)) {
            Some(known) => {
                known.count = known.count.saturating_add(1);
                Decision::Count { name: known.name.clone(), message, count: known.count }
            }
            None => Decision::Create { message },
        }
    }

    pub(crate) fn created(&mut self, occurrence: &Occurrence, name: &str) {
        self.known.insert(combined_key(occurrence), Known { name: name.to_owned(), count: 1 });
    }

    /// The Event is gone: the next occurrence needs a new one.
    pub(crate) fn forget(&mut self, occurrence: &Occurrence) {
        self.known.remove(&combined_key(occurrence));
    }

    fn is_too_much(&mut self, occurrence: &Occurrence, now: Timestamp) -> bool {
        let key = (occurrence.about.clone(), occurrence.kind, occurrence.reason);
        let similar =
            self.similar.entry(key).or_insert_with(|| Similar { messages: BTreeSet::new(), last: now });
        if now.duration_since(similar.last) > SIMILAR_WINDOW {
            similar.messages.clear();
        }
        similar.last = now;
        if similar.messages.contains(&occurrence.message) || similar.messages.len() < MOST_MESSAGES {
            similar.messages.insert(occurrence.message.clone());
            return false;
        }
        true
    }

    fn may_speak(&mut self, about: &str, now: Timestamp) -> bool {
        let bucket = self.buckets.entry(about.to_owned()).or_insert(Bucket { tokens: BURST, at: now });
        let elapsed = now.duration_since(bucket.at).as_secs_f64().max(0.0);
        bucket.tokens = (bucket.tokens + elapsed / REFILL_SECONDS).min(BURST);
        bucket.at = now;
        if bucket.tokens < 1.0 {
            return false;
        }
        bucket.tokens -= 1.0;
        true
    }

    fn forget_when_full(&mut self) {
        if self.buckets.len() >= REMEMBERED {
            self.buckets.clear();
        }
        if self.similar.len() >= REMEMBERED {
            self.similar.clear();
        }
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
    }
}

/// Combined occurrences share one Event, whatever they say.
fn combined_key(occurrence: &Occurrence) -> Occurrence {
    let mut key = occurrence.clone();
    if key.message.starts_with("(combined from similar events): ") {
        key.message.clear();
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occurrence(message: &str) -> Occurrence {
        Occurrence { about: "u".into(), kind: "Normal", reason: "Did", message: message.into() }
    }

    fn observe(correlation: &mut Correlation, message: &str, seconds: i64) -> Decision {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds);
        let mut occurrence = occurrence(message);
        let decision = correlation.observe(&mut occurrence, now);
        if let Decision::Create { message } = &decision {
            correlation.created(&occurrence, &format!("event of {message}"));
        }
        decision
    }

    #[test]
    fn equal_occurrences_are_counted_on_one_event() {
        let mut correlation = Correlation::default();
        assert_eq!(observe(&mut correlation, "a", 0), Decision::Create { message: "a".into() });
        let again = observe(&mut correlation, "a", 1);
        assert_eq!(again, Decision::Count { name: "event of a".into(), message: "a".into(), count: 2 });
        correlation.forget(&occurrence("a"));
        assert_eq!(observe(&mut correlation, "a", 2), Decision::Create { message: "a".into() });
    }

    #[test]
    fn the_eleventh_message_of_a_kind_is_combined_with_the_following() {
        let mut correlation = Correlation::default();
        for number in 0..10 {
            let message = format!("pod {number}");
            assert_eq!(observe(&mut correlation, &message, 0), Decision::Create { message });
        }
        let message = "(combined from similar events): pod 10".to_owned();
        assert_eq!(observe(&mut correlation, "pod 10", 0), Decision::Create { message });
        assert!(matches!(observe(&mut correlation, "pod 11", 0), Decision::Count { count: 2, .. }));
        let later = observe(&mut correlation, "pod 12", 601);
        assert_eq!(later, Decision::Create { message: "pod 12".into() });
    }

    #[test]
    fn an_object_may_not_flood() {
        let mut correlation = Correlation::default();
        let spoken = (0..100).filter(|_| observe(&mut correlation, "a", 0) != Decision::Drop).count();
        assert_eq!(spoken, 25);
        assert_eq!(observe(&mut correlation, "a", 299), Decision::Drop);
        assert_ne!(observe(&mut correlation, "a", 600), Decision::Drop);
    }
}
