//! What people do with a job.

use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
};
use maar_api::v1alpha1::AIJob;
use serde_json::{Value, json};

use crate::{
    error::ApiError,
    route::{Answer, Call},
};

fn api(call: &Call, job: &AIJob) -> Api<AIJob> {
    Api::namespaced(call.portal.client.clone(), &job.namespace().unwrap_or_default())
}

/// Changes the job that was looked at, and no namesake that has taken its place.
async fn change(call: &Call, spec: Value) -> Result<Answer, ApiError> {
    let job = call.job()?;
    let patch = json!({ "metadata": { "uid": job.uid() }, "spec": spec });
    let result = api(call, job).patch(&job.name_any(), &PatchParams::default(), &Patch::Merge(&patch)).await;
    let changed = result.map_err(|error| ApiError::of_cluster(&format!("job {}", job.name_any()), error))?;
    let (namespace, generation) = (job.namespace().unwrap_or_default(), changed.metadata.generation);
    call.portal.live.jobs.changed(&namespace, &job.name_any(), generation).await;
    let before = json!({ "suspend": job.spec.suspend, "cancel": job.spec.cancel });
    Ok(Answer::done().change(Some(before), Some(spec)))
}

/// `POST …/cancel`.
pub(super) async fn cancel(call: Call) -> Result<Answer, ApiError> {
    change(&call, json!({ "cancel": true })).await
}

/// `POST …/suspend`.
pub(super) async fn suspend(call: Call) -> Result<Answer, ApiError> {
    change(&call, json!({ "suspend": true })).await
}

/// `POST …/resume`.
pub(super) async fn resume(call: Call) -> Result<Answer, ApiError> {
    change(&call, json!({ "suspend": false })).await
}

/// `DELETE /jobs/{namespace}/{name}`.
pub(super) async fn delete(call: Call) -> Result<Answer, ApiError> {
    let job = call.job()?;
    let only = Preconditions { uid: job.uid(), resource_version: None };
    let result =
        api(&call, job).delete(&job.name_any(), &DeleteParams::background().preconditions(only)).await;
    result.map_err(|error| ApiError::of_cluster(&format!("job {}", job.name_any()), error))?;
    Ok(Answer::done().change(Some(json!({ "type": job.spec.job_type })), None))
}
