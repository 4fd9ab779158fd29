//! Reading what tests look at most.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;

/// The phase of a Pod, empty if it has none.
pub fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

/// Status and reason of one of a Pod's conditions.
pub fn pod_condition<'a>(pod: &'a Pod, kind: &str) -> Option<(&'a str, &'a str)> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let one = conditions.iter().find(|one| one.type_ == kind)?;
    Some((&one.status, one.reason.as_deref().unwrap_or_default()))
}

/// Whether a Pod is ready.
pub fn is_ready(pod: &Pod) -> bool {
    pod_condition(pod, "Ready").is_some_and(|(status, _)| status == "True")
}

/// The image of a Pod's first container.
pub fn image(pod: &Pod) -> &str {
    let spec = pod.spec.as_ref();
    spec.and_then(|spec| spec.containers.first()?.image.as_deref()).unwrap_or_default()
}

/// The node a Pod is on, empty if it is on none.
pub fn node(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default()
}

/// Whether a Pod is on its way out.
pub fn is_going(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// Whether all replicas of a Deployment are of its present template and available.
pub fn is_rolled_out(deployment: &Deployment) -> bool {
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas);
    deployment.status.as_ref().is_some_and(|status| {
        status.observed_generation == deployment.metadata.generation
            && status.replicas == wanted
            && status.updated_replicas == wanted
            && status.available_replicas == wanted
            && status.terminating_replicas.unwrap_or(0) == 0
    })
}

/// Status and reason of one of a Deployment's conditions.
pub fn deployment_condition<'a>(deployment: &'a Deployment, kind: &str) -> Option<(&'a str, &'a str)> {
    let conditions = deployment.status.as_ref()?.conditions.as_ref()?;
    let one = conditions.iter().find(|one| one.type_ == kind)?;
    Some((&one.status, one.reason.as_deref().unwrap_or_default()))
}

/// The reason of a Job's condition that is true.
pub fn job_condition<'a>(job: &'a Job, kind: &str) -> Option<&'a str> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    let one = conditions.iter().find(|one| one.type_ == kind && one.status == "True")?;
    Some(one.reason.as_deref().unwrap_or_default())
}
