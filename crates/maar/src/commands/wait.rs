//! Waiting for what was asked for: how long, and telling on standard error how it goes.

use std::{cell::RefCell, io::Write as _, time::Duration};

use super::failure::Failure;

/// The flags for it.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct WaitArgs {
    /// Wait until it has happened, telling on standard error how it goes and why
    #[arg(long)]
    pub(crate) wait: bool,
    /// How long to wait at most, such as 90s, 10m or 1h30m; then exit code 6, and what was begun goes on. Without it there is
    /// no limit
    #[arg(long, value_name = "TIME", requires = "wait", value_parser = seconds)]
    pub(crate) timeout: Option<i64>,
}

impl WaitArgs {
    /// Waits for `done`, which tells `news` how it goes, for as long as was said.
    pub(crate) async fn within<T>(
        &self,
        news: &News,
        done: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<T> {
        let Some(seconds) = self.timeout else { return done.await };
        let longest = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        match tokio::time::timeout(longest, done).await {
            Ok(done) => done,
            Err(_) => Err(Failure::timed_out(late(seconds, &news.last.borrow())).into()),
        }
    }
}

fn late(seconds: i64, last: &str) -> String {
    let time = jiff::SignedDuration::from_secs(seconds);
    match last {
        "" => format!("waited for {time:#} in vain"),
        last => format!("waited for {time:#} in vain: {last}"),
    }
}

/// What somebody who waits is told: each thing once.
#[derive(Debug, Default)]
pub(crate) struct News {
    last: RefCell<String>,
}

impl News {
    /// Tells it, unless it was the last that was told.
    pub(crate) fn tell(&self, line: String) {
        if *self.last.borrow() != line {
            tell(&line);
            *self.last.borrow_mut() = line;
        }
    }
}

/// Tells somebody who waits how it goes, beside what programs read. A pipe that nobody reads is no reason to stop.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// What something is at the moment, and why.
pub(crate) fn stand(name: &str, phase: &str, why: Option<&str>) -> String {
    match why.filter(|why| !why.is_empty()) {
        Some(why) => format!("{name} is {phase}: {why}"),
        None => format!("{name} is {phase}"),
    }
}

/// `90m`, `4h`, `1h30m` or a number of seconds.
pub(crate) fn seconds(text: &str) -> Result<i64, String> {
    if let Ok(seconds) = text.parse::<i64>() {
        return if seconds > 0 { Ok(seconds) } else { Err("write a time above zero".to_owned()) };
    }
    let time: jiff::SignedDuration = text.parse().map_err(|_| "write a time such as 90m or 4h".to_owned())?;
    if time.as_secs() > 0 { Ok(time.as_secs()) } else { Err("write a time above zero".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!((seconds("90"), seconds("90s"), seconds("1h30m")), (Ok(90), Ok(90), Ok(5400)));
        for wrong in ["", "0", "-1", "0s", "10ms", "soon"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_stand_says_why_if_it_is_known() {
        assert_eq!(stand("desk", "Pending", Some("no card is free")), "desk is Pending: no card is free");
        assert_eq!(stand("desk", "Running", Some("")), "desk is Running");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_in_time_and_says_what_it_was_like() {
        let news = News::default();
        let begin = tokio::time::Instant::now();
        let wait = WaitArgs { wait: true, timeout: Some(5400) };
        let never = async {
            news.tell("desk is Pending: no card is free".to_owned());
            std::future::pending::<anyhow::Result<()>>().await
        };
        let late = wait.within(&news, never).await.unwrap_err();
        assert_eq!(late.to_string(), "waited for 1h 30m in vain: desk is Pending: no card is free");
        assert_eq!(begin.elapsed(), Duration::from_mins(90));
        assert_eq!(wait.within(&news, async { Ok(7) }).await.unwrap(), 7);
    }
}
