//! The end of namespaces: everything inside is deleted, then the namespace itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, NamespaceCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use parking_lot::Mutex;
use serde_json::Value;

use super::base::Base;
use super::{Again, Controller};
use crate::resource::{Resource, Subresource};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};
use crate::verbs::{DeleteOptions, Propagation};

const FINALIZER: &str = "kubernetes";
/// How soon after each other what is left is counted.
const PACE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct NamespaceController {
    base: Base,
    table: Arc<str>,
    /// Namespaces that wait for their content to go.
    going: Mutex<BTreeSet<Box<str>>>,
}

/// What is left in a namespace.
#[derive(Debug, Default, PartialEq, Eq)]
struct Remains {
    /// How many objects, by resource.
    objects: BTreeMap<String, usize>,
    /// How many objects, by finalizer.
    finalizers: BTreeMap<String, usize>,
    /// What went wrong while deleting.
    failures: Vec<String>,
}

impl NamespaceController {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, "namespace-controller");
        let table = Arc::clone(&base.local.resource::<Namespace>().table);
        Self { base, table, going: Mutex::default() }
    }

    async fn sync(&self, name: &str) -> Result<Again, ApiError> {
        let Some(namespace) = self.base.local.get::<Namespace>("", name) else {
            self.going.lock().remove(name);
            return Ok(None);
        };
        let spec = namespace.spec.clone().unwrap_or_default();
        let held = spec.finalizers.iter().flatten().any(|one| one == FINALIZER);
        if namespace.metadata.deletion_timestamp.is_none() || !held {
            return Ok(None);
        }
        self.going.lock().insert(name.into());
        let remains = self.clear(name).await;
        let conditions = conditions(&namespace, &remains, self.base.now());
        if namespace.status.as_ref().and_then(|status| status.conditions.as_ref()) != Some(&conditions) {
            let change = |namespace: &mut Namespace| {
                namespace.status.get_or_insert_default().conditions = Some(conditions.clone());
            };
            self.base.local.modify_status("", name, change).await?;
        }
        if remains.objects.is_empty() && remains.failures.is_empty() {
            let change = |namespace: &mut Namespace| {
                if let Some(finalizers) = namespace.spec.get_or_insert_default().finalizers.as_mut() {
                    finalizers.retain(|one| one != FINALIZER);
                }
            };
            self.base.local.modify_part("", name, Some(Subresource::Finalize), change).await?;
            self.going.lock().remove(name);
            return Ok(None);
        }
        match remains.failures.first() {
            Some(failure) => Err(ApiError::internal(failure)),
            None => Ok(None),
        }
    }

    /// Deletes what is not being deleted yet and counts what is left. Pods go first: they may need the rest until
    /// they have ended.
    async fn clear(&self, namespace: &str) -> Remains {
        let mut remains = Remains::default();
        let registry = self.base.server().registry();
        if let Some(pods) = registry.by_table("pods") {
            self.clear_resource(pods, namespace, &mut remains).await;
            if !remains.objects.is_empty() {
                return remains;
            }
        }
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let resources = registry.iter().filter(|resource| resource.namespaced);
        for resource in resources.filter(|resource| seen.insert(&resource.table)) {
            let resource = registry.by_table(&resource.table).unwrap_or(resource);
            self.clear_resource(resource, namespace, &mut remains).await;
        }
        remains
    }

    async fn clear_resource(&self, resource: &Resource, namespace: &str, remains: &mut Remains) {
        for entry in self.base.store().list(&resource.table, Some(namespace)).rows {
            let key = Key::new(&resource.table, namespace, &entry.meta.name);
            if !entry.meta.deleting {
                let options = DeleteOptions::of_uid(&entry.meta.uid).propagation(Propagation::Background);
                if let Err(error) = self.base.local.delete_key(resource, &key, &options).await {
                    remains.failures.push(error.to_string());
                }
            }
            if let Some(entry) = self.base.store().get(&key) {
                *remains.objects.entry(resource.qualified()).or_default() += 1;
                let object = entry.value();
                let finalizers = object["metadata"]["finalizers"].as_array().into_iter().flatten();
                for finalizer in finalizers.filter_map(Value::as_str) {
                    *remains.finalizers.entry(finalizer.to_owned()).or_default() += 1;
                }
            }
        }
    }
}

/// What a namespace says about its end.
fn conditions(namespace: &Namespace, remains: &Remains, now: Timestamp) -> Vec<NamespaceCondition> {
    let list = |counts: &BTreeMap<String, usize>, join: &str| {
        let parts: Vec<String> =
            counts.iter().map(|(name, count)| format!("{name}{join}{count} resource instances")).collect();
        parts.join(", ")
    };
    let failed = !remains.failures.is_empty();
    let left = !remains.objects.is_empty();
    let held = !remains.finalizers.is_empty();
    let pick = |bad: bool, reasons: (&str, &str), messages: (String, &str)| {
        if bad {
            ("True", reasons.0.to_owned(), messages.0)
        } else {
            ("False", reasons.1.to_owned(), messages.1.to_owned())
        }
    };
    let found = [
        (
            "NamespaceDeletionDiscoveryFailure",
            pick(
                false,
                ("", "ResourcesDiscovered"),
                (String::new(), "All resources successfully discovered"),
            ),
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            pick(
                false,
                ("", "ParsedGroupVersions"),
                (String::new(), "All legacy kube types successfully parsed"),
            ),
        ),
        (
            "NamespaceDeletionContentFailure",
            pick(
                failed,
                ("ContentDeletionFailed", "ContentDeleted"),
                (
                    format!(
                        "Failed to delete all resource types, {} remaining: {}",
                        remains.failures.len(),
                        remains.failures.join(", ")
                    ),
                    "All content successfully deleted, may be waiting on finalization",
                ),
            ),
        ),
        (
            "NamespaceContentRemaining",
            pick(
                left,
                ("SomeResourcesRemain", "ContentRemoved"),
                (
                    format!("Some resources are remaining: {}", list(&remains.objects, " has ")),
                    "All content successfully removed",
                ),
            ),
        ),
        (
            "NamespaceFinalizersRemaining",
            pick(
                held,
                ("SomeFinalizersRemain", "ContentHasNoFinalizers"),
                (
                    format!(
                        "Some content in the namespace has finalizers remaining: {}",
                        list(&remains.finalizers, " in ")
                    ),
                    "All content-preserving finalizers finished",
                ),
            ),
        ),
    ];
    let before = namespace.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
    found
        .into_iter()
        .map(|(kind, (status, reason, message))| renew(&before, kind, status, reason, message, now))
        .collect()
}

fn renew(
    before: &[NamespaceCondition],
    kind: &str,
    status: &str,
    reason: String,
    message: String,
    now: Timestamp,
) -> NamespaceCondition {
    let known = before.iter().find(|known| known.type_ == kind && known.status == status);
    NamespaceCondition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: Some(reason),
        message: Some(message),
        last_transition_time: known.map_or(Some(Time(now)), |known| known.last_transition_time.clone()),
    }
}

impl Controller for NamespaceController {
    fn name(&self) -> &'static str {
        "namespace-controller"
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
        if table == "namespaces" {
            let concerned = event.entry.meta.deleting || event.deleted;
            return if concerned {
                vec![Key::new(&self.table, "", &event.entry.meta.name)]
            } else {
                Vec::new()
            };
        }
        let namespace = &event.entry.meta.namespace;
        if namespace.is_empty() || !self.going.lock().contains(namespace) {
            return Vec::new();
        }
        vec![Key::new(&self.table, "", namespace)]
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::view::tests::noon;

    #[test]
    fn a_namespace_says_what_it_waits_for() {
        let remains = Remains {
            objects: BTreeMap::from([("pods".into(), 2)]),
            finalizers: BTreeMap::from([("example.com/hold".into(), 1)]),
            failures: Vec::new(),
        };
        let said = |remains: &Remains| -> Vec<(String, String)> {
            let conditions = conditions(&Namespace::default(), remains, noon());
            let bad = conditions.into_iter().filter(|one| one.status == "True");
            bad.map(|one| (one.type_, one.message.unwrap())).collect()
        };
        assert_eq!(
            said(&remains),
            [
                ("NamespaceContentRemaining".into(), "Some resources are remaining: pods has 2 resource instances".into()),
                (
                    "NamespaceFinalizersRemaining".into(),
                    "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances".into()
                ),
            ]
        );
        assert!(said(&Remains::default()).is_empty());
    }
}
