//! What cards did: an hour in minutes, a day in quarters of an hour, each with its mean and its highest use. Pure.
//!
//! Rings of one byte for each use and four for each amount of memory, so that a thousand nodes of eight cards take less
//! than 6 MB, and nothing grows with time. Cards beyond [`MOST`] are not kept.

use std::collections::BTreeMap;

use super::{CardKey, Reading};

/// Minutes that are kept.
pub(crate) const MINUTES: usize = 60;
/// Seconds of a step of the day's strip.
pub(crate) const STEP: i64 = 900;
/// Steps that are kept.
pub(crate) const STEPS: usize = 96;
/// Steps of which the highest use is kept: one more than a day, which begins within a step.
const PEAKS: usize = STEPS + 1;
/// So many minutes may be missing from a time that counts as seen: looks are not made to the second.
const MISSING: usize = 2;
/// The longest time in minutes over which the highest use can be told.
pub(crate) const LONGEST: i64 = 24 * 60;
/// Cards that are kept.
const MOST: usize = 65_536;
/// A use that is not known.
const UNKNOWN: u8 = u8::MAX;
/// An amount of memory that is not known.
const NO_MEMORY: u32 = u32::MAX;

/// One card at one moment: unix time, use in percent, memory in bytes.
pub(crate) type Point = (i64, Option<u8>, Option<u64>);

/// One card.
#[derive(Debug)]
struct Track {
    minutes: [u8; MINUTES],
    /// In MiB.
    memory: [u32; MINUTES],
    steps: [u8; STEPS],
    /// The highest use in each step that is over, if it was seen all the time.
    peaks: [u8; PEAKS],
    /// Of the step that is not over, to make its mean.
    sum: u32,
    count: u16,
}

impl Track {
    const NEW: Self = Self {
        minutes: [UNKNOWN; MINUTES],
        memory: [NO_MEMORY; MINUTES],
        steps: [UNKNOWN; STEPS],
        peaks: [UNKNOWN; PEAKS],
        sum: 0,
        count: 0,
    };

    /// The highest use in a step, if it was seen all the time. `newest` is the newest minute that is kept.
    fn peak(&self, step: i64, newest: i64) -> u8 {
        let minutes = step * STEP / 60..(step + 1) * STEP / 60;
        let length = usize::try_from(STEP / 60).unwrap_or_default();
        let kept = minutes.filter(|slot| is_kept(*slot, newest, MINUTES));
        let seen: Vec<u8> = kept.filter_map(|slot| known(self.minutes[position(slot, MINUTES)])).collect();
        if seen.len() + MISSING < length { UNKNOWN } else { seen.into_iter().max().unwrap_or(UNKNOWN) }
    }

    fn is_forgotten(&self) -> bool {
        self.minutes.iter().chain(&self.steps).all(|value| *value == UNKNOWN)
    }
}

/// All cards.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The newest minute and step, as counts since 1970.
    minute: i64,
    step: i64,
    /// When the first look was.
    since: Option<i64>,
    count: usize,
    nodes: BTreeMap<String, BTreeMap<CardKey, Track>>,
}

impl History {
    /// Makes room for `now`, and forgets what is too old for it. A clock that went back changes nothing.
    pub(crate) fn advance(&mut self, now: i64) {
        let (minute, step) = (now.div_euclid(60), now.div_euclid(STEP));
        let gone = |old: i64, new: i64, length: usize| {
            let length = i64::try_from(length).unwrap_or(i64::MAX);
            (old.max(new - length) + 1..=new).map(move |slot| place(slot, length))
        };
        let minutes: Vec<usize> = gone(self.minute, minute, MINUTES).collect();
        let steps: Vec<usize> = gone(self.step, step, STEPS).collect();
        let peaks: Vec<usize> = gone(self.step, step, PEAKS).collect();
        let (seen, over) = (self.minute, self.step);
        for track in self.nodes.values_mut().flat_map(BTreeMap::values_mut) {
            // Before its minutes are forgotten.
            let peak = (over < step).then(|| track.peak(over, seen));
            for at in &minutes {
                track.minutes[*at] = UNKNOWN;
                track.memory[*at] = NO_MEMORY;
            }
            for at in &steps {
                track.steps[*at] = UNKNOWN;
                (track.sum, track.count) = (0, 0);
            }
            for at in &peaks {
                track.peaks[*at] = UNKNOWN;
            }
            if let Some(peak) = peak.filter(|_| is_kept(over, step, PEAKS)) {
                track.peaks[position(over, PEAKS)] = peak;
            }
        }
        if !steps.is_empty() {
            self.forget();
        }
        self.since.get_or_insert(now);
        self.minute = self.minute.max(minute);
        self.step = self.step.max(step);
    }

    fn forget(&mut self) {
        for cards in self.nodes.values_mut() {
            cards.retain(|_, track| !track.is_forgotten());
        }
        self.nodes.retain(|_, cards| !cards.is_empty());
        self.count = self.nodes.values().map(BTreeMap::len).sum();
    }

    /// Keeps what was just read of a card. [`advance`](Self::advance) comes first.
    pub(crate) fn add(&mut self, node: &str, card: CardKey, reading: &Reading) {
        let (minute, step) = (position(self.minute, MINUTES), position(self.step, STEPS));
        let Some(track) = self.track(node, card) else { return };
        track.memory[minute] = memory(reading.memory_used);
        if let Some(value) = reading.utilisation.map(percent) {
            track.minutes[minute] = value;
            track.sum = track.sum.saturating_add(u32::from(value));
            track.count = track.count.saturating_add(1);
            let mean = track.sum.checked_div(u32::from(track.count)).unwrap_or_default();
            track.steps[step] = u8::try_from(mean).unwrap_or(100);
        }
    }

    /// Keeps the mean of a step of the past, unless more is known of it.
    pub(crate) fn add_step(&mut self, node: &str, card: CardKey, time: i64, use_: f64) {
        let slot = time.div_euclid(STEP);
        if !is_kept(slot, self.step, STEPS) {
            return;
        }
        let Some(track) = self.track(node, card) else { return };
        let place = &mut track.steps[position(slot, STEPS)];
        if *place == UNKNOWN {
            *place = percent(use_);
        }
    }

    /// The same of a minute.
    pub(crate) fn add_minute(&mut self, node: &str, card: CardKey, time: i64, reading: &Reading) {
        let slot = time.div_euclid(60);
        if !is_kept(slot, self.minute, MINUTES) {
            return;
        }
        let Some(track) = self.track(node, card) else { return };
        let at = position(slot, MINUTES);
        if let Some(value) = reading.utilisation.filter(|_| track.minutes[at] == UNKNOWN) {
            track.minutes[at] = percent(value);
        }
        if track.memory[at] == NO_MEMORY {
            track.memory[at] = memory(reading.memory_used);
        }
    }

    fn track(&mut self, node: &str, card: CardKey) -> Option<&mut Track> {
        let known = self.nodes.get(node).is_some_and(|cards| cards.contains_key(&card));
        if !known {
            if self.count >= MOST {
                return None;
            }
            self.count += 1;
            self.nodes.entry(node.to_owned()).or_default().insert(card, Track::NEW);
        }
        self.nodes.get_mut(node)?.get_mut(&card)
    }

    /// What a card did in the last minutes, as far as it is known, oldest first.
    pub(crate) fn minutes(&self, node: &str, card: CardKey, minutes: usize) -> Vec<Point> {
        let Some(track) = self.nodes.get(node).and_then(|cards| cards.get(&card)) else { return Vec::new() };
        last(self.minute, minutes.min(MINUTES))
            .map(|slot| {
                let at = position(slot, MINUTES);
                let memory = (track.memory[at] != NO_MEMORY).then(|| u64::from(track.memory[at]) << 20);
                (slot * 60, known(track.minutes[at]), memory)
            })
            .filter(|(_, use_, memory)| use_.is_some() || memory.is_some())
            .collect()
    }

    /// The highest use of a card in the last `minutes` up to `now`, if it was seen all that time; never for more than
    /// [`LONGEST`]. Of what is more than an hour ago whole quarters of an hour count.
    pub(crate) fn highest(&self, node: &str, card: CardKey, minutes: i64, now: i64) -> Option<u8> {
        let track = self.nodes.get(node)?.get(&card)?;
        let whole = usize::try_from(minutes).ok().filter(|_| (1..=LONGEST).contains(&minutes))?;
        let recent = whole.min(MINUTES);
        let oldest = now.div_euclid(60) - i64::try_from(recent).unwrap_or_default();
        let slots = last(self.minute, recent).filter(|slot| *slot >= oldest);
        let seen: Vec<u8> = slots.filter_map(|slot| known(track.minutes[position(slot, MINUTES)])).collect();
        if seen.is_empty() || seen.len() + MISSING < recent {
            return None;
        }
        let mut highest = seen.into_iter().max()?;
        if whole > recent {
            let begin = (now - minutes * 60).div_euclid(STEP);
            let end = (last(self.minute, recent).next()? * 60 - 1).div_euclid(STEP);
            for slot in begin..=end {
                let peak = known(track.peaks[position(slot, PEAKS)]);
                highest = highest.max(peak.filter(|_| is_kept(slot, self.step, PEAKS))?);
            }
        }
        Some(highest)
    }

    /// Whether cards have been looked at for so many minutes before `now`.
    pub(crate) fn reaches(&self, minutes: i64, now: i64) -> bool {
        minutes <= LONGEST && self.since.is_some_and(|since| now - since >= (minutes - 2) * 60)
    }

    /// When the strip of so many steps begins.
    pub(crate) fn begin(&self, steps: usize) -> i64 {
        last(self.step, steps.min(STEPS)).next().unwrap_or(self.step) * STEP
    }

    /// The strip of each card of each node: so many steps, oldest first.
    pub(crate) fn strips(
        &self,
        steps: usize,
    ) -> impl Iterator<Item = (&str, impl Iterator<Item = (CardKey, Vec<Option<u8>>)>)> {
        let strip = move |track: &Track| {
            last(self.step, steps.min(STEPS)).map(|slot| known(track.steps[position(slot, STEPS)])).collect()
        };
        self.nodes.iter().map(move |(node, cards)| {
            (node.as_str(), cards.iter().map(move |(card, track)| (*card, strip(track))))
        })
    }

    #[cfg(test)]
    fn count(&self) -> usize {
        self.count
    }
}

/// The last slots up to `newest`, oldest first.
fn last(newest: i64, count: usize) -> impl Iterator<Item = i64> {
    newest + 1 - i64::try_from(count).unwrap_or_default()..=newest
}

fn is_kept(slot: i64, newest: i64, length: usize) -> bool {
    slot <= newest && newest - slot < i64::try_from(length).unwrap_or_default()
}

fn position(slot: i64, length: usize) -> usize {
    place(slot, i64::try_from(length).unwrap_or(1))
}

fn place(slot: i64, length: i64) -> usize {
    usize::try_from(slot.rem_euclid(length)).unwrap_or_default()
}

const fn known(value: u8) -> Option<u8> {
    if value == UNKNOWN { None } else { Some(value) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 100")]
pub(crate) fn percent(value: f64) -> u8 {
    value.clamp(0.0, 100.0).round() as u8
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
fn memory(value: Option<f64>) -> u32 {
    value.map_or(NO_MEMORY, |value| value.clamp(0.0, f64::from(NO_MEMORY - 1)) as u32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CARD: CardKey = CardKey { maker: super::super::Maker::Nvidia, index: 0 };

    fn reading(use_: f64) -> Reading {
        Reading { utilisation: Some(use_), memory_used: Some(1024.0), ..Reading::default() }
    }

    fn strip(history: &History, steps: usize) -> Vec<Option<u8>> {
        let found = history.strips(steps).flat_map(|(_, cards)| cards).next();
        found.map(|(_, strip)| strip).unwrap_or_default()
    }

    #[test]
    fn a_step_is_the_mean_of_its_samples_and_what_was_not_seen_is_not_known() {
        let mut history = History::default();
        for (minute, use_) in [(0, 10.0), (1, 30.0), (45, 90.0)] {
            history.advance(minute * 60);
            history.add("n", CARD, &reading(use_));
        }
        assert_eq!(strip(&history, 4), [Some(20), None, None, Some(90)]);
        assert_eq!(history.begin(4), 0);
        let points = history.minutes("n", CARD, 60);
        assert_eq!(
            points.iter().map(|(time, use_, _)| (*time, *use_)).collect::<Vec<_>>(),
            [(0, Some(10)), (60, Some(30)), (2700, Some(90))]
        );
        assert_eq!(points[0].2, Some(1 << 30));
        assert_eq!(history.minutes("n", CARD, 10).len(), 1);
        assert!(history.minutes("m", CARD, 60).is_empty());
    }

    /// Looks every half minute, with a use for each minute if there is one.
    fn watched(minutes: i64, use_: impl Fn(i64) -> Option<f64>) -> (History, i64) {
        let mut history = History::default();
        // Not at the begin of a step.
        let begin = 7 * 60;
        for look in 0..minutes * 2 {
            history.advance(begin + look * 30);
            if let Some(use_) = use_(look / 2) {
                history.add("n", CARD, &reading(use_));
            }
        }
        (history, begin + minutes * 60 - 30)
    }

    #[test]
    fn the_highest_use_is_known_for_a_day_where_it_was_seen_all_the_time() {
        let days = 2 * 24 * 60;
        let (history, now) = watched(days, |minute| Some(if minute == days - 90 { 70.0 } else { 3.0 }));
        let highest = |minutes| history.highest("n", CARD, minutes, now);
        assert_eq!((highest(1), highest(60)), (Some(3), Some(3)));
        assert_eq!(
            (highest(120), highest(LONGEST)),
            (Some(70), Some(70)),
            "once in a quarter of an hour is seen"
        );
        assert_eq!((highest(LONGEST + 1), highest(0), highest(-5)), (None, None, None));
        assert_eq!(history.highest("m", CARD, 120, now), None);
        assert_eq!(history.highest("n", CARD, 120, now + 600), None, "the last minutes were not seen");
        let (history, now) =
            watched(300, |minute| (minute != 180 && !(185..195).contains(&minute)).then_some(1.0));
        let highest = |minutes| history.highest("n", CARD, minutes, now);
        assert_eq!((highest(60), highest(90), highest(150)), (Some(1), Some(1), None), "there is a gap");
        let (history, now) = watched(100, |_| Some(1.0));
        assert_eq!((history.highest("n", CARD, 120, now), history.reaches(120, now)), (None, false));
        assert!(history.reaches(90, now) && !history.reaches(LONGEST + 1, now + 10 * 86_400));
    }

    #[test]
    fn the_past_fills_gaps_and_changes_nothing_that_was_seen() {
        let mut history = History::default();
        history.advance(10 * STEP);
        history.add("n", CARD, &reading(50.0));
        history.add_step("n", CARD, 9 * STEP, 7.0);
        history.add_step("n", CARD, 10 * STEP + 5, 9.0);
        history.add_step("n", CARD, -100 * STEP, 9.0);
        history.add_step("n", CARD, 11 * STEP, 9.0);
        history.add_minute("n", CARD, 10 * STEP, &reading(1.0));
        history.add_minute("n", CARD, 10 * STEP - 60, &reading(2.0));
        assert_eq!(strip(&history, 3), [None, Some(7), Some(50)]);
        let uses: Vec<_> = history.minutes("n", CARD, 60).into_iter().map(|point| point.1).collect();
        assert_eq!(uses, [Some(2), Some(50)]);
    }

    #[test]
    fn a_thousand_nodes_of_eight_cards_take_less_than_six_megabytes_for_ever() {
        // Eight cards are one leaf of a tree, which has room for eleven.
        let leaf = 11 * (size_of::<Track>() + size_of::<CardKey>()) + 32;
        let entry = 64 + 2 * (size_of::<String>() + size_of::<BTreeMap<CardKey, Track>>());
        assert!(1000 * (leaf + entry) < 6 << 20, "{leaf} {entry}");
        let mut history = History::default();
        for day in 0..3 {
            history.advance(day * 86_400);
            for node in 0..1000 {
                for index in 0..8 {
                    history.add(&format!("day-{day}-{node}"), CardKey { index, ..CARD }, &reading(1.0));
                }
            }
        }
        assert_eq!(history.count(), 8000, "nodes that are gone for a day are forgotten");
        for node in 0..MOST {
            history.add(&format!("more-{node}"), CARD, &reading(1.0));
        }
        assert_eq!(history.count(), MOST);
    }

    proptest! {
        /// Whatever comes when: what is shown of a minute is what was last said of it, if it is not too old.
        #[test]
        fn rings_show_the_last_hour_as_it_was(samples in proptest::collection::vec((0_i64..400, 0_u8..=100), 1..60)) {
            let (mut history, mut now, mut said) = (History::default(), 0, BTreeMap::new());
            for (wait, use_) in samples {
                now += wait;
                history.advance(now);
                history.add("n", CARD, &reading(f64::from(use_)));
                said.insert(now / 60, use_);
            }
            let wanted: Vec<(i64, u8)> = said.into_iter().filter(|(minute, _)| now / 60 - minute < 60).collect();
            let shown: Vec<(i64, u8)> =
                history.minutes("n", CARD, 60).into_iter().map(|(time, use_, _)| (time / 60, use_.unwrap())).collect();
            prop_assert_eq!(shown, wanted);
        }
    }
}
