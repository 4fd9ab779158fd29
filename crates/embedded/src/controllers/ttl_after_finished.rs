//! Finished Jobs with `ttlSecondsAfterFinished` are deleted when that time is over.

use std::sync::Arc;

use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;

use super::base::{self, Base};
use super::job::{COMPLETE, FAILED};
use super::view::{seconds_after, until};
use super::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};
use crate::verbs::{DeleteOptions, Propagation};

#[derive(Debug)]
pub(crate) struct TtlAfterFinished {
    base: Base,
}

/// When a Job is to be deleted, if it is over and says so.
fn expiry(job: &Job) -> Option<Timestamp> {
    let seconds = job.spec.as_ref()?.ttl_seconds_after_finished?;
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    let end = conditions
        .iter()
        .find(|one| (one.type_ == COMPLETE || one.type_ == FAILED) && one.status == "True")?;
    Some(seconds_after(end.last_transition_time.as_ref()?.0, i64::from(seconds)))
}

impl TtlAfterFinished {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        Self { base: Base::new(server, "ttl-after-finished-controller") }
    }

    async fn sync(&self, namespace: &str, name: &str) -> Result<Again, ApiError> {
        let Some(job) = self.base.local.get::<Job>(namespace, name) else { return Ok(None) };
        let Some(expiry) = expiry(&job).filter(|_| job.metadata.deletion_timestamp.is_none()) else {
            return Ok(None);
        };
        let wait = until(expiry, self.base.now());
        if !wait.is_zero() {
            return Ok(Some(wait));
        }
        let uid = job.metadata.uid.unwrap_or_default();
        let options = DeleteOptions::of_uid(&uid).propagation(Propagation::Foreground);
        self.base.local.delete::<Job>(namespace, name, &options).await?;
        Ok(None)
    }
}

impl Controller for TtlAfterFinished {
    fn name(&self) -> &'static str {
        "ttl-after-finished-controller"
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["jobs.batch"]
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        if event.deleted { Vec::new() } else { vec![base::own_key(table, event)] }
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.namespace(), key.name()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn only_finished_jobs_expire() {
        let job = |kind: &str| -> Job {
            from_value(
                json!({"spec": {"template": {}, "ttlSecondsAfterFinished": 60}, "status": {"conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T12:00:00Z"}]}}),
            )
            .unwrap()
        };
        assert_eq!(expiry(&job("Complete")).unwrap().to_string(), "2026-01-01T12:01:00Z");
        assert_eq!(expiry(&job("Failed")).unwrap().to_string(), "2026-01-01T12:01:00Z");
        assert_eq!(expiry(&job("Suspended")), None);
    }
}
