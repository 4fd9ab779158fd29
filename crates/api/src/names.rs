//! Names that several crates must spell alike.

/// API group of Maar's own kinds.
pub const GROUP: &str = "maar.io";
/// The only version of [`GROUP`] so far.
pub const VERSION: &str = "v1alpha1";
/// `apiVersion` of Maar's own kinds.
pub const API_VERSION: &str = "maar.io/v1alpha1";

/// Label that says who looks after an object.
pub const LABEL_MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Value of [`LABEL_MANAGED_BY`] on objects that Maar creates.
pub const MANAGED_BY: &str = "maar";

/// `schedulerName` of the Pods that Maar places.
pub const SCHEDULER_NAME: &str = "maar-scheduler";
/// The account of those who name none.
pub const DEFAULT_ACCOUNT: &str = "default";

/// Pod label: the AIJob it belongs to, in the Pod's namespace. Pods of one job start together.
pub const LABEL_JOB: &str = "maar.io/job";
/// Pod label: the task of the job it belongs to.
pub const LABEL_TASK: &str = "maar.io/task";
/// Pod label: its number within the task, from 0.
pub const LABEL_INDEX: &str = "maar.io/index";
/// Pod label: the attempt of the job it was made for, from 0.
pub const LABEL_ATTEMPT: &str = "maar.io/attempt";
/// Pod label: the workspace it belongs to, in the Pod's namespace.
pub const LABEL_WORKSPACE: &str = "maar.io/workspace";
/// Label of an AIJob that a schedule or an array made: the AIJob that asked for it.
pub const LABEL_PARENT: &str = "maar.io/parent";
/// Label of an AIJob that an array made: its index.
pub const LABEL_ARRAY_INDEX: &str = "maar.io/array-index";
/// Pod label: the account that pays.
pub const LABEL_ACCOUNT: &str = "maar.io/account";
/// Pod label: the member of the account whose cap applies.
pub const LABEL_USER: &str = "maar.io/user";
/// Pod label: [`LEVEL_GUARANTEED`] or [`LEVEL_BEST_EFFORT`].
pub const LABEL_SERVICE_LEVEL: &str = "maar.io/service-level";
/// Value of [`LABEL_SERVICE_LEVEL`]: stopped only for an account that is short of what it deserves.
pub const LEVEL_GUARANTEED: &str = "guaranteed";
/// Value of [`LABEL_SERVICE_LEVEL`]: runs on what is free, and gives way with notice.
pub const LEVEL_BEST_EFFORT: &str = "best-effort";

/// Pod annotation: a part of one card, such as `nvidia.com/gpu=0.5` or `nvidia.com/gpu=8Gi`.
pub const ANNOTATION_CARD_SHARE: &str = "maar.io/card-share";
/// Pod annotation: the number of the card that the user insists on.
pub const ANNOTATION_CARD_INDEX: &str = "maar.io/card-index";
/// Pod annotation, written at bind: the cards given, such as `nvidia.com/gpu=2,3` or `nvidia.com/gpu=2:0.5`.
pub const ANNOTATION_CARDS: &str = "maar.io/cards";
/// Pod annotation, written at bind: only the numbers, such as `2,3`, for the downward API.
pub const ANNOTATION_VISIBLE_CARDS: &str = "maar.io/visible-cards";
/// Pod annotation: the longest run in whole seconds. Work longer than the window of a lent node does not start there.
pub const ANNOTATION_MAX_RUN_TIME: &str = "maar.io/max-run-time";
/// Pod annotation: may be placed on lent nodes if `true`.
pub const ANNOTATION_LENT_NODES: &str = "maar.io/lent-nodes";
/// Pod annotation: notice that it will be stopped at this time (RFC 3339); a program reads it by the downward API.
pub const ANNOTATION_STOP_AT: &str = "maar.io/stop-at";
/// Pod annotation: why it will be stopped, in one word.
pub const ANNOTATION_STOP_REASON: &str = "maar.io/stop-reason";
/// Annotation of jobs and workspaces: clean-up policies leave it alone until this time (RFC 3339).
pub const ANNOTATION_LOCKED_UNTIL: &str = "maar.io/locked-until";
/// Annotation of jobs and workspaces: clean-up policies leave it alone if `true`.
pub const ANNOTATION_KEEP: &str = "maar.io/keep";
/// Annotation of jobs and workspaces: a clean-up policy will end it at this time (RFC 3339). For people and programs to
/// read; what counts is the status.
pub const ANNOTATION_CLEAN_AT: &str = "maar.io/clean-at";
/// Annotation of jobs and workspaces: which rule of the policy will end it.
pub const ANNOTATION_CLEAN_RULE: &str = "maar.io/clean-rule";

/// Namespace annotation: the most cards that its Pods may have together, shares of cards included, as JSON such as
/// `{"nvidia.com/gpu":"2"}`. The portal writes it and the scheduler holds to it.
pub const ANNOTATION_USER_LIMITS: &str = "maar.io/user-limits";

/// Node label: the pool it belongs to.
pub const LABEL_POOL: &str = "maar.io/pool";
/// Node annotation: when a lent node closes (RFC 3339).
pub const ANNOTATION_CLOSES_AT: &str = "maar.io/closes-at";
/// Node label of lent (virtual) nodes, with the value [`LENT_BY`].
pub const LABEL_LENT: &str = "kubeocean.io/managed-by";
/// Value of [`LABEL_LENT`].
pub const LENT_BY: &str = "kubeocean";

/// Pod annotation by which Volcano names the PodGroup of a Pod.
pub const ANNOTATION_VOLCANO_GROUP: &str = "scheduling.k8s.io/group-name";
/// Pod label by which Volcano names the Job of a Pod.
pub const LABEL_VOLCANO_JOB: &str = "volcano.sh/job-name";
/// Annotation by which Volcano names the queue of a Pod or a group.
pub const ANNOTATION_VOLCANO_QUEUE: &str = "scheduling.volcano.sh/queue-name";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_version_is_group_and_version() {
        assert_eq!(API_VERSION, format!("{GROUP}/{VERSION}"));
    }
}
