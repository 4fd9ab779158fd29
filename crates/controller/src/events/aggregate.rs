//! Which recorded events become Events, series, or nothing. No client, no clock.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use tokio::time::Instant;

use super::{News, bucket::Bucket};

/// How much is too much.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Repetitions within this time of each other belong to one series.
    pub window: Duration,
    /// New Events about one object at once.
    pub burst: u32,
    /// After a burst, one new Event about the object per this time.
    pub refill: Duration,
    /// How many series and how many objects are remembered.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { window: Duration::from_mins(6), burst: 25, refill: Duration::from_mins(1), memory: 4096 }
    }
}

/// The object an event is about. `ObjectReference` itself has no order.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct About {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) uid: Option<String>,
    pub(super) field_path: Option<String>,
    pub(super) resource_version: Option<String>,
}

impl About {
    /// Events about cluster-scoped objects live in `default`.
    pub(super) fn event_namespace(&self) -> &str {
        self.namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or("default")
    }
}

impl From<ObjectReference> for About {
    fn from(reference: ObjectReference) -> Self {
        Self {
            api_version: reference.api_version.unwrap_or_default(),
            kind: reference.kind.unwrap_or_default(),
            namespace: reference.namespace,
            name: reference.name.unwrap_or_default(),
            uid: reference.uid,
            field_path: reference.field_path,
            resource_version: reference.resource_version,
        }
    }
}

impl From<About> for ObjectReference {
    fn from(about: About) -> Self {
        Self {
            api_version: Some(about.api_version),
            kind: Some(about.kind),
            namespace: about.namespace,
            name: Some(about.name),
            uid: about.uid,
            field_path: about.field_path,
            resource_version: about.resource_version,
        }
    }
}

/// Something that happened to an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Occurrence {
    pub(super) about: About,
    pub(super) news: News,
}

/// What to do with an occurrence.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Write an Event under this name.
    Create { name: String, occurrence: Box<Occurrence> },
    /// It will be in the next flush.
    Merged,
    /// Too many about this object.
    Limited,
}

/// A series to be written into an existing Event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Series {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) count: i32,
    pub(super) last: Timestamp,
}

#[derive(Debug)]
pub(super) struct Aggregator {
    limits: Limits,
    running: BTreeMap<Occurrence, Running>,
    rates: BTreeMap<About, Bucket>,
}

#[derive(Debug)]
struct Running {
    name: String,
    count: i32,
    last: Timestamp,
    last_local: Instant,
    unwritten: bool,
}

impl Aggregator {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, running: BTreeMap::new(), rates: BTreeMap::new() }
    }

    pub(super) fn record(
        &mut self,
        now: Instant,
        time: Timestamp,
        mut occurrence: Occurrence,
        name: String,
    ) -> Effect {
        // The same thing about the next version of the object is still the same thing.
        let version = occurrence.about.resource_version.take();
        if let Some(running) = self.running.get_mut(&occurrence)
            && now.saturating_duration_since(running.last_local) <= self.limits.window
        {
            running.count = running.count.saturating_add(1);
            running.last = time;
            running.last_local = now;
            running.unwritten = true;
            return Effect::Merged;
        }
        if !self.allowed(now, &occurrence.about) {
            return Effect::Limited;
        }
        let running = Running { name: name.clone(), count: 1, last: time, last_local: now, unwritten: false };
        self.running.insert(occurrence.clone(), running);
        self.forget_surplus();
        occurrence.about.resource_version = version;
        Effect::Create { name, occurrence: Box::new(occurrence) }
    }

    /// Series that grew since the last flush. Those that ended are forgotten.
    pub(super) fn flush(&mut self, now: Instant) -> Vec<Series> {
        let grown = self.running.iter_mut().filter(|(_, running)| running.unwritten);
        let series = grown
            .map(|(occurrence, running)| {
                running.unwritten = false;
                Series {
                    namespace: occurrence.about.event_namespace().to_owned(),
                    name: running.name.clone(),
                    count: running.count,
                    last: running.last,
                }
            })
            .collect();
        let window = self.limits.window;
        self.running.retain(|_, running| now.saturating_duration_since(running.last_local) <= window);
        self.rates.retain(|_, bucket| !bucket.is_full(now));
        series
    }

    /// The Event of this name is gone.
    pub(super) fn forget(&mut self, name: &str) {
        self.running.retain(|_, running| running.name != name);
    }

    fn allowed(&mut self, now: Instant, about: &About) -> bool {
        let Limits { burst, refill, memory, .. } = self.limits;
        if !self.rates.contains_key(about) && self.rates.len() >= memory {
            self.rates.retain(|_, bucket| !bucket.is_full(now));
            if self.rates.len() >= memory {
                // So many different objects at once is a storm of its own.
                return false;
            }
        }
        self.rates.entry(about.clone()).or_insert_with(|| Bucket::new(burst, refill, now)).take(now)
    }

    /// Forgetting a series costs at most one more Event.
    fn forget_surplus(&mut self) {
        while self.running.len() > self.limits.memory {
            let oldest = self.running.iter().min_by_key(|(_, running)| running.last_local);
            let Some(oldest) = oldest.map(|(occurrence, _)| occurrence.clone()) else { return };
            self.running.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Severity, *};

    const SECOND: Duration = Duration::from_secs(1);

    fn occurrence(object: &str, note: &str) -> Occurrence {
        let about = About {
            kind: "Pod".into(),
            name: object.into(),
            namespace: Some("a".into()),
            ..About::default()
        };
        let news =
            News { severity: Severity::Warning, reason: "NoRoom", action: "Placing", note: note.to_owned() };
        Occurrence { about, news }
    }

    struct Story {
        aggregator: Aggregator,
        start: Instant,
        names: u32,
    }

    impl Story {
        fn new(limits: Limits) -> Self {
            Self { aggregator: Aggregator::new(limits), start: Instant::now(), names: 0 }
        }

        /// `+name`, `merged` or `limited`.
        fn record(&mut self, second: u32, object: &str, note: &str) -> String {
            self.names += 1;
            let time = Timestamp::from_second(second.into()).unwrap();
            let now = self.start + SECOND * second;
            match self.aggregator.record(now, time, occurrence(object, note), format!("e{}", self.names)) {
                Effect::Create { name, .. } => format!("+{name}"),
                Effect::Merged => "merged".to_owned(),
                Effect::Limited => "limited".to_owned(),
            }
        }

        fn flush(&mut self, second: u32) -> Vec<(String, i32, i64)> {
            let series = self.aggregator.flush(self.start + SECOND * second);
            series.into_iter().map(|one| (one.name, one.count, one.last.as_second())).collect()
        }
    }

    #[test]
    fn repetitions_within_the_window_become_one_series() {
        let mut story = Story::new(Limits::default());
        assert_eq!(story.record(0, "p", "no node has 8 cards"), "+e1");
        assert_eq!(story.flush(5), []);
        assert_eq!(story.record(100, "p", "no node has 8 cards"), "merged");
        assert_eq!(story.record(300, "p", "no node has 8 cards"), "merged");
        assert_eq!(story.flush(310), [("e1".to_owned(), 3, 300)]);
        assert_eq!(story.flush(320), []);
        // The window slides with the last occurrence, and ends.
        assert_eq!(story.record(661, "p", "no node has 8 cards"), "+e4");
    }

    #[test]
    fn another_object_reason_or_note_is_another_event() {
        let mut story = Story::new(Limits::default());
        assert_eq!(story.record(0, "p", "a"), "+e1");
        assert_eq!(story.record(0, "p", "b"), "+e2");
        assert_eq!(story.record(0, "q", "a"), "+e3");
        assert_eq!(story.record(0, "p", "a"), "merged");
    }

    #[test]
    fn a_new_version_of_the_object_continues_the_series() {
        let mut aggregator = Aggregator::new(Limits::default());
        let now = Instant::now();
        let mut at_version = |version: &str| {
            let mut occurrence = occurrence("p", "a");
            occurrence.about.resource_version = Some(version.to_owned());
            aggregator.record(now, Timestamp::UNIX_EPOCH, occurrence, "e".to_owned())
        };
        let Effect::Create { occurrence, .. } = at_version("1") else { panic!("not created") };
        assert_eq!(occurrence.about.resource_version.as_deref(), Some("1"));
        assert_eq!(at_version("2"), Effect::Merged);
    }

    #[test]
    fn one_noisy_object_is_limited_and_others_are_not() {
        let mut story = Story::new(Limits { burst: 2, ..Limits::default() });
        let mut told: Vec<String> =
            (0..4).map(|number| story.record(0, "noisy", &number.to_string())).collect();
        told.push(story.record(0, "calm", "x"));
        told.push(story.record(60, "noisy", "later"));
        assert_eq!(told, ["+e1", "+e2", "limited", "limited", "+e5", "+e6"]);
    }

    #[test]
    fn memory_is_bounded() {
        let limits = Limits { memory: 10, burst: 1000, ..Limits::default() };
        let mut story = Story::new(limits);
        for number in 0..1000 {
            story.record(number / 100, "p", &number.to_string());
        }
        assert_eq!(story.aggregator.running.len(), 10);
        for number in 0..1000 {
            story.record(20, &number.to_string(), "x");
        }
        assert!(story.aggregator.running.len() <= 10 && story.aggregator.rates.len() <= 10);
        // When all is quiet nothing is kept.
        story.flush(100_000);
        assert!(story.aggregator.running.is_empty() && story.aggregator.rates.is_empty());
    }
}
