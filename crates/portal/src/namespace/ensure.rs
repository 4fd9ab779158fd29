//! Makes the namespace of a user as it shall be.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::{
    NamespaceResourceScope, api::core::v1::ResourceQuota,
    apimachinery::pkg::api::resource::Quantity as TextQuantity,
};
use kube::{Api, Client};
use maar_api::Quantity;
use maar_controller::{Categorized as _, Category, Error, apply::Writer};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::{
    limits::{SpecialLimits, UserLimits},
    objects::{Level, QUOTA, plan},
};
use crate::{access::Person, profile::Profiles};

const WRITER: Writer = Writer::new("maar-portal");
/// How often it is tried again when somebody else does the same.
const ATTEMPTS: usize = 3;
/// How long the cluster may take to count a new quota, and how often it is looked.
const PATIENCE: Duration = Duration::from_secs(5);
const PACE: Duration = Duration::from_millis(25);

/// The namespace could not be made.
#[derive(Debug, thiserror::Error)]
#[error("make the namespace of {user}")]
pub(crate) struct EnsureError {
    user: String,
    source: Error,
}

/// Makes namespaces, each once for as long as it shall be the same; clones share that.
#[derive(Clone)]
pub(crate) struct Namespaces {
    client: Client,
    limits: UserLimits,
    special: SpecialLimits,
    profiles: Profiles,
    /// By namespace, as it was made.
    done: Arc<Mutex<BTreeMap<String, Wanted>>>,
}

/// What may differ between two namespaces, and with the accounts of a user from one day to another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wanted {
    limits: UserLimits,
    level: Level,
}

impl std::fmt::Debug for Namespaces {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Namespaces").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Namespaces {
    pub(crate) fn new(
        client: Client,
        (limits, special): (UserLimits, SpecialLimits),
        profiles: Profiles,
    ) -> Self {
        Self { client, limits, special, profiles, done: Arc::default() }
    }

    /// What `person` may have.
    pub(crate) fn limits_of(&self, person: &Person) -> UserLimits {
        self.special.of(person, &self.limits)
    }

    fn wanted(&self, person: &Person) -> Wanted {
        let level = if self.profiles.any_for(person) { Level::Privileged } else { Level::Baseline };
        Wanted { limits: self.limits_of(person), level }
    }

    /// Makes the namespace of `person` so, with everything in it. Safe to call at once from anywhere.
    pub(crate) async fn ensure(&self, person: &Person) -> Result<(), EnsureError> {
        let wanted = self.wanted(person);
        if self.done.lock().get(&person.namespace) == Some(&wanted) {
            return Ok(());
        }
        let mut made = self.make(person, &wanted).await;
        for _ in 0..ATTEMPTS {
            // Two of the same user at the same time: the other was first.
            if !made.as_ref().is_err_and(|error| error.category() == Category::Conflict) {
                break;
            }
            made = self.make(person, &wanted).await;
        }
        made.map_err(|source| EnsureError { user: person.name.clone(), source })?;
        self.done.lock().insert(person.namespace.clone(), wanted);
        Ok(())
    }

    async fn make(&self, person: &Person, wanted: &Wanted) -> Result<(), Error> {
        let made = plan(&person.namespace, (&person.name, &person.id), &wanted.limits, wanted.level);
        WRITER.apply(&Api::all(self.client.clone()), &made.namespace).await?;
        // Walls before limits: work may start as soon as the limits are there, and not before.
        WRITER.apply(&self.api(person), &made.wall).await?;
        WRITER.apply(&self.api(person), &made.account).await?;
        WRITER.apply(&self.api(person), &made.range).await?;
        WRITER.apply(&self.api(person), &made.quota).await?;
        self.counted(person).await
    }

    /// Waits until the quota was counted as it is now: before it was counted at all, Kubernetes refuses whatever it limits,
    /// and after a change it still holds to what it was.
    async fn counted(&self, person: &Person) -> Result<(), Error> {
        let api: Api<ResourceQuota> = self.api(person);
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let quota = api.get(QUOTA).await;
            let quota =
                quota.map_err(|source| Error::in_step(format!("read ResourceQuota {QUOTA}"), source))?;
            if is_counted(&quota) {
                return Ok(());
            }
            sleep(PACE).await;
        }
        // The answer of the cluster will say it better.
        Ok(())
    }

    /// Somebody may have taken the namespace away: it is made again next time.
    pub(crate) fn forget(&self, namespace: &str) {
        self.done.lock().remove(namespace);
    }

    fn api<K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>>(
        &self,
        person: &Person,
    ) -> Api<K> {
        Api::namespaced(self.client.clone(), &person.namespace)
    }
}

/// Whether the cluster holds to what the quota says, and knows what is used of it.
fn is_counted(quota: &ResourceQuota) -> bool {
    let read =
        |amounts: Option<&BTreeMap<String, TextQuantity>>| -> Option<BTreeMap<String, Option<Quantity>>> {
            Some(
                amounts?.iter().map(|(name, TextQuantity(text))| (name.clone(), text.parse().ok())).collect(),
            )
        };
    let said = quota.spec.as_ref().and_then(|spec| read(spec.hard.as_ref()));
    let held = quota.status.as_ref().and_then(|status| read(status.hard.as_ref()));
    let used = quota.status.as_ref().is_some_and(|status| status.used.is_some());
    used && held.is_some() && said == held
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_quota_is_counted_when_the_cluster_holds_to_it() {
        let counted = |status: serde_json::Value| {
            let quota = json!({ "spec": { "hard": { "cpu": "1", "pods": "5" } }, "status": status });
            is_counted(&serde_json::from_value(quota).unwrap())
        };
        assert!(!counted(json!({})));
        assert!(!counted(json!({ "hard": { "cpu": "1000m", "pods": "5" } })), "nothing was counted");
        assert!(
            !counted(json!({ "hard": { "cpu": "2", "pods": "5" }, "used": {} })),
            "it holds to what it was"
        );
        assert!(counted(json!({ "hard": { "cpu": "1000m", "pods": "5" }, "used": { "pods": "0" } })));
    }
}
