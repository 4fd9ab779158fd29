//! Names of what is made for a job: deterministic, so that making twice is making once.

use maar_api::v1alpha1::AIJob;

/// The Pod number `index` of a task; its host name as well.
pub(crate) fn pod(job: &str, task: &str, index: i32) -> String {
    format!("{job}-{task}-{index}")
}

/// The host of a Pod as other Pods of the namespace reach it: by the headless Service, called after the job.
pub(crate) fn host(job: &str, task: &str, index: i32) -> String {
    format!("{}.{job}", pod(job, task, index))
}

/// The ConfigMap with the files of a job.
pub(crate) fn files(job: &str) -> String {
    format!("{job}-files")
}

/// The Secret of a job: keys, or what a browser needs.
pub(crate) fn secret(job: &str) -> String {
    format!("{job}-access")
}

/// The name of a job, which the API server has given.
pub(crate) fn of(job: &AIJob) -> &str {
    job.metadata.name.as_deref().unwrap_or_default()
}
