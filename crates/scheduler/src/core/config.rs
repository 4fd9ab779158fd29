//! What an administrator may set.

use crate::model::{LabelSelector, Millis};

/// Settings of the core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// For how many waiting groups nodes are held at a time.
    pub reservations: usize,
    /// How long a group waits before nodes are held for it although nobody can say when they will be free.
    pub patience: Millis,
    /// How long Pods get to stop, where their group does not say.
    pub grace: Millis,
    /// How long a gang may stand with some of its Pods placed and others not before that is reported.
    pub gang_deadline: Millis,
    /// How long Pods that were asked to go may take before the room is no longer counted on.
    pub leave_deadline: Millis,
    /// Whether Pods are asked to go at all.
    pub preemption: bool,
    /// For how many equal groups room is made at a time.
    pub batch: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            reservations: 4,
            patience: 300_000,
            grace: 30_000,
            gang_deadline: 300_000,
            leave_deadline: 600_000,
            preemption: true,
            batch: 256,
        }
    }
}

/// How many Pods of a kind may be stopped now; from PodDisruptionBudgets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisruptionBudget {
    /// The namespace it is about.
    pub namespace: String,
    /// Which Pods.
    pub selector: LabelSelector,
    /// How many may go.
    pub allowed: u32,
    /// How many must stay. What the API server makes of it is `allowed`; a simulation has to do that itself.
    pub desired: u32,
}
