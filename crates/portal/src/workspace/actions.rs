//! What people do with a workspace.

use jiff::SignedDuration;
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
};
use maar_api::v1alpha1::Workspace;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    error::ApiError,
    route::{Answer, Call},
};

fn api(call: &Call, workspace: &Workspace) -> Api<Workspace> {
    Api::namespaced(call.portal.client.clone(), &workspace.namespace().unwrap_or_default())
}

/// Changes the workspace that was looked at, and no namesake that has taken its place.
async fn change(call: &Call, spec: Value) -> Result<Answer, ApiError> {
    let found = call.workspace()?;
    let before: serde_json::Map<String, Value> = {
        let all = serde_json::to_value(&found.spec).unwrap_or_default();
        let changed = spec.as_object().into_iter().flatten();
        changed.map(|(field, _)| (field.clone(), all.get(field).cloned().unwrap_or_default())).collect()
    };
    let mut patch = json!({ "metadata": { "uid": found.uid() }, "spec": spec });
    if spec.get("state").is_some() {
        // Whatever suspended it before, now it is somebody's wish.
        patch["metadata"]["annotations"] = json!({ maar_jobs::ANNOTATION_SUSPENDED_BY: null });
    }
    let result =
        api(call, found).patch(&found.name_any(), &PatchParams::default(), &Patch::Merge(&patch)).await;
    let changed =
        result.map_err(|error| ApiError::of_cluster(&format!("workspace {}", found.name_any()), error))?;
    let (namespace, generation) = (found.namespace().unwrap_or_default(), changed.metadata.generation);
    call.portal.live.workspaces.changed(&namespace, &found.name_any(), generation).await;
    Ok(Answer::done().change(Some(before.into()), Some(spec)))
}

/// `POST …/suspend`.
pub(super) async fn suspend(call: Call) -> Result<Answer, ApiError> {
    change(&call, json!({ "state": "Suspended" })).await
}

/// `POST …/resume`.
pub(super) async fn resume(call: Call) -> Result<Answer, ApiError> {
    change(&call, json!({ "state": "Running" })).await
}

/// For how long clean-up policies stay away.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Protection {
    /// Hours from now; 0 ends it.
    hours: i64,
}

/// `PUT …/protection`.
pub(super) async fn protect(call: Call) -> Result<Answer, ApiError> {
    let asked: Protection = call.body()?;
    let longest = call.portal.settings.longest_protection;
    if asked.hours < 0 || asked.hours > longest.as_hours() {
        return Err(ApiError::invalid("hours", format!("is between 0 and {}", longest.as_hours())));
    }
    let until = call.now().saturating_add(SignedDuration::from_hours(asked.hours)).ok();
    // Kubernetes keeps whole seconds.
    let until = until.filter(|_| asked.hours > 0).map(|until| format!("{until:.0}"));
    change(&call, json!({ "protectedUntil": until })).await
}

/// `DELETE /workspaces/{namespace}/{name}`.
pub(super) async fn delete(call: Call) -> Result<Answer, ApiError> {
    let found = call.workspace()?;
    let only = Preconditions { uid: found.uid(), resource_version: None };
    let result =
        api(&call, found).delete(&found.name_any(), &DeleteParams::background().preconditions(only)).await;
    result.map_err(|error| ApiError::of_cluster(&format!("workspace {}", found.name_any()), error))?;
    Ok(Answer::done().change(Some(json!({ "image": found.spec.image, "cards": found.spec.cards })), None))
}
