//! Writing what a job or a workspace is made of, and never over what belongs to somebody else.
//!
//! Names are made from names (`JOB-TASK-INDEX`, `WORKSPACE-VOLUME`), so two can meet by chance: what is there already
//! and does not name its owner is left as it is, and people are told what is in the way.

use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kube::{
    Api, Resource, ResourceExt as _,
    api::{Patch, PatchParams, PostParams},
};
use maar_api::{names, v1alpha1::StopStatus};
use maar_controller::{
    Error,
    apply::{Object, Writer},
};
use serde_json::json;

use crate::error::JobError;

/// Creates `object` unless it is there; what is there stays as it is.
pub(crate) async fn ensure<K: Object>(writer: Writer, api: &Api<K>, object: &K) -> Result<(), JobError> {
    is_own(object, &writer.ensure(api, object).await?)
}

/// Makes `object` so.
pub(crate) async fn apply<K: Object>(writer: Writer, api: &Api<K>, object: &K) -> Result<(), JobError> {
    match find(api, object).await? {
        Some(found) => {
            is_own(object, &found)?;
            writer.apply_over(api, &found, object).await?;
        }
        None => drop(writer.apply(api, object).await?),
    }
    Ok(())
}

/// Creates a Pod. One of its owner's that is there already is found by the watch.
pub(crate) async fn create(manager: &str, pods: &Api<Pod>, pod: &Pod) -> Result<(), JobError> {
    let params = PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
    match pods.create(&params, pod).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_already_exists() => match find(pods, pod).await? {
            // The watch tells when one that is on its way out has gone.
            Some(found) if !is_leaving(pod, &found) => is_own(pod, &found),
            _ => Ok(()),
        },
        Err(source) => Err(Error::in_step(format!("create Pod {}", pod.name_any()), source).into()),
    }
}

/// Tells a Pod that it will be stopped, or that it will not.
pub(crate) async fn give_notice(
    manager: &str,
    pods: &Api<Pod>,
    pod: &Pod,
    notice: Option<&StopStatus>,
) -> Result<(), JobError> {
    let body = json!({ "metadata": {
        "uid": pod.uid(),
        "annotations": {
            names::ANNOTATION_STOP_AT: notice.map(|stop| stop.at.0.to_string()),
            names::ANNOTATION_STOP_REASON: notice.map(|stop| stop.reason.clone()),
        },
    } });
    let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    match pods.patch_metadata(&pod.name_any(), &params, &Patch::Merge(&body)).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(source) => Err(Error::in_step(format!("give notice to Pod {}", pod.name_any()), source).into()),
        Ok(_) => Ok(()),
    }
}

/// Whether one of the owners of an object is this one.
pub(crate) fn belongs_to<K: Resource>(object: &K, uid: Option<&str>) -> bool {
    object.meta().owner_references.iter().flatten().any(|owner| Some(owner.uid.as_str()) == uid)
}

async fn find<K: Object>(api: &Api<K>, object: &K) -> Result<Option<K>, Error> {
    let name = object.name_any();
    api.get_opt(&name).await.map_err(|source| Error::in_step(format!("read {} {name}", K::kind(&())), source))
}

fn is_own<K: Object>(wanted: &K, found: &K) -> Result<(), JobError> {
    let name = || format!("{} {}", K::kind(&()), found.name_any());
    if belongs_to(found, owner(wanted).map(|owner| owner.uid.as_str())) {
        Ok(())
    } else if is_leaving(wanted, found) {
        Err(JobError::Leaving(name()))
    } else {
        Err(JobError::Taken(name()))
    }
}

fn owner<K: Resource>(object: &K) -> Option<&OwnerReference> {
    object.meta().owner_references.as_ref()?.first()
}

/// Whether it is on its way out, or will be, because it belonged to an earlier owner of the same name.
pub(crate) fn is_leaving<W: Resource, K: Resource>(wanted: &W, found: &K) -> bool {
    let earlier = |one: &OwnerReference| {
        owner(wanted).is_some_and(|own| one.kind == own.kind && one.name == own.name && one.uid != own.uid)
    };
    found.meta().deletion_timestamp.is_some() || found.meta().owner_references.iter().flatten().any(earlier)
}
