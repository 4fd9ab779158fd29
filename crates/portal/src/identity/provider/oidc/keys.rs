//! The public keys of a provider, kept, and asked for again when a token names one that is not among them.

use std::{sync::Arc, time::Duration};

use http::Uri;
use jsonwebtoken::jwk::JwkSet;
use tokio::{sync::Mutex, time::Instant};

use crate::identity::provider::fetch::{FetchError, Fetcher};

/// Tokens with unknown keys are cheap to make; the provider is asked no more often than this.
const PAUSE: Duration = Duration::from_secs(60);
/// Keys that were taken back are believed no longer than this.
const KEPT: Duration = Duration::from_secs(3600);

/// The keys of a provider.
#[derive(Default)]
pub(super) struct Keys(Mutex<Option<(Instant, Arc<JwkSet>)>>);

impl Keys {
    /// The keys as far as they are known.
    pub(super) async fn known(&self, fetcher: &Fetcher, uri: &Uri) -> Result<Arc<JwkSet>, FetchError> {
        self.read(fetcher, uri, KEPT).await
    }

    /// The keys as they are now, or were a minute ago.
    pub(super) async fn newer(&self, fetcher: &Fetcher, uri: &Uri) -> Result<Arc<JwkSet>, FetchError> {
        self.read(fetcher, uri, PAUSE).await
    }

    async fn read(&self, fetcher: &Fetcher, uri: &Uri, age: Duration) -> Result<Arc<JwkSet>, FetchError> {
        let mut kept = self.0.lock().await;
        if let Some((read, keys)) = &*kept
            && read.elapsed() < age
        {
            return Ok(Arc::clone(keys));
        }
        let keys: Arc<JwkSet> = Arc::new(fetcher.get(uri, None).await?);
        *kept = Some((Instant::now(), Arc::clone(&keys)));
        Ok(keys)
    }
}
