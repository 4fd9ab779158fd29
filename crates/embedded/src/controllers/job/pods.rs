//! What a Job's Pods look like.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Container, EnvVar, EnvVarSource, ObjectFieldSelector, Pod};

use super::failure::{Verdict, verdict};
use super::indexes::INDEX;
use crate::controllers::owners::controller_reference;
use crate::controllers::template::pod_from;
use crate::controllers::view::PodView;

/// Held by Pods until their Job has counted them.
pub(crate) const TRACKING: &str = "batch.kubernetes.io/job-tracking";
const FAILURE_COUNT: &str = "batch.kubernetes.io/job-index-failure-count";
const IGNORED_COUNT: &str = "batch.kubernetes.io/job-index-ignored-failure-count";
const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";

pub(crate) fn is_tracked(pod: &PodView) -> bool {
    pod.metadata.finalizers.iter().any(|finalizer| finalizer == TRACKING)
}

/// Takes the tracking finalizer off.
pub(crate) fn untrack(pod: &mut Pod) {
    if let Some(finalizers) = &mut pod.metadata.finalizers {
        finalizers.retain(|finalizer| finalizer != TRACKING);
        if finalizers.is_empty() {
            pod.metadata.finalizers = None;
        }
    }
}

/// A Pod of the Job, for an index or for none. `replaces` is the failed Pod whose count of failures goes on.
pub(crate) fn make_pod(job: &Job, index: Option<i32>, replaces: Option<&PodView>) -> Pod {
    let spec = job.spec.clone().unwrap_or_default();
    let namespace = job.metadata.namespace.as_deref().unwrap_or_default();
    let owner = controller_reference(job);
    let mut pod = pod_from(&spec.template, namespace, &owner);
    let finalizers = pod.metadata.finalizers.get_or_insert_default();
    if !finalizers.iter().any(|finalizer| finalizer == TRACKING) {
        finalizers.push(TRACKING.into());
    }
    let Some(index) = index else { return pod };
    let text = index.to_string();
    pod.metadata.generate_name = Some(index_prefix(&owner.name, index));
    pod.metadata.labels.get_or_insert_default().insert(INDEX.into(), text.clone());
    let annotations = pod.metadata.annotations.get_or_insert_default();
    annotations.insert(INDEX.into(), text);
    if spec.backoff_limit_per_index.is_some() {
        let (failed, ignored) = next_counts(job, replaces);
        annotations.insert(FAILURE_COUNT.into(), failed.to_string());
        if ignored > 0 {
            annotations.insert(IGNORED_COUNT.into(), ignored.to_string());
        }
    }
    let pod_spec = pod.spec.get_or_insert_default();
    pod_spec.hostname = Some(format!("{}-{index}", owner.name));
    let init = pod_spec.init_containers.iter_mut().flatten();
    init.chain(&mut pod_spec.containers).for_each(tell_index);
    pod
}

/// Keeps the index visible in long names.
fn index_prefix(name: &str, index: i32) -> String {
    let end = format!("-{index}-");
    let mut keep = name.len().min(58 - end.len());
    while !name.is_char_boundary(keep) {
        keep -= 1;
    }
    format!("{}{end}", &name[..keep])
}

fn tell_index(container: &mut Container) {
    let variables = container.env.get_or_insert_default();
    if variables.iter().any(|variable| variable.name == INDEX_VARIABLE) {
        return;
    }
    let field_ref =
        ObjectFieldSelector { api_version: None, field_path: format!("metadata.labels['{INDEX}']") };
    variables.push(EnvVar {
        name: INDEX_VARIABLE.into(),
        value: None,
        value_from: Some(EnvVarSource { field_ref: Some(field_ref), ..EnvVarSource::default() }),
    });
}

fn number(pod: &PodView, annotation: &str) -> i32 {
    pod.metadata
        .annotations
        .get(annotation)
        .and_then(|text| text.parse().ok())
        .filter(|n| *n >= 0)
        .unwrap_or(0)
}

/// How often the index of this Pod failed before it.
pub(crate) fn failures_before(pod: &PodView) -> i32 {
    number(pod, FAILURE_COUNT)
}

/// The same with failures that do not count.
pub(crate) fn all_failures_before(pod: &PodView) -> i32 {
    number(pod, FAILURE_COUNT).saturating_add(number(pod, IGNORED_COUNT))
}

fn next_counts(job: &Job, replaces: Option<&PodView>) -> (i32, i32) {
    let Some(pod) = replaces else { return (0, 0) };
    let counted = verdict(job, pod) != Verdict::Ignore;
    let next = |annotation, one: bool| number(pod, annotation).saturating_add(i32::from(one));
    (next(FAILURE_COUNT, counted), next(IGNORED_COUNT, !counted))
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn a_pod_knows_its_index() {
        let job: Job = from_value(json!({"metadata": {"name": "train", "namespace": "ns", "uid": "j"},
            "spec": {"backoffLimitPerIndex": 1, "template": {"spec": {"containers": [{"name": "c"}]}}}}))
        .unwrap();
        let pod = make_pod(&job, Some(3), None);
        assert_eq!(pod.metadata.generate_name.as_deref(), Some("train-3-"));
        assert_eq!(pod.metadata.finalizers.as_deref(), Some(&[TRACKING.to_owned()][..]));
        assert_eq!(pod.metadata.annotations.as_ref().unwrap()[FAILURE_COUNT], "0");
        let spec = pod.spec.unwrap();
        assert_eq!(spec.hostname.as_deref(), Some("train-3"));
        let variable = &spec.containers[0].env.as_ref().unwrap()[0];
        assert_eq!(variable.name, "JOB_COMPLETION_INDEX");
        let failed: PodView = from_value(json!({"metadata": {"annotations": {FAILURE_COUNT: "1"}}})).unwrap();
        let next = make_pod(&job, Some(3), Some(&failed));
        assert_eq!(next.metadata.annotations.unwrap()[FAILURE_COUNT], "2");
    }
}
