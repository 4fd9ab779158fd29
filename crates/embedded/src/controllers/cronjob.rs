//! CronJobs: start Jobs by the clock.

mod plan;
mod schedule;

use std::sync::Arc;

use futures::future::BoxFuture;
use k8s_openapi::api::batch::v1::{CronJob, CronJobStatus, Job};
use plan::Plan;

use super::base::{self, Base};
use super::recorder::{Recorder, reference};
use super::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};
use crate::verbs::{DeleteOptions, Propagation};

#[derive(Debug)]
pub(crate) struct CronJobController {
    base: Base,
    table: Arc<str>,
}

impl CronJobController {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, "cronjob-controller");
        let table = Arc::clone(&base.local.resource::<CronJob>().table);
        Self { base, table }
    }

    async fn sync(&self, namespace: &str, name: &str) -> Result<Again, ApiError> {
        let Some(cron) = self.base.local.get::<CronJob>(namespace, name) else { return Ok(None) };
        let uid = cron.metadata.uid.clone().unwrap_or_default();
        let own = self.base.owned_entries::<Job>(&uid);
        let controlled =
            own.iter().filter(|entry| entry.meta.controller().is_some_and(|owner| *owner.uid == *uid));
        let jobs: Vec<Job> = controlled.filter_map(|entry| entry.typed()).collect();
        let mut plan = plan::plan(&cron, &jobs, self.base.now());
        let done = self.apply(&cron, &mut plan).await;
        if cron.status.clone().unwrap_or_default() != plan.status {
            let status: &CronJobStatus = &plan.status;
            let change = |cron: &mut CronJob| cron.status = Some(status.clone());
            self.base.local.modify_status(namespace, name, change).await?;
        }
        done?;
        Ok(plan.again)
    }

    async fn apply(&self, cron: &CronJob, plan: &mut Plan) -> Result<(), ApiError> {
        let about = reference(cron);
        for note in &plan.notes {
            if note.warning {
                self.base.recorder.warning(&about, note.reason, note.message.clone()).await;
            } else {
                self.base.recorder.normal(&about, note.reason, note.message.clone()).await;
            }
        }
        let namespace = cron.metadata.namespace.as_deref().unwrap_or_default();
        for name in plan.replace.iter().chain(&plan.forget) {
            let options = DeleteOptions::default().propagation(Propagation::Background);
            self.base.local.delete::<Job>(namespace, name, &options).await?;
            self.base.recorder.normal(&about, "SuccessfulDelete", format!("Deleted job {name}")).await;
        }
        let Some((job, time)) = plan.start.take() else { return Ok(()) };
        let created = match self.base.local.create(&job).await {
            Ok(created) => created,
            Err(error) if base::is_namespace_going(&error) => return Ok(()),
            Err(error) if error.is_already_exists() => match self.own_job(cron, &job) {
                Some(existing) => existing,
                None => return Ok(()),
            },
            Err(error) => {
                self.base
                    .recorder
                    .warning(&about, "FailedCreate", format!("Error creating job: {error}"))
                    .await;
                return Err(error);
            }
        };
        let name = created.metadata.name.clone().unwrap_or_default();
        self.base.recorder.normal(&about, "SuccessfulCreate", format!("Created job {name}")).await;
        plan::started(&mut plan.status, &created, time);
        Ok(())
    }

    /// The Job of that name, if it is this CronJob's.
    fn own_job(&self, cron: &CronJob, job: &Job) -> Option<Job> {
        let metadata = &job.metadata;
        let (namespace, name) = (metadata.namespace.as_deref()?, metadata.name.as_deref()?);
        let existing: Job = self.base.local.get(namespace, name)?;
        let owners = existing.metadata.owner_references.clone().unwrap_or_default();
        owners.iter().any(|owner| Some(&owner.uid) == cron.metadata.uid.as_ref()).then_some(existing)
    }
}

impl Controller for CronJobController {
    fn name(&self) -> &'static str {
        "cronjob-controller"
    }

    fn workers(&self) -> usize {
        super::WORKLOAD_WORKERS
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.base.recorder)
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["cronjobs.batch", "jobs.batch"]
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        if table == "jobs.batch" {
            base::controller_key(&self.table, "CronJob", "batch", &event.entry).into_iter().collect()
        } else {
            vec![base::own_key(table, event)]
        }
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.namespace(), key.name()))
    }
}
