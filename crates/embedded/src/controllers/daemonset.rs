//! DaemonSets: one Pod on every node that fits.

mod plan;
mod pods;
mod revision;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Node, Pod};
use parking_lot::Mutex;
use plan::{Observed, Plan};

use super::base::{self, Base, Owner, Workload, workload_selector};
use super::owners::controller_reference;
use super::recorder::{Recorder, reference};
use super::view::{NodeView, PodView, next_available, seconds_after, until};
use super::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};

/// The most Pods made or deleted in one go.
const BURST: usize = 250;
/// How long a node rests after its Pod failed, at first and at most; it doubles in between.
const FIRST_REST: i64 = 1;
const LONGEST_REST: i64 = 15 * 60;

/// How often a node's Pod failed, and when it was last replaced.
#[derive(Clone, Copy, Debug)]
struct Failure {
    seconds: i64,
    at: Timestamp,
}

#[derive(Debug)]
pub(crate) struct DaemonSetController {
    base: Base,
    workload: Workload,
    /// By uid of the DaemonSet and name of the node.
    failures: Mutex<BTreeMap<(String, String), Failure>>,
}

impl DaemonSetController {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, "daemonset-controller");
        let table = Arc::clone(&base.local.resource::<DaemonSet>().table);
        let workload = Workload { table, kind: "DaemonSet", group: "apps" };
        Self { base, workload, failures: Mutex::default() }
    }

    async fn sync(&self, namespace: &str, name: &str) -> Result<Again, ApiError> {
        let Some(daemon) = self.base.local.get::<DaemonSet>(namespace, name) else { return Ok(None) };
        let Some(spec) = daemon.spec.as_ref().filter(|_| daemon.metadata.deletion_timestamp.is_none()) else {
            return Ok(None);
        };
        let selector = workload_selector(&spec.selector);
        let owner = controller_reference(&daemon);
        let claims = Owner { namespace, reference: &owner, deleting: false, selector: &selector };
        let pods = self.base.claim_pods(&claims).await?;
        let hash = revision::ensure(&self.base, &daemon, &claims, &pods).await?;
        let nodes: Vec<Arc<NodeView>> =
            self.base.local.entries::<Node>(None).iter().filter_map(|entry| entry.view()).collect();
        let now = self.base.now();
        let uid = daemon.metadata.uid.clone().unwrap_or_default();
        let (resting, wake) = self.resting(&uid, now);
        let observed =
            Observed { daemon: &daemon, nodes: &nodes, pods: &pods, hash: &hash, resting: &resting, now };
        let plan = plan::plan(&observed);
        let more = plan.create.len() > BURST || plan.delete.len() > BURST;
        let done = self.apply(&daemon, &hash, plan).await;
        let status = plan::status(&observed);
        if daemon.status.as_ref() != Some(&status) {
            let change = |daemon: &mut DaemonSet| daemon.status = Some(status.clone());
            self.base.local.modify_status(namespace, name, change).await?;
        }
        done?;
        if more {
            return Ok(Some(Duration::ZERO));
        }
        let ready = next_available(pods.iter().map(AsRef::as_ref), spec.min_ready_seconds.unwrap_or(0), now);
        Ok(ready.into_iter().chain(wake).min())
    }

    /// Nodes that rest, and how long until the first of them wakes.
    fn resting(&self, uid: &str, now: Timestamp) -> (BTreeSet<String>, Option<Duration>) {
        let mut failures = self.failures.lock();
        // Twice the rest without another failure makes it forgotten.
        failures.retain(|_, failure| seconds_after(failure.at, failure.seconds * 2 + 60) > now);
        let ours = failures.iter().filter(|((owner, _), _)| owner == uid);
        let rests: Vec<(String, Timestamp)> = ours
            .map(|((_, node), failure)| (node.clone(), seconds_after(failure.at, failure.seconds)))
            .filter(|(_, end)| *end > now)
            .collect();
        let wake = rests.iter().map(|(_, end)| until(*end, now)).min();
        (rests.into_iter().map(|(node, _)| node).collect(), wake)
    }

    fn note_failure(&self, uid: &str, node: &str) {
        let now = self.base.now();
        let mut failures = self.failures.lock();
        let failure =
            failures.entry((uid.to_owned(), node.to_owned())).or_insert(Failure { seconds: 0, at: now });
        failure.seconds = (failure.seconds * 2).clamp(FIRST_REST, LONGEST_REST);
        failure.at = now;
    }

    async fn apply(&self, daemon: &DaemonSet, hash: &str, plan: Plan) -> Result<(), ApiError> {
        self.note_ended(daemon, &plan.ended).await;
        let about = reference(daemon);
        for node in plan.create.iter().take(BURST) {
            match self.base.local.create::<Pod>(&pods::make_pod(daemon, node, hash)).await {
                Ok(pod) => {
                    let message = format!("Created pod: {}", pod.metadata.name.unwrap_or_default());
                    self.base.recorder.normal(&about, "SuccessfulCreate", message).await;
                }
                Err(error) if base::is_namespace_going(&error) => return Ok(()),
                Err(error) => {
                    let message = format!("Error creating: {error}");
                    self.base.recorder.warning(&about, "FailedCreate", message).await;
                    return Err(error);
                }
            }
        }
        for pod in plan.delete.iter().take(BURST) {
            self.base.delete_pod(pod).await?;
            let message = format!("Deleted pod: {}", pod.name());
            self.base.recorder.normal(&about, "SuccessfulDelete", message).await;
        }
        Ok(())
    }

    async fn note_ended(&self, daemon: &DaemonSet, ended: &[Arc<PodView>]) {
        let about = reference(daemon);
        for pod in ended {
            let node = pod.target_node().unwrap_or_default();
            let which = format!("{}/{} on node {node}", pod.metadata.namespace, pod.name());
            if pod.is_failed() {
                self.note_failure(daemon.metadata.uid.as_deref().unwrap_or_default(), node);
                let message = format!("Found failed daemon pod {which}, will try to kill it");
                self.base.recorder.warning(&about, "FailedDaemonPod", message).await;
            } else {
                let message = format!("Found succeeded daemon pod {which}, will try to delete it");
                self.base.recorder.normal(&about, "SucceededDaemonPod", message).await;
            }
        }
    }

    /// A node matters to all DaemonSets when it comes, goes, or changes what decides who fits.
    fn all_because_of(&self, event: &Event) -> Vec<Key> {
        let view = |entry: &crate::store::Entry| entry.view::<NodeView>();
        let same = event.previous.as_ref().is_some_and(|before| {
            let (before_view, now_view) = (view(before), view(&event.entry));
            before.meta.labels == event.entry.meta.labels
                && before_view.zip(now_view).is_some_and(|(one, other)| one.spec == other.spec)
        });
        if same && !event.deleted {
            return Vec::new();
        }
        let daemons = self.base.local.entries::<DaemonSet>(None);
        let key = |entry: &Arc<crate::store::Entry>| {
            Key::new(&self.workload.table, &entry.meta.namespace, &entry.meta.name)
        };
        daemons.iter().map(key).collect()
    }
}

impl Controller for DaemonSetController {
    fn name(&self) -> &'static str {
        "daemonset-controller"
    }

    fn workers(&self) -> usize {
        super::WORKLOAD_WORKERS
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.base.recorder)
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["daemonsets.apps", "pods", "nodes", "controllerrevisions.apps"]
    }

    fn pace(&self) -> Duration {
        super::WORKLOAD_PACE
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        match table {
            "daemonsets.apps" => vec![base::own_key(table, event)],
            "nodes" => self.all_because_of(event),
            _ => self.workload.keys(self.base.store(), event),
        }
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.namespace(), key.name()))
    }
}
