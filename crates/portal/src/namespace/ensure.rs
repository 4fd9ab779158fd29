//! Makes the namespace of a user as it shall be.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use k8s_openapi::{
    NamespaceResourceScope, api::core::v1::ResourceQuota,
    apimachinery::pkg::api::resource::Quantity as TextQuantity,
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, Patch, PatchParams, PostParams},
    core::Status,
};
use maar_api::{
    Quantity,
    v1alpha1::{AIJob, Workspace},
};
use maar_controller::{Categorized as _, Category, Error, apply::Writer};
use parking_lot::Mutex;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{
    limits::{SpecialLimits, UserLimits},
    objects::{COUNT_JOBS, COUNT_WORKSPACES, Level, QUOTA, plan},
};
use crate::{
    access::Person,
    error::{ApiError, is_contended, is_uncounted},
    profile::Profiles,
};

const WRITER: Writer = Writer::new("maar-portal");
/// How often it is tried again when somebody else does the same.
const ATTEMPTS: usize = 3;
/// How long the cluster may take to count a new quota, and how often it is looked at first and at last.
const PATIENCE: Duration = Duration::from_secs(20);
const PACE: Duration = Duration::from_millis(25);
const SLOWEST: Duration = Duration::from_secs(1);

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

impl fmt::Debug for Namespaces {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
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

    /// Makes `object` in the namespace of `person`, which is made before where it is missing.
    pub(crate) async fn create<K>(&self, person: &Person, what: &str, object: &K) -> Result<K, ApiError>
    where
        K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + fmt::Debug + DeserializeOwned + Serialize,
    {
        let mut pace = Pace::until(Instant::now() + PATIENCE);
        self.ready(person, &mut pace).await.map_err(|error| ApiError::unavailable("the cluster", error))?;
        loop {
            let refused = match self.api(person).create(&PostParams::default(), object).await {
                Ok(made) => return Ok(made),
                Err(error) => error,
            };
            // What refuses reads the quota from a cache of its own, which may be behind what we have read.
            let busy = |status: &Status| is_uncounted(status) || is_contended(status);
            let later = matches!(&refused, kube::Error::Api(status) if busy(status));
            if !(later && pace.wait().await) {
                // Somebody may have taken the namespace away, or changed its quota.
                self.forget(&person.namespace);
                return Err(ApiError::of_cluster(what, refused));
            }
        }
    }

    /// Makes the namespace of `person` so, with everything in it. Safe to call at once from anywhere.
    pub(crate) async fn ensure(&self, person: &Person) -> Result<(), EnsureError> {
        self.ready(person, &mut Pace::until(Instant::now() + PATIENCE)).await
    }

    async fn ready(&self, person: &Person, pace: &mut Pace) -> Result<(), EnsureError> {
        let wanted = self.wanted(person);
        if self.done.lock().get(&person.namespace) == Some(&wanted) {
            return Ok(());
        }
        let mut made = self.make(person, &wanted, pace).await;
        for _ in 0..ATTEMPTS {
            // Two of the same user at the same time: the other was first.
            if !made.as_ref().is_err_and(|error| error.category() == Category::Conflict) {
                break;
            }
            made = self.make(person, &wanted, pace).await;
        }
        made.map_err(|source| EnsureError { user: person.name.clone(), source })?;
        self.done.lock().insert(person.namespace.clone(), wanted);
        Ok(())
    }

    async fn make(&self, person: &Person, wanted: &Wanted, pace: &mut Pace) -> Result<(), Error> {
        let made = plan(&person.namespace, (&person.name, &person.id), &wanted.limits, wanted.level);
        WRITER.apply(&Api::all(self.client.clone()), &made.namespace).await?;
        // Walls before limits: work may start as soon as the limits are there, and not before.
        WRITER.apply(&self.api(person), &made.wall).await?;
        WRITER.apply(&self.api(person), &made.account).await?;
        WRITER.apply(&self.api(person), &made.range).await?;
        WRITER.apply(&self.api(person), &made.quota).await?;
        self.counted(person, pace).await
    }

    /// Waits until the quota was counted as it is now: before it was counted at all, Kubernetes refuses whatever it limits,
    /// and after a change it still holds to what it was.
    async fn counted(&self, person: &Person, pace: &mut Pace) -> Result<(), Error> {
        let api: Api<ResourceQuota> = self.api(person);
        loop {
            let quota = api.get(QUOTA).await;
            let quota =
                quota.map_err(|source| Error::in_step(format!("read ResourceQuota {QUOTA}"), source))?;
            let kinds = uncounted_kinds(&quota);
            if !kinds.is_empty() {
                self.count(&quota, &kinds).await?;
            }
            // In the end the cluster decides: something may be limited here that it never counts.
            if is_counted(&quota) || !pace.wait().await {
                return Ok(());
            }
        }
    }

    /// Counts in the place of a cluster that does not know our kinds yet. Its quota controller looks for new kinds every
    /// half minute, and for quotas that it has left out every five. Until something is counted the cluster lets none of it
    /// in, so that what is there now is all there is; and who else counts first is not overwritten.
    async fn count(&self, quota: &ResourceQuota, kinds: &[&str]) -> Result<(), Error> {
        let namespace = quota.namespace().unwrap_or_default();
        let mut used = BTreeMap::new();
        for kind in kinds {
            let count = match *kind {
                COUNT_WORKSPACES => self.count_of::<Workspace>(&namespace).await?,
                _ => self.count_of::<AIJob>(&namespace).await?,
            };
            used.insert(*kind, count.to_string());
        }
        let metadata = json!({ "resourceVersion": quota.resource_version() });
        let patch = Patch::Merge(json!({ "metadata": metadata, "status": { "used": used } }));
        let api: Api<ResourceQuota> = Api::namespaced(self.client.clone(), &namespace);
        match api.patch_status(QUOTA, &PatchParams::default(), &patch).await {
            // Somebody else was first, or the portal has an older manifest's rights: then it waits as long as it takes.
            Err(kube::Error::Api(status)) if [403, 409].contains(&status.code) => Ok(()),
            Err(source) => Err(Error::in_step(format!("count for ResourceQuota {QUOTA}"), source)),
            Ok(_) => Ok(()),
        }
    }

    async fn count_of<K>(&self, namespace: &str) -> Result<usize, Error>
    where
        K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + fmt::Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        let found = api.list_metadata(&ListParams::default()).await;
        let found = found.map_err(|source| Error::in_step(format!("list {}", K::plural(&())), source))?;
        Ok(found.items.len())
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

/// Waits longer every time, until an end.
struct Pace {
    next: Duration,
    end: Instant,
}

impl Pace {
    const fn until(end: Instant) -> Self {
        Self { next: PACE, end }
    }

    /// Waits; false when it has ended.
    async fn wait(&mut self) -> bool {
        if Instant::now() + self.next > self.end {
            return false;
        }
        sleep(self.next).await;
        self.next = (self.next * 2).min(SLOWEST);
        true
    }
}

/// Kinds of ours that the quota limits and the cluster has not counted, although it holds to the quota and has counted
/// everything else: it does not know them yet.
fn uncounted_kinds(quota: &ResourceQuota) -> Vec<&'static str> {
    let status = quota.status.clone().unwrap_or_default();
    let (hard, used) = (status.hard.unwrap_or_default(), status.used.unwrap_or_default());
    let missing: Vec<&String> = hard.keys().filter(|name| !used.contains_key(*name)).collect();
    let ours = |name: &&String| [COUNT_WORKSPACES, COUNT_JOBS].into_iter().find(|ours| ours == name);
    if missing.iter().any(|name| ours(name).is_none()) {
        return Vec::new();
    }
    missing.iter().filter_map(ours).collect()
}

/// Whether the cluster holds to what the quota says, and knows what is used of everything in it: kinds that are new to it
/// come last.
fn is_counted(quota: &ResourceQuota) -> bool {
    type Amounts = BTreeMap<String, TextQuantity>;
    let read = |amounts: &Amounts| -> BTreeMap<String, Option<Quantity>> {
        amounts.iter().map(|(name, TextQuantity(text))| (name.clone(), text.parse().ok())).collect()
    };
    let said = quota.spec.as_ref().and_then(|spec| spec.hard.as_ref());
    let Some(said) = said.map(read) else { return false };
    let Some(status) = &quota.status else { return false };
    let used = |name: &String| status.used.as_ref().is_some_and(|used| used.contains_key(name));
    status.hard.as_ref().map(read).as_ref() == Some(&said) && said.keys().all(used)
}

#[cfg(test)]
mod tests;
