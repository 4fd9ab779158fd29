//! Jobs: run Pods until enough of them have succeeded.

mod failure;
mod indexes;
mod plan;
mod pods;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use failure::Backoff;
use futures::future::BoxFuture;
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobStatus};
use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;
pub(crate) use plan::{COMPLETE, FAILED, is_finished};
use plan::{Observed, Plan};

use super::base::{self, Base, Owner, Workload, workload_selector};
use super::owners::controller_reference;
use super::recorder::{Recorder, reference};
use super::view::PodView;
use super::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};

#[derive(Debug)]
pub(crate) struct JobController {
    base: Base,
    workload: Workload,
    pods: Arc<str>,
    /// Waiting times of running Jobs, by uid. Forgetting one only shortens a wait.
    backoffs: Mutex<BTreeMap<String, Backoff>>,
}

impl JobController {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, "job-controller");
        let table = Arc::clone(&base.local.resource::<Job>().table);
        let pods = Arc::clone(&base.local.resource::<Pod>().table);
        Self {
            base,
            workload: Workload { table, kind: "Job", group: "batch" },
            pods,
            backoffs: Mutex::default(),
        }
    }

    async fn sync(&self, namespace: &str, name: &str) -> Result<Again, ApiError> {
        let Some(job) = self.base.local.get::<Job>(namespace, name) else { return Ok(None) };
        let uid = job.metadata.uid.clone().unwrap_or_default();
        let Some(spec) = job.spec.as_ref().filter(|_| !is_finished(&job)) else {
            self.backoffs.lock().remove(&uid);
            return Ok(None);
        };
        if spec.managed_by.as_deref().is_some_and(|manager| manager != "kubernetes.io/job-controller") {
            return Ok(None);
        }
        let selector = spec.selector.as_ref().map(workload_selector);
        let selector = selector.unwrap_or_else(maar_machinery::selector::LabelSelector::nothing);
        let owner = controller_reference(&job);
        let deleting = job.metadata.deletion_timestamp.is_some();
        let claims = Owner { namespace, reference: &owner, deleting, selector: &selector };
        let pods = self.base.claim_pods(&claims).await?;
        let backoff = self.backoffs.lock().get(&uid).copied().unwrap_or_default();
        let mut plan = plan::plan(&Observed { job: &job, pods: &pods, backoff, now: self.base.now() });
        let done = self.manage(&job, &plan).await;
        if done.is_err() {
            // What was not made or deleted is still as it was; the next try sees.
            plan.end = None;
            plan.status.active = base::count(pods.iter().filter(|pod| pod.is_active()).count());
        }
        self.backoffs.lock().insert(uid, plan.backoff);
        self.account(&job, &pods, &plan).await?;
        done?;
        Ok(plan.again)
    }

    async fn manage(&self, job: &Job, plan: &Plan) -> Result<(), ApiError> {
        let about = reference(job);
        for pod in &plan.delete {
            if plan.uncounted_deletes {
                self.untrack(pod).await?;
            }
            self.base.delete_pod(pod).await?;
            let message = format!("Deleted pod: {}", pod.name());
            self.base.recorder.normal(&about, "SuccessfulDelete", message).await;
        }
        for creation in &plan.create {
            let pod = pods::make_pod(job, creation.index, creation.replaces.as_deref());
            match self.base.local.create::<Pod>(&pod).await {
                Ok(created) => {
                    let message = format!("Created pod: {}", created.metadata.name.unwrap_or_default());
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
        Ok(())
    }

    /// Writes the status, lets counted Pods go, writes the status again.
    async fn account(&self, job: &Job, pods: &[Arc<PodView>], plan: &Plan) -> Result<(), ApiError> {
        let mut written = job.status.clone().unwrap_or_default();
        if plan.status != written {
            written = self.write(job, &plan.status).await?;
        }
        if let Some((reason, message)) = plan.event {
            self.base.recorder.normal(&reference(job), reason, message.to_owned()).await;
        }
        for pod in &plan.release {
            self.untrack(pod).await?;
        }
        let released: BTreeSet<&str> = plan.release.iter().map(|pod| pod.metadata.uid.as_str()).collect();
        let held: BTreeSet<&str> = pods
            .iter()
            .filter(|pod| pods::is_tracked(pod))
            .map(|pod| pod.metadata.uid.as_str())
            .filter(|uid| !released.contains(uid))
            .collect();
        let mut folded = written.clone();
        let ended = plan::fold(&mut folded, &held, plan.end.as_ref());
        if folded != written {
            self.write(job, &folded).await?;
        }
        if let Some(end) = plan.end.as_ref().filter(|_| ended) {
            self.note_end(job, end).await;
        }
        Ok(())
    }

    async fn write(&self, job: &Job, status: &JobStatus) -> Result<JobStatus, ApiError> {
        let (namespace, name) = (job.metadata.namespace.as_deref(), job.metadata.name.as_deref());
        let change = |stored: &mut Job| {
            if stored.metadata.uid == job.metadata.uid {
                stored.status = Some(status.clone());
            }
        };
        let stored: Job = self
            .base
            .local
            .modify_status(namespace.unwrap_or_default(), name.unwrap_or_default(), change)
            .await?;
        Ok(stored.status.unwrap_or_default())
    }

    async fn note_end(&self, job: &Job, end: &JobCondition) {
        let about = reference(job);
        if end.type_ == COMPLETE {
            self.base.recorder.normal(&about, "Completed", "Job completed".into()).await;
            return;
        }
        let reason = match end.reason.as_deref() {
            Some("DeadlineExceeded") => "DeadlineExceeded",
            Some("PodFailurePolicy") => "PodFailurePolicy",
            Some("FailedIndexes") => "FailedIndexes",
            Some("MaxFailedIndexesExceeded") => "MaxFailedIndexesExceeded",
            _ => "BackoffLimitExceeded",
        };
        self.base.recorder.warning(&about, reason, end.message.clone().unwrap_or_default()).await;
    }

    async fn untrack(&self, pod: &PodView) -> Result<(), ApiError> {
        if !pods::is_tracked(pod) {
            return Ok(());
        }
        match self.base.local.modify(&pod.metadata.namespace, pod.name(), pods::untrack).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Lets a Pod go whose Job is gone or over: nobody will count it any more.
    async fn free_orphan(&self, namespace: &str, name: &str) -> Result<Again, ApiError> {
        let Some(entry) = self.base.local.entry::<Pod>(namespace, name) else { return Ok(None) };
        let Some(pod) = entry.view::<PodView>().filter(|pod| pods::is_tracked(pod)) else { return Ok(None) };
        if let Some(key) = base::controller_key(&self.workload.table, "Job", "batch", &entry) {
            let job: Option<Job> = self.base.store().get(&key).and_then(|entry| entry.typed());
            let uid = entry.meta.controller().map(|owner| owner.uid.to_string());
            if job.is_some_and(|job| job.metadata.uid == uid && !is_finished(&job)) {
                return Ok(None);
            }
        }
        self.untrack(&pod).await?;
        Ok(None)
    }
}

impl Controller for JobController {
    fn name(&self) -> &'static str {
        "job-controller"
    }

    fn workers(&self) -> usize {
        super::WORKLOAD_WORKERS
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.base.recorder)
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["jobs.batch", "pods"]
    }

    fn pace(&self) -> Duration {
        super::WORKLOAD_PACE
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        if table == "pods" {
            let mut keys = self.workload.keys(self.base.store(), event);
            let owned_by_job =
                event.entry.meta.controller().is_none_or(|controller| &*controller.kind == "Job");
            if event.entry.meta.deleting && !event.deleted && owned_by_job {
                keys.push(base::own_key(table, event));
            }
            return keys;
        }
        let mut keys = vec![base::own_key(table, event)];
        if event.deleted {
            let children = self.base.store().children(&event.entry.meta.uid);
            keys.extend(children.into_iter().filter(|key| key.table == self.pods));
        }
        keys
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        if key.table == self.pods {
            Box::pin(self.free_orphan(key.namespace(), key.name()))
        } else {
            Box::pin(self.sync(key.namespace(), key.name()))
        }
    }
}
