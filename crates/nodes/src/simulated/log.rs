//! The log of a simulated container, computed instead of stored.
//!
//! `sim.maar.io/log` holds the text. With `{{n}}` in it, or with `sim.maar.io/log-interval`, the text is repeated once
//! per interval (a second unless given), and `{{n}}` counts. Every line has its place and time by its number alone, so
//! the last ten lines of a container that has run for a year cost ten lines.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use maar_streams::LogOptions;

use crate::{console::Run, duration, lifecycle::after};

const COUNTER: &str = "{{n}}";
/// Nobody reads more, and it keeps a never-ending log from being sent from its beginning.
const MOST_LINES: u64 = 1_000_000;

/// What one container of one Pod writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Script {
    lines: Vec<String>,
    interval: Option<Duration>,
}

impl Script {
    /// Reads the annotations' values; `fallback` is the text of a container that nothing is said about.
    pub(crate) fn new(text: Option<&str>, interval: Option<&str>, fallback: String) -> Self {
        let lines: Vec<String> =
            text.map_or_else(|| vec![fallback], |text| text.lines().map(str::to_owned).collect());
        let counts = lines.iter().any(|line| line.contains(COUNTER));
        let given = interval.and_then(duration::parse).filter(|interval| !interval.is_zero());
        let interval = given.or(counts.then_some(Duration::from_secs(1)));
        Self { lines, interval }
    }

    /// Time and text of line `number` of a run that began at `since`.
    fn line(&self, number: u64, since: Timestamp) -> Option<(Timestamp, String)> {
        let length = u64::try_from(self.lines.len()).ok().filter(|length| *length > 0)?;
        let (round, position) = (number / length, usize::try_from(number % length).ok()?);
        let time = match self.interval {
            Some(interval) => since.checked_add(times(interval, round)?).ok()?,
            None if round == 0 => since,
            None => return None,
        };
        Some((time, self.lines[position].replace(COUNTER, &(round + 1).to_string())))
    }

    /// How many lines there are by `now`.
    fn count(&self, run: Run, now: Timestamp) -> u64 {
        let length = u64::try_from(self.lines.len()).unwrap_or(0);
        let end = run.until.unwrap_or(now).min(now);
        if end < run.since {
            return 0;
        }
        match self.interval {
            None => length,
            Some(interval) => {
                let rounds = end.duration_since(run.since).as_millis()
                    / i128::try_from(interval.as_millis().max(1)).unwrap_or(1);
                let rounds = u64::try_from(rounds).unwrap_or(0) + 1;
                length.saturating_mul(rounds)
            }
        }
    }

    /// Lines `from` onwards up to `now`, ready to be sent.
    fn text(&self, from: u64, run: Run, now: Timestamp, timestamps: bool) -> (String, u64) {
        let count = self.count(run, now);
        let mut text = String::new();
        for (time, line) in (from..count).filter_map(|number| self.line(number, run.since)) {
            if timestamps {
                text.push_str(&time.strftime("%Y-%m-%dT%H:%M:%S.%9fZ ").to_string());
            }
            text.push_str(&line);
            text.push('\n');
        }
        (text, count)
    }

    /// When the next line comes after `count` lines, if one does.
    fn next(&self, count: u64, run: Run) -> Option<Timestamp> {
        self.line(count, run.since).map(|(time, _)| time)
    }
}

fn times(interval: Duration, count: u64) -> Option<SignedDuration> {
    let millis = interval.as_millis().checked_mul(u128::from(count))?;
    Some(SignedDuration::from_millis(i64::try_from(millis).ok()?))
}

/// A reader's place in a log.
#[derive(Debug)]
pub(crate) struct Reader {
    script: Script,
    next: u64,
    timestamps: bool,
    /// Bytes that may still be sent.
    left: u64,
}

impl Reader {
    /// Begins where the options say.
    pub(crate) fn new(script: Script, options: &LogOptions, run: Run, now: Timestamp) -> Self {
        let count = script.count(run, now);
        let since = options.since_time.or_else(|| {
            let seconds = i64::try_from(options.since_seconds?).ok()?;
            now.checked_sub(SignedDuration::from_secs(seconds)).ok()
        });
        let by_time = since.map_or(0, |since| first_at(&script, run, count, since));
        let by_tail = options.tail_lines.map_or(0, |lines| count.saturating_sub(lines));
        let next = by_time.max(by_tail).max(count.saturating_sub(MOST_LINES));
        Self { script, next, timestamps: options.timestamps, left: options.limit_bytes.unwrap_or(u64::MAX) }
    }

    /// What was written up to `now` and not yet read.
    pub(crate) fn read(&mut self, run: Run, now: Timestamp) -> String {
        let (mut text, count) = self.script.text(self.next, run, now, self.timestamps);
        self.next = self.next.max(count);
        if u64::try_from(text.len()).is_ok_and(|length| length > self.left) {
            let mut end = usize::try_from(self.left).unwrap_or(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            self.left = 0;
        } else {
            self.left -= u64::try_from(text.len()).unwrap_or(0);
        }
        text
    }

    /// When there will be more, if that is known and allowed.
    pub(crate) fn wake(&self, run: Run) -> Option<Timestamp> {
        self.script.next(self.next, run)
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.left == 0
    }
}

/// Number of the first line at or after `since`; times grow with the numbers.
fn first_at(script: &Script, run: Run, count: u64, since: Timestamp) -> u64 {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        let early = script.line(middle, run.since).is_some_and(|(time, _)| time < since);
        if early { low = middle + 1 } else { high = middle }
    }
    low
}

/// Polling interval for the end of a container that writes nothing more.
pub(crate) fn patience(now: Timestamp) -> Timestamp {
    after(now, Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
    }

    fn run(until: Option<i64>) -> Run {
        Run { number: 0, since: at(100), until: until.map(at) }
    }

    fn read(script: &Script, options: &LogOptions, run: Run, now: i64) -> String {
        Reader::new(script.clone(), options, run, at(now)).read(run, at(now))
    }

    #[test]
    fn plain_text_is_written_once_at_the_start() {
        let script = Script::new(Some("one\ntwo"), None, String::new());
        let all = LogOptions::default();
        assert_eq!(read(&script, &all, run(None), 99), "");
        assert_eq!(read(&script, &all, run(None), 100_000), "one\ntwo\n");
        let silent = Script::new(None, None, "nothing is said about it".into());
        assert_eq!(read(&silent, &all, run(None), 100), "nothing is said about it\n");
        assert_eq!(read(&Script::new(Some(""), None, String::new()), &all, run(None), 200), "");
    }

    #[test]
    fn a_counter_repeats_the_text_once_per_interval() {
        let script = Script::new(Some("step {{n}}"), Some("10s"), String::new());
        let all = LogOptions::default();
        assert_eq!(read(&script, &all, run(None), 125), "step 1\nstep 2\nstep 3\n");
        assert_eq!(read(&script, &all, run(Some(115)), 500), "step 1\nstep 2\n");
        let tail = LogOptions { tail_lines: Some(2), ..LogOptions::default() };
        let year = 100 + 365 * 86_400;
        assert_eq!(read(&script, &tail, run(None), year), "step 3153600\nstep 3153601\n");
        let since = LogOptions { since_seconds: Some(10), ..LogOptions::default() };
        assert_eq!(read(&script, &since, run(None), 125), "step 3\n");
        let timed = LogOptions { timestamps: true, tail_lines: Some(1), ..LogOptions::default() };
        assert_eq!(read(&script, &timed, run(None), 110), "1970-01-01T00:01:50.000000000Z step 2\n");
    }

    #[test]
    fn bytes_are_limited_without_cutting_a_letter() {
        let script = Script::new(Some("水水"), None, String::new());
        let limit = |bytes| LogOptions { limit_bytes: Some(bytes), ..LogOptions::default() };
        assert_eq!(read(&script, &limit(4), run(None), 100), "水");
        assert_eq!(read(&script, &limit(100), run(None), 100), "水水\n");
    }

    #[test]
    fn a_follower_gets_each_line_once() {
        let script = Script::new(Some("a {{n}}\nb {{n}}"), None, String::new());
        let mut reader = Reader::new(script, &LogOptions::default(), run(None), at(100));
        assert_eq!(reader.read(run(None), at(100)), "a 1\nb 1\n");
        assert_eq!(reader.read(run(None), at(100)), "");
        assert_eq!(reader.wake(run(None)), Some(at(101)));
        assert_eq!(reader.read(run(None), at(102)), "a 2\nb 2\na 3\nb 3\n");
    }
}
