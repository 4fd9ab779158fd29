//! One node as the fleet sees it.

use jiff::Timestamp;
use serde_json::Value;

use super::object::{Health, NodePlan};
use crate::failure::Failures;

/// See the module.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) plan: NodePlan,
    /// Of the Node object.
    pub(crate) uid: String,
    pub(crate) health: Health,
    /// The lease exists, as far as we know.
    pub(crate) has_lease: bool,
    /// The status must be written at the next beat.
    pub(crate) status_due: bool,
    /// And at this time in any case.
    pub(crate) next_status: Timestamp,
    /// The beat that counts; others are left over.
    pub(crate) next_beat: Timestamp,
}

impl Member {
    /// Takes over what the API shows of the node; true if the node's failures changed.
    pub(crate) fn observe(&mut self, object: &Value, failures: Failures, now: Timestamp) -> bool {
        let changed = failures != self.health.failures;
        if failures.not_ready != self.health.failures.not_ready {
            self.health.since = now;
        }
        self.health.failures = failures;
        // Whatever a node controller made of our silence is put right as soon as we speak again.
        self.status_due |= changed || !self.is_shown(object);
        changed
    }

    fn is_shown(&self, object: &Value) -> bool {
        let want = if self.health.failures.not_ready { "False" } else { "True" };
        ready_condition(object).is_some_and(|condition| condition["status"] == want)
    }
}

/// The Ready condition of a Node.
pub(crate) fn ready_condition(object: &Value) -> Option<&Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == "Ready")
}

/// Since when the Node is as ready as it is.
pub(crate) fn ready_since(object: &Value) -> Option<Timestamp> {
    ready_condition(object)?["lastTransitionTime"].as_str()?.parse().ok()
}
