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
    /// A node controller has given it up.
    pub(crate) misjudged: bool,
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
            self.health.ready_since = now;
        }
        self.health.failures = failures;
        // Whatever a node controller made of our silence is put right as soon as we speak again.
        self.misjudged = ready(object) == Some("Unknown");
        let want = if failures.not_ready { "False" } else { "True" };
        self.status_due |= changed || ready(object) != Some(want);
        changed
    }

    /// A status is about to be written: where it contradicts what others wrote, things change now and not when we
    /// last said so.
    pub(crate) fn speak_again(&mut self, now: Timestamp) {
        if std::mem::take(&mut self.misjudged) {
            self.health.ready_since = now;
            self.health.others_since = now;
        }
    }
}

impl Health {
    /// The health of a sound node: as it is shown, or from now on.
    pub(crate) fn known(object: &Value, now: Timestamp) -> Self {
        let since = |kind: &str, status: &str| {
            let shown = condition(object, kind).filter(|condition| condition["status"] == status)?;
            shown["lastTransitionTime"].as_str()?.parse().ok()
        };
        Self {
            failures: Failures::NONE,
            ready_since: since("Ready", "True").unwrap_or(now),
            others_since: since("MemoryPressure", "False").unwrap_or(now),
        }
    }
}

fn ready(object: &Value) -> Option<&str> {
    condition(object, "Ready")?["status"].as_str()
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}
