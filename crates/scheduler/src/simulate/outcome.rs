//! What came of a run, in figures.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;

use super::trace::{Trace, TracePod};
use crate::model::{Millis, PodId};

/// Most points of the curve kept.
const POINTS: usize = 240;

/// One moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) at: Millis,
    /// Thousandths of cards held.
    pub(super) held: i64,
    /// Pods that wait.
    pub(super) waiting: usize,
}

/// What happened to a Pod.
#[derive(Debug, Clone)]
pub(super) struct Life {
    pub(super) id: Option<PodId>,
    account: Arc<str>,
    arrives: Millis,
    first_start: Option<Millis>,
    pub(super) running_since: Option<Millis>,
    /// How often it was started.
    pub(super) starts: u32,
    pub(super) ended: bool,
    /// Thousandths of cards held, times milliseconds.
    used: i128,
}

impl Life {
    pub(super) fn new(pod: &TracePod) -> Self {
        Self {
            id: None,
            account: Arc::clone(&pod.account),
            arrives: pod.arrives,
            first_start: None,
            running_since: None,
            starts: 0,
            ended: false,
            used: 0,
        }
    }

    pub(super) fn start(&mut self, now: Millis) {
        self.first_start.get_or_insert(now);
        self.running_since = Some(now);
        self.starts += 1;
    }

    pub(super) fn stop(&mut self, now: Millis, cards: i64) {
        if let Some(since) = self.running_since.take() {
            self.used += i128::from(now - since) * i128::from(cards);
        }
    }
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Cards there are.
    pub cards: f64,
    /// From the first arrival to the last arrival or start, in seconds; the rest is waiting for the longest to end.
    pub seconds: f64,
    /// Cards in use on average over that time, in percent.
    pub allocation_percent: f64,
    /// Most cards in use at a time, in percent.
    pub peak_percent: f64,
    /// Pods that came.
    pub pods: usize,
    /// Pods that never started.
    pub never_started: usize,
    /// Pods stopped for others.
    pub evictions: usize,
    /// How long Pods that started had waited.
    pub waiting: Waiting,
    /// By account, by name.
    pub accounts: Vec<AccountOutcome>,
    /// Jain's index over what accounts got of what they asked for: 1 if all got the same part of it.
    pub fairness: f64,
    /// The curve over time.
    pub curve: Vec<Point>,
}

/// How long Pods waited, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// On average.
    pub mean: f64,
    /// Half waited less.
    pub p50: f64,
    /// One in a hundred waited longer.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// What an account got.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountOutcome {
    /// Its name.
    pub name: String,
    /// Pods it sent.
    pub pods: usize,
    /// Of them, those that started.
    pub started: usize,
    /// Cards times hours.
    pub card_hours: f64,
    /// Part of all card hours, in percent.
    pub share_percent: f64,
    /// How long its Pods waited.
    pub waiting: Waiting,
}

/// A point of the curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Point {
    /// Seconds since the first arrival.
    pub at: f64,
    /// Cards in use, in percent, on average since the point before.
    pub allocation_percent: f64,
    /// Pods that wait.
    pub waiting: usize,
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn float(number: i128) -> f64 {
    number as f64
}

fn count(number: usize) -> f64 {
    float(i128::try_from(number).unwrap_or(i128::MAX))
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

impl Outcome {
    pub(super) fn of(trace: &Trace, lives: &[Life], samples: &[Sample], evictions: usize) -> Self {
        let capacity = float(i128::from(trace.card_capacity()));
        let samples = &until_last_start(lives, samples);
        let (first, last) = (samples.first().map_or(0, |one| one.at), samples.last().map_or(0, |one| one.at));
        let used: i128 = samples
            .windows(2)
            .map(|pair| i128::from(pair[0].held) * i128::from(pair[1].at - pair[0].at))
            .sum();
        let length = float(i128::from(last - first));
        let peak = samples.iter().map(|sample| sample.held).max().unwrap_or(0);
        let accounts = accounts(lives);
        Self {
            cards: capacity / 1000.0,
            seconds: length / 1000.0,
            allocation_percent: if length > 0.0 {
                percent(float(used), capacity * length)
            } else {
                percent(float(i128::from(samples.last().map_or(0, |sample| sample.held))), capacity)
            },
            peak_percent: percent(float(i128::from(peak)), capacity),
            pods: lives.len(),
            never_started: lives.iter().filter(|life| life.first_start.is_none()).count(),
            evictions,
            waiting: Waiting::of(lives.iter()),
            fairness: fairness(trace, lives, last),
            accounts,
            curve: curve(samples, capacity),
        }
    }
}

/// The moments up to the last arrival or start, with one at its very end.
fn until_last_start(lives: &[Life], samples: &[Sample]) -> Vec<Sample> {
    let times = lives.iter().map(|life| life.first_start.unwrap_or(life.arrives).max(life.arrives));
    let end = times.max().unwrap_or(0);
    samples.iter().copied().filter(|sample| sample.at <= end).collect()
}

impl Waiting {
    fn of<'a>(lives: impl Iterator<Item = &'a Life>) -> Self {
        let mut waits: Vec<Millis> =
            lives.filter_map(|life| Some(life.first_start? - life.arrives)).collect();
        waits.sort_unstable();
        let Some(longest) = waits.last() else { return Self::default() };
        let seconds = |wait: Millis| float(i128::from(wait)) / 1000.0;
        let rank = |per_cent: usize| seconds(waits[(waits.len() * per_cent).div_ceil(100).max(1) - 1]);
        let sum: i128 = waits.iter().map(|wait| i128::from(*wait)).sum();
        Self {
            mean: float(sum) / 1000.0 / count(waits.len()),
            p50: rank(50),
            p99: rank(99),
            max: seconds(*longest),
        }
    }
}

fn accounts(lives: &[Life]) -> Vec<AccountOutcome> {
    let mut by_name: BTreeMap<&str, Vec<&Life>> = BTreeMap::new();
    for life in lives {
        by_name.entry(&life.account).or_default().push(life);
    }
    let all: i128 = lives.iter().map(|life| life.used).sum();
    let outcome = |(name, lives): (&str, Vec<&Life>)| {
        let used: i128 = lives.iter().map(|life| life.used).sum();
        AccountOutcome {
            name: name.to_owned(),
            pods: lives.len(),
            started: lives.iter().filter(|life| life.first_start.is_some()).count(),
            card_hours: float(used) / 1000.0 / 3_600_000.0,
            share_percent: percent(float(used), float(all)),
            waiting: Waiting::of(lives.iter().copied()),
        }
    };
    by_name.into_iter().map(outcome).collect()
}

/// Jain's index of the parts that accounts got of what they asked for until the end.
fn fairness(trace: &Trace, lives: &[Life], end: Millis) -> f64 {
    let mut by_account: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (pod, life) in trace.pods.iter().zip(lives) {
        let longest = (end - pod.arrives).max(0);
        let asked = i128::from(pod.runs.unwrap_or(longest).min(longest)) * i128::from(pod.cards());
        let entry = by_account.entry(&pod.account).or_default();
        entry.0 += float(life.used.min(asked));
        entry.1 += float(asked);
    }
    let parts: Vec<f64> =
        by_account.values().filter(|(_, asked)| *asked > 0.0).map(|(got, asked)| got / asked).collect();
    let (sum, squares) =
        parts.iter().fold((0.0, 0.0), |(sum, squares), part| (sum + part, squares + part * part));
    if squares > 0.0 { sum * sum / (count(parts.len()) * squares) } else { 1.0 }
}

/// The curve, with as many points as a chart can show.
fn curve(samples: &[Sample], capacity: f64) -> Vec<Point> {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return Vec::new() };
    let length = last.at - first.at;
    let points = i64::try_from(POINTS).unwrap_or(1);
    let mut all = Vec::new();
    let mut at = 0;
    for point in 1..=points {
        let from = first.at + length * (point - 1) / points;
        let to = first.at + length * point / points;
        if to == from {
            continue;
        }
        let mut used: i128 = 0;
        let mut clock = from;
        while at + 1 < samples.len() && samples[at + 1].at <= to {
            used += i128::from(samples[at].held) * i128::from(samples[at + 1].at.max(clock) - clock);
            clock = samples[at + 1].at.max(clock);
            at += 1;
        }
        used += i128::from(samples[at].held) * i128::from(to - clock);
        all.push(Point {
            at: float(i128::from(to - first.at)) / 1000.0,
            allocation_percent: percent(float(used), capacity * float(i128::from(to - from))),
            waiting: samples[at].waiting,
        });
    }
    all
}
