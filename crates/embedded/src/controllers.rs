//! The built-in controllers: what kube-controller-manager and kube-scheduler do, as far as Maar's tests and
//! `maar up` need it. Each is one folder or file with a pure part (what should be) and a [`Controller`] around it.

mod base;
mod cronjob;
mod csr_cleaner;
mod daemonset;
mod definition;
mod deployment;
mod disruption;
mod endpoints;
mod event_ttl;
mod garbage;
mod history;
mod job;
mod namespace;
mod node;
mod owners;
mod placement;
mod portion;
mod recorder;
mod replicaset;
mod resource_quota;
mod runner;
mod scheduler;
mod service_account;
mod statefulset;
mod template;
mod ttl_after_finished;
mod view;
mod volume;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

pub(crate) use runner::run;

use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};

/// How often a workload is looked at while its Pods change: often enough to look immediate, seldom enough that a
/// thousand Pods getting ready are a few looks and not a thousand.
const WORKLOAD_PACE: Duration = Duration::from_millis(20);

/// How many workloads of a kind are looked at at the same time: one that is held up must not hold up all others.
const WORKLOAD_WORKERS: usize = 5;

/// Where directories for volumes are made, on every node.
const VOLUME_FOLDER: &str = "/var/lib/maar/volumes";

/// When to look at an object again although nothing changed.
pub(crate) type Again = Option<Duration>;

/// One control loop. Reconciles run in the order keys became due, one after another unless it has several workers,
/// and never two of one key at the same time.
pub(crate) trait Controller: Send + Sync + 'static {
    /// Its name, also the name its changes carry.
    fn name(&self) -> &'static str;

    /// The tables it follows.
    fn tables(&self) -> Vec<&'static str>;

    /// Whether it follows every table there is, also those that appear later.
    fn every_table(&self) -> bool {
        false
    }

    /// How many keys are looked at at the same time. With more than one, [`Controller::keys`] may be called while a
    /// reconcile waits for something.
    fn workers(&self) -> usize {
        1
    }

    /// What it tells people with, if that is to be written by a task of its own.
    fn recorder(&self) -> Option<&recorder::Recorder> {
        None
    }

    /// The least time between two looks at the same key, for controllers whose reconciles cost more the more Pods
    /// there are: the changes in between are taken together.
    fn pace(&self) -> Duration {
        Duration::ZERO
    }

    /// All objects of a table are about to be shown again as if new: what was remembered of them may be wrong.
    fn forget(&self, _table: &str) {}

    /// The keys to look at because of an event, usually the object itself or its owner. Must be cheap: called
    /// for every event of the tables above. Any `Key` will do, also of another table, also synthetic.
    fn keys(&self, table: &str, event: &Event) -> Vec<Key>;

    /// The keys to look at because of what a look has found. Asked after every one.
    fn follow_up(&self) -> Vec<Key> {
        Vec::new()
    }

    /// Brings the world closer to what the object asks for. Called again with back-off on errors.
    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>>;
}

/// A controller behind a pointer.
pub(crate) type BoxController = Arc<dyn Controller>;

/// The controllers that are part of an API server: without them it could not serve CRDs.
pub(crate) fn of_api_server(server: &Arc<Server>) -> Vec<BoxController> {
    vec![
        Arc::new(definition::DefinitionNames::new(server)),
        Arc::new(definition::DefinitionCleanup::new(server)),
        Arc::new(event_ttl::EventTtl::new(server)),
    ]
}

/// What kube-controller-manager and kube-scheduler run.
pub(crate) fn all(server: &Arc<Server>) -> Vec<BoxController> {
    vec![
        Arc::new(service_account::NamespaceFurniture::new(server)),
        Arc::new(namespace::NamespaceController::new(server)),
        Arc::new(garbage::GarbageCollector::new(server)),
        Arc::new(deployment::DeploymentController::new(server)),
        Arc::new(replicaset::ReplicaSetController::new(server)),
        Arc::new(statefulset::StatefulSetController::new(server)),
        Arc::new(daemonset::DaemonSetController::new(server)),
        Arc::new(job::JobController::new(server)),
        Arc::new(cronjob::CronJobController::new(server)),
        Arc::new(ttl_after_finished::TtlAfterFinished::new(server)),
        Arc::new(disruption::DisruptionController::new(server)),
        Arc::new(endpoints::EndpointsController::new(server)),
        Arc::new(endpoints::EndpointsMirror::new(server)),
        Arc::new(volume::VolumeBinder::new(server, VOLUME_FOLDER)),
        Arc::new(volume::EphemeralClaims::new(server)),
        Arc::new(volume::VolumeProtection::new(server)),
        Arc::new(node::NodeLifecycle::new(server)),
        Arc::new(node::TaintEviction::new(server)),
        Arc::new(node::PodGarbageCollector::new(server)),
        Arc::new(node::NodeTtl::new(server)),
        Arc::new(resource_quota::ResourceQuotaController::new(server)),
        Arc::new(scheduler::Scheduler::new(server)),
        Arc::new(csr_cleaner::CsrCleaner::new(server)),
    ]
}
