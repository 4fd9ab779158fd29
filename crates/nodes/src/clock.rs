//! What time it is for the nodes, and waiting until a time of theirs.

use std::{fmt, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// The time of the cluster that the nodes join. Cheap to clone.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// A clock that asks `now`; for a real cluster the machine's, for an embedded one that cluster's.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// A clock that starts at `epoch` and advances with tokio's, which tests pause. Must be called in a runtime.
    pub fn tokio(epoch: Timestamp) -> Self {
        let start = Instant::now();
        Self::new(move || {
            let elapsed = SignedDuration::try_from(start.elapsed()).unwrap_or(SignedDuration::MAX);
            epoch.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
        })
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }

    /// Sleeps until the clock shows `time`; forever without one.
    pub(crate) async fn sleep_until(&self, time: Option<Timestamp>) {
        let Some(time) = time else { return std::future::pending().await };
        loop {
            let left = Duration::try_from(time.duration_since(self.now())).unwrap_or_default();
            if left.is_zero() {
                return;
            }
            // A wall clock may be set while we sleep; looking again now and then is cheap.
            tokio::time::sleep(left.min(Duration::from_mins(10))).await;
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Clock").field(&self.now()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn sleeping_follows_the_clock() {
        let clock = Clock::tokio(Timestamp::UNIX_EPOCH);
        let noon = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(12);
        clock.sleep_until(Some(noon)).await;
        assert!(clock.now() >= noon);
        clock.sleep_until(Some(Timestamp::UNIX_EPOCH)).await;
    }
}
