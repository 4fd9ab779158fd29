//! Waiting with a deadline, and saying what was waited for.

use kube::ResourceExt as _;
use serde_json::Value;
use tokio::time::Instant;

use super::arena::{Arena, Kind, panic_with};

impl Arena {
    /// Waits until an object is as wanted, and answers it. A scenario that waits in vain ends with what it waited for
    /// and the last object it saw.
    pub async fn wait<K: Kind>(&self, what: &str, name: &str, wanted: impl Fn(&K) -> bool) -> K {
        let look = async || {
            let found = self.api::<K>().get_opt(name).await.map_err(|error| error.to_string())?;
            match found {
                Some(object) if wanted(&object) => Ok(object),
                Some(object) => Err(shown(&object)),
                None => Err(format!("{} {name} is not there", K::kind(&()))),
            }
        };
        self.until(what, look).await
    }

    /// Waits until the objects that carry `app=NAME` are as wanted.
    pub async fn wait_all<K: Kind>(&self, what: &str, app: &str, wanted: impl Fn(&[K]) -> bool) -> Vec<K> {
        let look = async || {
            let mut found = self.list::<K>(app).await;
            found.sort_by_key(K::name_any);
            if wanted(&found) {
                Ok(found)
            } else {
                Err(found.iter().map(shown).collect::<Vec<_>>().join("\n"))
            }
        };
        self.until(what, look).await
    }

    /// Waits until an object is gone.
    pub async fn wait_gone<K: Kind>(&self, what: &str, name: &str) {
        let look = async || match self.api::<K>().get_opt(name).await {
            Ok(None) => Ok(()),
            Ok(Some(object)) => Err(shown(&object)),
            Err(error) => Err(error.to_string()),
        };
        self.until(what, look).await;
    }

    /// Waits until `look` finds something; what it says otherwise is shown when time is up.
    pub async fn until<T>(&self, what: &str, look: impl AsyncFn() -> Result<T, String>) -> T {
        let limit = Instant::now() + self.on.patience();
        loop {
            let last = match look().await {
                Ok(found) => return found,
                Err(last) => last,
            };
            if Instant::now() >= limit {
                panic_with(&format!("waited {:?} for {what}; last seen:\n{last}", self.on.patience()));
            }
            tokio::time::sleep(self.on.pace()).await;
        }
    }

    /// Looks for a while, and fails if `look` ever finds what must not be.
    pub async fn never(&self, what: &str, seconds: u64, look: impl AsyncFn() -> Option<String>) {
        let limit = Instant::now() + std::time::Duration::from_secs(seconds);
        while Instant::now() < limit {
            if let Some(seen) = look().await {
                panic_with(&format!("{what} must not happen, and did:\n{seen}"));
            }
            tokio::time::sleep(self.on.pace()).await;
        }
    }
}

/// An object for people: without the fields only machines read.
fn shown<K: Kind>(object: &K) -> String {
    let mut object = object.clone();
    object.managed_fields_mut().clear();
    let value = serde_json::to_value(&object).unwrap_or(Value::Null);
    serde_json::to_string_pretty(&value).unwrap_or_default()
}
