//! Jobs that make jobs: by the clock, or one per index.
//!
//! A parent runs no Pods. Its children are AIJobs with deterministic names (`NAME-TIME` in minutes since 1970, or
//! `NAME-INDEX`), its label and its owner reference; each queues, starts and fails by itself.

mod array;
mod schedule;

use std::collections::BTreeSet;

use jiff::Timestamp;
use maar_api::{
    names,
    v1alpha1::{AIJob, AIJobSpec, AIJobStatus},
};

pub(crate) use array::{in_words, index, indices};

use crate::{
    job::{Stay, stay},
    name,
    object::belonging,
};

/// What is known of a parent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FamilyView<'a> {
    pub(crate) job: &'a AIJob,
    pub(crate) children: &'a [AIJob],
    /// The children that the server has, by index, if it was asked: the watch may lag, and leaves out what it cannot read.
    pub(crate) on_server: Option<&'a BTreeSet<u32>>,
    pub(crate) now: Timestamp,
}

/// What to write: first children to make, then the status that knows of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct FamilyPlan {
    pub(crate) status: AIJobStatus,
    pub(crate) create: Vec<AIJob>,
    /// Children to stop for good.
    pub(crate) cancel: Vec<AIJob>,
    /// Children to suspend, or to wake.
    pub(crate) suspend: Vec<(AIJob, bool)>,
    /// Children that are over and not kept.
    pub(crate) delete: Vec<AIJob>,
    /// The parent itself is over, and to go.
    pub(crate) expired: bool,
    /// A child seems to have been deleted: the server has to be asked before that is believed.
    pub(crate) doubtful: bool,
    pub(crate) again: Option<std::time::Duration>,
}

/// Whether a job makes jobs instead of Pods.
pub(crate) fn is_parent(spec: &AIJobSpec) -> bool {
    spec.schedule.is_some() || spec.array.is_some()
}

pub(crate) fn plan(view: &FamilyView<'_>) -> FamilyPlan {
    if view.job.spec.schedule.is_some() { schedule::plan(view) } else { array::plan(view) }
}

/// A child: the parent's spec without what made it a parent.
fn child(parent: &AIJob, suffix: &str, spec: AIJobSpec) -> AIJob {
    let mut metadata = belonging(parent, format!("{}-{suffix}", name::of(parent)));
    let labels = metadata.labels.get_or_insert_default();
    labels.remove(names::LABEL_JOB);
    labels.insert(names::LABEL_PARENT.to_owned(), name::of(parent).to_owned());
    metadata.annotations = kept_annotations(parent);
    AIJob { metadata, spec, status: None }
}

/// Locks of the parent are its children's too.
fn kept_annotations(parent: &AIJob) -> Option<std::collections::BTreeMap<String, String>> {
    let mut all = parent.metadata.annotations.clone()?;
    all.retain(|name, _| [names::ANNOTATION_KEEP, names::ANNOTATION_LOCKED_UNTIL].contains(&name.as_str()));
    (!all.is_empty()).then_some(all)
}

/// What is left to do with a parent that is over.
fn expire(view: &FamilyView<'_>, plan: &mut FamilyPlan) {
    match stay(&view.job.spec, &plan.status, view.now) {
        Stay::ForEver => {}
        Stay::For(wait) => plan.again = Some(wait),
        Stay::Over => plan.expired = true,
    }
}

fn is_over(job: &AIJob) -> bool {
    job.status.as_ref().is_some_and(|status| status.phase.is_final())
}

#[cfg(test)]
mod tests;
