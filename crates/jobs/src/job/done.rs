//! Places of a job whose Pods have ended well.
//!
//! They are written down, so that work which is done stays done when its Pod is taken away later, with its node or by
//! somebody who tidies up.

use std::collections::BTreeSet;

use maar_api::v1alpha1::{AIJobSpec, AIJobStatus, TaskSpec};

use super::observe::{Seen, State, is_current};
use crate::family::{in_words, indices};

/// Numbers of the Pods that have ended well in this attempt, by the position of their task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Done(Vec<BTreeSet<i32>>);

impl Done {
    /// What the status remembers, and what the Pods say.
    pub(crate) fn of(spec: &AIJobSpec, status: &AIJobStatus, seen: &[Seen<'_>]) -> Self {
        let mut all: Vec<BTreeSet<i32>> = spec.tasks.iter().map(|task| remembered(task, status)).collect();
        for pod in seen.iter().filter(|pod| pod.state == State::Succeeded && is_current(pod, status)) {
            if let Some(task) = pod.task.and_then(|at| all.get_mut(at)) {
                task.insert(pod.index);
            }
        }
        Self(all)
    }

    /// A new attempt begins.
    pub(crate) fn forget(&mut self) {
        self.0.iter_mut().for_each(BTreeSet::clear);
    }

    pub(crate) fn has(&self, task: usize, index: i32) -> bool {
        self.0.get(task).is_some_and(|all| all.contains(&index))
    }

    pub(crate) fn count(&self, task: usize) -> usize {
        self.0.get(task).map_or(0, BTreeSet::len)
    }

    /// Such as `0-3,7`; none if there is nothing to say.
    pub(crate) fn text(&self, task: usize) -> Option<String> {
        let all = self.0.get(task)?.iter().filter_map(|index| u32::try_from(*index).ok());
        let text = in_words(all);
        (!text.is_empty()).then_some(text)
    }
}

fn remembered(task: &TaskSpec, status: &AIJobStatus) -> BTreeSet<i32> {
    let known = status.tasks.iter().find(|one| one.name == task.name);
    let text = known.and_then(|one| one.succeeded_indices.as_deref());
    let all = text.and_then(|text| indices(text).ok()).unwrap_or_default();
    let all = all.into_iter().filter_map(|index| i32::try_from(index).ok());
    all.filter(|index| *index < task.replicas).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_down_is_read_again(wanted in proptest::collection::btree_set(0..200_i32, 0..60)) {
            let task: TaskSpec =
                serde_json::from_value(serde_json::json!({ "name": "a", "replicas": 200, "template": {} })).unwrap();
            let mut status = AIJobStatus::default();
            let text = Done(vec![wanted.clone()]).text(0);
            prop_assert_eq!(text.is_none(), wanted.is_empty());
            status.tasks = vec![maar_api::v1alpha1::TaskStatus {
                name: "a".to_owned(), succeeded_indices: text, ..Default::default()
            }];
            prop_assert_eq!(remembered(&task, &status), wanted);
        }
    }
}
