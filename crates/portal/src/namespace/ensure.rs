//! Makes the namespace of a user as it shall be.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use k8s_openapi::{NamespaceResourceScope, api::core::v1::ResourceQuota};
use kube::{Api, Client};
use maar_controller::{Categorized as _, Category, Error, apply::Writer};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::objects::{Level, QUOTA, UserLimits, plan};
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

/// Makes namespaces, each once while the process runs; clones share that.
#[derive(Clone)]
pub(crate) struct Namespaces {
    client: Client,
    limits: UserLimits,
    profiles: Profiles,
    done: Arc<Mutex<BTreeSet<String>>>,
}

impl std::fmt::Debug for Namespaces {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Namespaces").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Namespaces {
    pub(crate) fn new(client: Client, limits: UserLimits, profiles: Profiles) -> Self {
        Self { client, limits, profiles, done: Arc::default() }
    }

    /// Makes the namespace of `person` so, with everything in it. Safe to call at once from anywhere.
    pub(crate) async fn ensure(&self, person: &Person) -> Result<(), EnsureError> {
        if self.done.lock().contains(&person.namespace) {
            return Ok(());
        }
        let mut made = self.make(person).await;
        for _ in 0..ATTEMPTS {
            // Two of the same user at the same time: the other was first.
            if !made.as_ref().is_err_and(|error| error.category() == Category::Conflict) {
                break;
            }
            made = self.make(person).await;
        }
        made.map_err(|source| EnsureError { user: person.name.clone(), source })?;
        self.done.lock().insert(person.namespace.clone());
        Ok(())
    }

    async fn make(&self, person: &Person) -> Result<(), Error> {
        let level = if self.profiles.any_for(person) { Level::Privileged } else { Level::Baseline };
        let made = plan(&person.namespace, (&person.name, &person.id), &self.limits, level);
        WRITER.apply(&Api::all(self.client.clone()), &made.namespace).await?;
        // Walls before limits: work may start as soon as the limits are there, and not before.
        WRITER.apply(&self.api(person), &made.wall).await?;
        WRITER.apply(&self.api(person), &made.account).await?;
        WRITER.apply(&self.api(person), &made.range).await?;
        WRITER.apply(&self.api(person), &made.quota).await?;
        self.counted(person).await
    }

    /// Waits until the quota was counted once: before that, Kubernetes refuses whatever it limits.
    async fn counted(&self, person: &Person) -> Result<(), Error> {
        let api: Api<ResourceQuota> = self.api(person);
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let quota = api.get(QUOTA).await;
            let quota =
                quota.map_err(|source| Error::in_step(format!("read ResourceQuota {QUOTA}"), source))?;
            if quota.status.is_some_and(|status| status.hard.is_some() && status.used.is_some()) {
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
