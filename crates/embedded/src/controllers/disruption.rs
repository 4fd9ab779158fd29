//! PodDisruptionBudgets: how many Pods may be evicted now.

mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as ObjectSelector;
use maar_machinery::selector::LabelSelector;
use plan::Observed;
use serde::Deserialize;

use super::base::{self, Base};
use super::recorder::{Recorder, reference};
use super::view::PodView;
use super::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Entry, Event, Key};

#[derive(Debug)]
pub(crate) struct DisruptionController {
    base: Base,
    table: Arc<str>,
}

/// A Pod belongs to a ReplicaSet, that to a Deployment, and that at times to something of somebody's own.
const OWNERS: u8 = 3;

/// The part of a budget that says which Pods it is about.
#[derive(Debug, Deserialize)]
struct BudgetView {
    spec: BudgetSpecView,
}

#[derive(Debug, Deserialize)]
struct BudgetSpecView {
    selector: Option<ObjectSelector>,
}

/// No selector selects nothing, an empty one everything.
fn selector(spec: Option<&ObjectSelector>) -> LabelSelector {
    let read = |selector| LabelSelector::try_from(selector).unwrap_or_else(|_| LabelSelector::nothing());
    spec.map_or_else(LabelSelector::nothing, read)
}

impl DisruptionController {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, "disruption-controller");
        let table = Arc::clone(&base.local.resource::<PodDisruptionBudget>().table);
        Self { base, table }
    }

    async fn sync(&self, namespace: &str, name: &str) -> Result<Again, ApiError> {
        let Some(budget) = self.base.local.get::<PodDisruptionBudget>(namespace, name) else {
            return Ok(None);
        };
        let Some(spec) = &budget.spec else { return Ok(None) };
        let selector = selector(spec.selector.as_ref());
        let entries = self.base.local.entries::<Pod>(Some(namespace));
        let entries: Vec<&Arc<Entry>> =
            entries.iter().filter(|entry| selector.matches(&entry.meta)).collect();
        let pods: Vec<Arc<PodView>> = entries
            .iter()
            .filter_map(|entry| entry.view())
            .filter(|pod: &Arc<PodView>| !pod.is_terminal())
            .collect();
        if pods.is_empty() {
            let message = "No matching pods found".into();
            self.base.recorder.normal(&reference(&budget), "NoPods", message).await;
        }
        let scale = self.expected_scale(&entries);
        let now = self.base.now();
        let (status, again) = plan::status(&Observed { budget: &budget, pods: &pods, scale, now });
        if budget.status.as_ref() != Some(&status) {
            let change = |budget: &mut PodDisruptionBudget| budget.status = Some(status.clone());
            // Just this version: an eviction that came in between has used up what would be written as still allowed.
            let version = budget.metadata.resource_version.clone().unwrap_or_default();
            self.base.local.modify_status_at(namespace, name, &version, change).await?;
        }
        Ok(again)
    }

    /// How many Pods the controllers of these Pods want together.
    fn expected_scale(&self, pods: &[&Arc<Entry>]) -> i32 {
        let mut by_owner: BTreeMap<String, i32> = BTreeMap::new();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for entry in pods {
            let Some(owner) = entry.meta.controller() else { continue };
            if seen.insert(&owner.uid)
                && let Some((uid, replicas)) = self.scale_of(entry, OWNERS)
            {
                by_owner.insert(uid, replicas);
            }
        }
        by_owner.values().copied().fold(0, i32::saturating_add)
    }

    /// The topmost controller of an object that says how many it wants, so many steps up at most: owners can be made to
    /// go round in a circle.
    fn scale_of(&self, entry: &Entry, steps: u8) -> Option<(String, i32)> {
        let owner = entry.meta.controller().filter(|_| steps > 0)?;
        let (group, version) = owner.api_version.split_once('/').unwrap_or(("", &owner.api_version));
        let registry = self.base.server().registry();
        let resource = registry.by_kind(group, version, &owner.kind)?;
        let namespace = if resource.namespaced { &*entry.meta.namespace } else { "" };
        let parent = self.base.store().get(&Key::new(&resource.table, namespace, &owner.name))?;
        if parent.meta.uid != owner.uid {
            return None;
        }
        // A Deployment's ReplicaSets come and go; what it wants in all is what counts.
        if let Some(found) = self.scale_of(&parent, steps - 1) {
            return Some(found);
        }
        let replicas = parent.value()["spec"]["replicas"].as_i64()?;
        Some((parent.meta.uid.to_string(), i32::try_from(replicas).ok()?))
    }

    fn budgets_of(&self, event: &Event) -> Vec<Key> {
        let namespace = &event.entry.meta.namespace;
        let budgets = self.base.store().list(&self.table, Some(namespace)).rows;
        let concerns = |budget: &&Arc<Entry>| {
            let view = budget.view::<BudgetView>();
            let selector = selector(view.as_ref().and_then(|view| view.spec.selector.as_ref()));
            let before = event.previous.as_ref();
            selector.matches(&event.entry.meta) || before.is_some_and(|before| selector.matches(&before.meta))
        };
        budgets
            .iter()
            .filter(concerns)
            .map(|entry| Key::new(&self.table, namespace, &entry.meta.name))
            .collect()
    }
}

impl Controller for DisruptionController {
    fn name(&self) -> &'static str {
        "disruption-controller"
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.base.recorder)
    }

    fn tables(&self) -> Vec<&'static str> {
        vec![
            "poddisruptionbudgets.policy",
            "pods",
            "deployments.apps",
            "replicasets.apps",
            "statefulsets.apps",
        ]
    }

    fn pace(&self) -> Duration {
        super::WORKLOAD_PACE
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        match table {
            "poddisruptionbudgets.policy" => vec![base::own_key(table, event)],
            "pods" => self.budgets_of(event),
            _ => {
                // A workload of another size changes what is expected; its labels need not be those of its Pods.
                let namespace = &event.entry.meta.namespace;
                let budgets = self.base.store().list(&self.table, Some(namespace)).rows;
                budgets.iter().map(|entry| Key::new(&self.table, namespace, &entry.meta.name)).collect()
            }
        }
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.namespace(), key.name()))
    }
}
