//! How far a copy is, on a terminal.

use std::{
    io::{IsTerminal as _, Write as _},
    time::Duration,
};

use tokio::time::Instant;

/// Between two lines.
const PACE: Duration = Duration::from_millis(200);
/// How wide the bar is.
const WIDTH: u64 = 24;

/// How far it is.
#[derive(Debug)]
pub(super) struct Progress {
    shown: bool,
    total: Option<u64>,
    done: u64,
    begin: Instant,
    last: Instant,
}

impl Progress {
    /// Shown if somebody looks.
    pub(super) fn new(quiet: bool) -> Self {
        let now = Instant::now();
        let shown = !quiet && std::io::stderr().is_terminal();
        Self { shown, total: None, done: 0, begin: now, last: now }
    }

    /// Of so many bytes.
    pub(super) fn of(self, total: u64) -> Self {
        Self { total: Some(total), ..self }
    }

    pub(super) fn add(&mut self, bytes: u64) {
        self.done += bytes;
        if self.shown && self.last.elapsed() >= PACE {
            self.last = Instant::now();
            say(&format!("\r\x1b[K{}", line(self.done, self.total, self.begin.elapsed())));
        }
    }

    /// The last line.
    pub(super) fn end(&self) {
        if self.shown {
            say(&format!("\r\x1b[K{}\n", line(self.done, self.total, self.begin.elapsed())));
        }
    }
}

/// Beside what programs read; a pipe that nobody reads is no reason to stop.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn line(done: u64, total: Option<u64>, took: Duration) -> String {
    let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).max(1);
    let rate = format!("{}/s", size(done.saturating_mul(1000) / milliseconds));
    match total.filter(|total| *total > 0) {
        None => format!("{}  {rate}", size(done)),
        Some(total) => {
            let full = (done.min(total).saturating_mul(WIDTH) / total).min(WIDTH);
            let bar: String = (0..WIDTH).map(|at| if at < full { '#' } else { '.' }).collect();
            let percent = done.min(total).saturating_mul(100) / total;
            format!("[{bar}] {percent:>3} %  {} of {}  {rate}", size(done.min(total)), size(total))
        }
    }
}

/// Bytes for people.
fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let step = (0..units.len() - 1).take_while(|step| bytes >> (10 * step) >= 1024).count();
    if step == 0 {
        return format!("{bytes} B");
    }
    let tenths = (bytes >> (10 * (step - 1))).saturating_mul(10) / 1024;
    format!("{}.{} {}", tenths / 10, tenths % 10, units[step])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_how_far_it_is() {
        let second = Duration::from_secs(1);
        insta::assert_snapshot!(line(512 << 10, Some(1 << 20), second), @"[############............]  50 %  512.0 KiB of 1.0 MiB  512.0 KiB/s");
        insta::assert_snapshot!(line(10, None, second), @"10 B  10 B/s");
        assert_eq!(
            (size(1023), size(1536), size(5 << 30)),
            ("1023 B".into(), "1.5 KiB".into(), "5.0 GiB".into())
        );
        assert!(line(0, Some(0), Duration::ZERO).starts_with("0 B"), "an empty file divides nothing");
    }
}
