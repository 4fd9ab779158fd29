//! Types and reasons of conditions, and reasons of phases.

/// Types of conditions.
pub mod condition_types {
    /// The object makes sense; if not, nothing is made of it.
    pub const VALID: &str = "Valid";
    /// What the job needs of the cluster, such as Volcano, is there.
    pub const BACKEND_READY: &str = "BackendReady";
    /// Enough Pods have nodes.
    pub const SCHEDULED: &str = "Scheduled";
    /// Enough Pods run.
    pub const RUNNING: &str = "Running";
    /// The job is over: well if the reason is `Succeeded`.
    pub const FINISHED: &str = "Finished";
    /// The workspace can be used; the account makes sense.
    pub const READY: &str = "Ready";
    /// A clean-up policy will end it, at the time the message says.
    pub const CLEANUP_DUE: &str = "CleanupDue";
    /// Every field of the templates is one that Kubernetes knows.
    pub const TEMPLATE_UNDERSTOOD: &str = "TemplateUnderstood";
}

/// Reasons of conditions and phases.
pub mod reasons {
    /// Everything is as it should be.
    pub const AS_ASKED: &str = "AsAsked";
    /// The object contradicts itself or the kind of job.
    pub const INVALID: &str = "Invalid";
    /// The object cannot be read.
    pub const MALFORMED: &str = "Malformed";
    /// The API server refuses what would be made.
    pub const REFUSED: &str = "Refused";
    /// Volcano is asked for and not installed.
    pub const VOLCANO_MISSING: &str = "VolcanoMissing";
    /// Its Pods are being made.
    pub const CREATING: &str = "Creating";
    /// Pods wait for nodes.
    pub const WAITING_FOR_NODES: &str = "WaitingForNodes";
    /// Pods have nodes and are starting.
    pub const STARTING: &str = "Starting";
    /// Enough Pods run.
    pub const MINIMUM_RUNNING: &str = "MinimumRunning";
    /// The tasks that decide have ended well.
    pub const SUCCEEDED: &str = "Succeeded";
    /// A Pod has failed and no retry is left.
    pub const RETRIES_EXHAUSTED: &str = "RetriesExhausted";
    /// A Pod has failed; another attempt follows.
    pub const POD_FAILED: &str = "PodFailed";
    /// A Pod was deleted or evicted by somebody else, or its node is gone.
    pub const POD_LOST: &str = "PodLost";
    /// The number of its Pods was changed, and its programs have to begin again to know it.
    pub const RESIZED: &str = "Resized";
    /// It ran longer than it may.
    pub const MAX_RUN_TIME: &str = "MaxRunTimeExceeded";
    /// Its deadline has passed.
    pub const DEADLINE: &str = "DeadlineExceeded";
    /// Somebody set `cancel`.
    pub const CANCELLED: &str = "Cancelled";
    /// Somebody set `suspend`.
    pub const SUSPENDED: &str = "Suspended";
    /// It was suspended and is about to go on.
    pub const RESUMING: &str = "Resuming";
    /// The scheduler took its place for others.
    pub const PREEMPTED: &str = "Preempted";
    /// Another Pod was given its card before it.
    pub const CARD_TAKEN: &str = "CardTaken";
    /// Waits for the next time of its schedule.
    pub const WAITING_FOR_TIME: &str = "WaitingForTime";
    /// Jobs of the array are still to end.
    pub const ARRAY_ACTIVE: &str = "ArrayActive";
    /// Jobs of the array have failed.
    pub const ARRAY_FAILED: &str = "ArrayFailed";
    /// The parent account does not exist.
    pub const PARENT_MISSING: &str = "ParentMissing";
    /// The account is its own ancestor.
    pub const CYCLE: &str = "Cycle";
    /// Accounts of one parent are guaranteed more than the parent is.
    pub const GUARANTEED_EXCEEDS_PARENT: &str = "GuaranteedExceedsParent";
    /// Accounts of one parent deserve more than the parent does.
    pub const DESERVED_EXCEEDS_PARENT: &str = "DeservedExceedsParent";
    /// An account is guaranteed or deserves more than it may have.
    pub const CAPABILITY_TOO_SMALL: &str = "CapabilityTooSmall";
    /// A clean-up policy ended it because it ran for long.
    pub const CLEANED_UP_LONG_RUNNING: &str = "CleanedUpLongRunning";
    /// A clean-up policy ended it because its cards were idle.
    pub const CLEANED_UP_IDLE: &str = "CleanedUpIdle";
    /// A clean-up policy ended it because it waited for long.
    pub const CLEANED_UP_WAITING: &str = "CleanedUpWaiting";
    /// The nightly clean-up suspended it.
    pub const CLEANED_UP_NIGHTLY: &str = "CleanedUpNightly";
    /// A template has fields that Kubernetes does not know; they are left out.
    pub const UNKNOWN_FIELDS: &str = "UnknownFields";
}
