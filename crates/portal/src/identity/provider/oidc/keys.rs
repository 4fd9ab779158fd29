//! The public keys of a provider, kept, and asked for again when a token names one that is not among them.

use std::{sync::Arc, time::Duration};

use jsonwebtoken::jwk::JwkSet;
use tokio::{sync::Mutex, time::Instant};

/// Tokens with unknown keys are cheap to make; the provider is asked no more often than this.
const PAUSE: Duration = Duration::from_mins(1);
/// Keys that were taken back are believed no longer than this.
const KEPT: Duration = Duration::from_hours(1);

/// The keys of a provider.
#[derive(Default)]
pub(super) struct Keys(Mutex<Option<(Instant, Arc<JwkSet>)>>);

impl Keys {
    /// The keys as far as they are known; `ask` asks the provider.
    pub(super) async fn known<E>(
        &self,
        ask: impl Future<Output = Result<JwkSet, E>>,
    ) -> Result<Arc<JwkSet>, E> {
        self.read(KEPT, ask).await
    }

    /// The keys as they are now, or were a minute ago.
    pub(super) async fn newer<E>(
        &self,
        ask: impl Future<Output = Result<JwkSet, E>>,
    ) -> Result<Arc<JwkSet>, E> {
        self.read(PAUSE, ask).await
    }

    async fn read<E>(
        &self,
        age: Duration,
        ask: impl Future<Output = Result<JwkSet, E>>,
    ) -> Result<Arc<JwkSet>, E> {
        // Held while the provider is asked, so that many at once ask once.
        let mut kept = self.0.lock().await;
        if let Some((read, keys)) = &*kept
            && read.elapsed() < age
        {
            return Ok(Arc::clone(keys));
        }
        let keys = Arc::new(ask.await?);
        *kept = Some((Instant::now(), Arc::clone(&keys)));
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_provider_is_asked_once_an_hour_and_once_a_minute_for_keys_that_are_unknown() {
        let (keys, asked) = (Keys::default(), AtomicUsize::new(0));
        let ask = async || {
            asked.fetch_add(1, Ordering::Relaxed);
            Ok::<_, ()>(JwkSet { keys: Vec::new() })
        };
        let count = || asked.load(Ordering::Relaxed);
        keys.known(ask()).await.unwrap();
        for _ in 0..5 {
            keys.newer(ask()).await.unwrap();
        }
        assert_eq!(count(), 1, "what was just read is new");
        tokio::time::advance(PAUSE).await;
        keys.known(ask()).await.unwrap();
        assert_eq!(count(), 1);
        keys.newer(ask()).await.unwrap();
        keys.newer(ask()).await.unwrap();
        assert_eq!(count(), 2);
        tokio::time::advance(KEPT).await;
        keys.known(ask()).await.unwrap();
        assert_eq!(count(), 3);
        tokio::time::advance(PAUSE).await;
        assert!(keys.newer(async { Err(()) }).await.is_err());
        keys.newer(ask()).await.unwrap();
        assert_eq!(count(), 4, "a failure is not kept");
    }
}
