//! Keeps `status.used` of ResourceQuotas right: after deletions, edits of the quota, and Pods that ended.
//! What is created is charged by admission at once; this counts everything anew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ResourceQuota, ResourceQuotaStatus};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as TextQuantity;
use maar_quantities::Quantity;
use serde_json::Value;

use super::base::{self, Base};
use super::view::{PodView, until};
use super::{Again, Controller};
use crate::quota;
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};

/// How soon after each other a quota is counted anew.
const PACE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct ResourceQuotaController {
    base: Base,
    table: Arc<str>,
}

/// The resources whose objects can count for these names.
fn counted_resources(hard: &BTreeMap<String, TextQuantity>) -> BTreeSet<String> {
    let mut resources = BTreeSet::new();
    for name in hard.keys() {
        let resource = match name.as_str() {
            name if name.starts_with("count/") => &name["count/".len()..],
            name if name.starts_with("services") => "services",
            "configmaps" | "secrets" | "resourcequotas" | "replicationcontrollers" => name,
            name if name.ends_with("persistentvolumeclaims") || name.ends_with("requests.storage") => {
                "persistentvolumeclaims"
            }
            _ => "pods",
        };
        resources.insert(resource.to_owned());
    }
    resources
}

impl ResourceQuotaController {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, "resourcequota-controller");
        let table = Arc::clone(&base.local.resource::<ResourceQuota>().table);
        Self { base, table }
    }

    async fn sync(&self, namespace: &str, name: &str) -> Result<Again, ApiError> {
        let Some(entry) = self.base.local.entry::<ResourceQuota>(namespace, name) else { return Ok(None) };
        let Some(quota) = entry.typed::<ResourceQuota>() else { return Ok(None) };
        let hard = quota.spec.as_ref().and_then(|spec| spec.hard.clone()).unwrap_or_default();
        let now = self.base.now();
        let (used, recount) = self.count(namespace, &hard, &entry.value(), now);
        let used = used.into_iter().map(|(name, amount)| (name, TextQuantity(amount.to_string()))).collect();
        let status = ResourceQuotaStatus { hard: Some(hard), used: Some(used) };
        if !same(quota.status.as_ref(), &status) {
            // Only this version: if admission charged something meanwhile, it has to be counted too.
            let version = entry.revision.to_string();
            let change = |quota: &mut ResourceQuota| quota.status = Some(status.clone());
            self.base.local.modify_status_at(namespace, name, &version, change).await?;
        }
        Ok(recount.map(|end| until(end, now)))
    }

    /// What is used now, and when that changes by time alone.
    fn count(
        &self,
        namespace: &str,
        hard: &BTreeMap<String, TextQuantity>,
        quota_object: &Value,
        now: Timestamp,
    ) -> (BTreeMap<String, Quantity>, Option<Timestamp>) {
        let mut recount: Option<Timestamp> = None;
        let mut used: BTreeMap<String, Quantity> =
            hard.keys().map(|name| (name.clone(), Quantity::ZERO)).collect();
        let registry = self.base.server().registry();
        for resource in counted_resources(hard) {
            if !registry.iter().any(|known| known.qualified() == resource && known.namespaced) {
                continue;
            }
            for entry in self.base.store().list(&resource, Some(namespace)).rows {
                let object = entry.value();
                if !quota::matches_scopes(quota_object, &resource, &object) {
                    continue;
                }
                if resource == "pods" {
                    let end = quota::given_up_at(&object).filter(|end| *end > now);
                    recount = recount.into_iter().chain(end).min();
                }
                for (name, amount) in quota::usage(&resource, &object, now) {
                    if let Some(total) = used.get_mut(&name) {
                        *total += amount;
                    }
                }
            }
        }
        (used, recount)
    }
}

/// Whether two statuses say the same, however the amounts are written.
fn same(before: Option<&ResourceQuotaStatus>, after: &ResourceQuotaStatus) -> bool {
    let read = |map: Option<&BTreeMap<String, TextQuantity>>| -> BTreeMap<String, Option<Quantity>> {
        let map = map.cloned().unwrap_or_default();
        map.into_iter().map(|(name, text)| (name, Quantity::parse(&text.0).ok())).collect()
    };
    before.is_some_and(|before| {
        read(before.hard.as_ref()) == read(after.hard.as_ref())
            && read(before.used.as_ref()) == read(after.used.as_ref())
    })
}

impl Controller for ResourceQuotaController {
    fn name(&self) -> &'static str {
        "resourcequota-controller"
    }

    fn tables(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn every_table(&self) -> bool {
        true
    }

    fn pace(&self) -> Duration {
        PACE
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        if table == &*self.table {
            return if event.deleted { Vec::new() } else { vec![base::own_key(table, event)] };
        }
        let namespace = &event.entry.meta.namespace;
        let changed = match table {
            "pods" => gives_back(event),
            "services" | "persistentvolumeclaims" => event.previous.is_some(),
            _ => false,
        };
        if namespace.is_empty() || !(event.deleted || changed) {
            return Vec::new();
        }
        let quotas = self.base.store().list(&self.table, Some(namespace)).rows;
        quotas.iter().map(|entry| Key::new(&self.table, namespace, &entry.meta.name)).collect()
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.namespace(), key.name()))
    }
}

/// Whether a Pod may take less than before, or will: it has ended, is to end, or what it asks for has been changed.
fn gives_back(event: &Event) -> bool {
    let Some(before) = event.previous.as_ref().and_then(|before| before.view::<PodView>()) else {
        return false;
    };
    let Some(now) = event.entry.view::<PodView>() else { return false };
    now.is_terminal() != before.is_terminal()
        || now.is_deleting() != before.is_deleting()
        || now.metadata.generation != before.metadata.generation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_which_objects_to_count() {
        let hard = [
            "pods",
            "requests.cpu",
            "count/jobs.batch",
            "services.nodeports",
            "requests.storage",
            "fast.storageclass.storage.k8s.io/requests.storage",
            "secrets",
        ];
        let hard = hard.iter().map(|name| ((*name).to_owned(), TextQuantity("1".into()))).collect();
        let want = ["jobs.batch", "persistentvolumeclaims", "pods", "secrets", "services"];
        assert_eq!(counted_resources(&hard).into_iter().collect::<Vec<_>>(), want);
    }
}
