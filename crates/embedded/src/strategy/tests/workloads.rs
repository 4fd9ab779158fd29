//! What is refused about new controllers of Pods.

use serde_json::{Value, json};

use super::{creates, objects, row};

#[test]
fn every_controller_selects_its_own_pods() {
    for kind in
        [objects::deployment(), objects::replica_set(), objects::stateful_set(), objects::daemon_set()]
    {
        let deadline = "Forbidden spec.template.spec.activeDeadlineSeconds";
        let operator = "Invalid spec.selector.matchExpressions[0].operator";
        let lenient = kind.object["kind"] == "DaemonSet";
        let refused: &[&str] = if lenient { &[operator] } else { &[operator, "Invalid spec.selector"] };
        creates(
            &kind,
            &[
                row("a good one"),
                row("an empty selector").set("/spec/selector", json!({})).wants(&["Invalid spec.selector"]),
                row("another selector")
                    .set("/spec/selector", json!({"matchLabels": {"app": "other"}}))
                    .wants(&["Invalid spec.template.metadata.labels"]),
                row("an operator nobody knows")
                    .set("/spec/selector", json!({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "a", "operator": "Like"}]}))
                    .wants(refused),
                row("no image")
                    .set("/spec/template/spec/containers/0/image", "")
                    .wants(&["Required spec.template.spec.containers[0].image"]),
                row("Pods that end")
                    .set("/spec/template/spec/restartPolicy", "Never")
                    .wants(&["NotSupported spec.template.spec.restartPolicy"]),
                row("Pods with a deadline").set("/spec/template/spec/activeDeadlineSeconds", 1).wants(&[deadline]),
                row("ephemeral containers")
                    .set("/spec/template/spec/ephemeralContainers", json!([{"name": "e", "image": "b"}]))
                    .wants(&["Forbidden spec.template.spec.ephemeralContainers"]),
            ],
        );
    }
}

#[test]
fn deployments_can_make_progress() {
    creates(
        &objects::daemon_set(),
        &[row("no selector")
            .set("/spec/selector", Value::Null)
            .wants(&["Invalid spec.template.metadata.labels"])],
    );
    creates(
        &objects::deployment(),
        &[
            row("no selector")
                .set("/spec/selector", Value::Null)
                .wants(&["Required spec.selector", "Invalid spec.template.metadata.labels"]),
            row("fewer than none").set("/spec/replicas", -1).wants(&["Invalid spec.replicas"]),
            row("a strategy nobody knows")
                .set("/spec/strategy/type", "Magic")
                .wants(&["NotSupported spec.strategy"]),
            row("a speed and no rolling")
                .set("/spec/strategy", json!({"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}))
                .wants(&["Forbidden spec.strategy.rollingUpdate"]),
            row("no speed")
                .set("/spec/strategy/rollingUpdate", json!({"maxSurge": 0, "maxUnavailable": 0}))
                .wants(&["Invalid spec.strategy.rollingUpdate.maxUnavailable"]),
            row("not a percentage")
                .set("/spec/strategy/rollingUpdate", json!({"maxSurge": "half"}))
                .wants(&["Invalid spec.strategy.rollingUpdate.maxSurge"]),
            row("more than all")
                .set("/spec/strategy/rollingUpdate", json!({"maxUnavailable": "200%"}))
                .wants(&["Invalid spec.strategy.rollingUpdate.maxUnavailable"]),
            row("a deadline before it is ready")
                .set("/spec/progressDeadlineSeconds", 10)
                .set("/spec/minReadySeconds", 10)
                .wants(&["Invalid spec.progressDeadlineSeconds"]),
        ],
    );
}

#[test]
fn stateful_sets_have_sound_claims() {
    creates(
        &objects::stateful_set(),
        &[
            row("a policy nobody knows")
                .set("/spec/podManagementPolicy", "Chaos")
                .wants(&["Invalid spec.podManagementPolicy"]),
            row("a strategy nobody knows")
                .set("/spec/updateStrategy/type", "Magic")
                .wants(&["Invalid spec.updateStrategy"]),
            row("a partition below zero")
                .set(
                    "/spec/updateStrategy",
                    json!({"type": "RollingUpdate", "rollingUpdate": {"partition": -1}}),
                )
                .wants(&["Invalid spec.updateStrategy.rollingUpdate.partition"]),
            row("a bad service").set("/spec/serviceName", "A").wants(&["Invalid spec.serviceName"]),
            row("a claim of nothing")
                .set("/spec/volumeClaimTemplates/0/spec/resources", json!({}))
                .wants(&["Required spec.volumeClaimTemplates[0].spec.resources[storage]"]),
            row("a retention nobody knows")
                .set("/spec/persistentVolumeClaimRetentionPolicy", json!({"whenDeleted": "Maybe"}))
                .wants(&["NotSupported spec.persistentVolumeClaimRetentionPolicy.whenDeleted"]),
        ],
    );
}

#[test]
fn daemon_sets_change_one_way_or_the_other() {
    let rolling = "/spec/updateStrategy/rollingUpdate";
    creates(
        &objects::daemon_set(),
        &[
            row("a surge").set(rolling, json!({"maxSurge": 1, "maxUnavailable": 0})),
            row("both ways")
                .set(rolling, json!({"maxSurge": 1, "maxUnavailable": 1}))
                .wants(&["Invalid spec.updateStrategy.rollingUpdate.maxSurge"]),
            row("no way")
                .set(rolling, json!({"maxSurge": 0, "maxUnavailable": 0}))
                .wants(&["Required spec.updateStrategy.rollingUpdate.maxUnavailable"]),
        ],
    );
}

#[test]
fn jobs_end() {
    let mode = "/spec/completionMode";
    creates(
        &objects::job(),
        &[
            row("Pods that never end")
                .set("/spec/template/spec/restartPolicy", "Always")
                .wants(&["Required spec.template.spec.restartPolicy"]),
            row("fewer than none").set("/spec/parallelism", -1).wants(&["Invalid spec.parallelism"]),
            row("a mode nobody knows").set(mode, "Random").wants(&["NotSupported spec.completionMode"]),
            row("indexes without a number of them")
                .set(mode, "Indexed")
                .set("/spec/parallelism", 1)
                .wants(&["Required spec.completions"]),
            row("too many at once")
                .set(mode, "Indexed")
                .set("/spec/completions", 5)
                .set("/spec/parallelism", 100_001)
                .wants(&["Invalid spec.parallelism"]),
            row("retries of indexes without indexes")
                .set("/spec/backoffLimitPerIndex", 1)
                .wants(&["Invalid spec.backoffLimitPerIndex"]),
            row("another's selector").set("/spec/selector", json!({"matchLabels": {"a": "b"}})).wants(&[
                "Invalid spec.template.metadata.labels",
                "Invalid spec.selector",
            ]),
            row("a rule without an action")
                .set("/spec/podFailurePolicy", json!({"rules": [{"onExitCodes": {"operator": "In", "values": [1]}}]}))
                .wants(&["Required spec.podFailurePolicy.rules[0].action"]),
            row("codes out of order")
                .set("/spec/podFailurePolicy", json!({"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2, 1]}}]}))
                .wants(&["Invalid spec.podFailurePolicy.rules[0].onExitCodes.values"]),
            row("a success among failures")
                .set("/spec/podFailurePolicy", json!({"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [0]}}]}))
                .wants(&["Invalid spec.podFailurePolicy.rules[0].onExitCodes.values[0]"]),
            row("a container that is not there")
                .set("/spec/podFailurePolicy", json!({"rules": [{"action": "FailJob", "onExitCodes": {"containerName": "x", "operator": "In", "values": [1]}}]}))
                .wants(&["Invalid spec.podFailurePolicy.rules[0].onExitCodes.containerName"]),
            row("success of indexes that are not there")
                .set(mode, "Indexed")
                .set("/spec/completions", 3)
                .set("/spec/successPolicy", json!({"rules": [{"succeededIndexes": "0-5"}]}))
                .wants(&["Invalid spec.successPolicy.rules[0].succeededIndexes"]),
            row("a name too long for its Pods")
                .set("/metadata/name", "a".repeat(63))
                .set(mode, "Indexed")
                .set("/spec/completions", 3)
                .wants(&["Invalid metadata.name"]),
            row("a manager without a domain").set("/spec/managedBy", "me").wants(&["Invalid spec.managedBy"]),
        ],
    );
}

#[test]
fn cron_jobs_have_a_schedule() {
    creates(
        &objects::cron_job(),
        &[
            row("none").set("/spec/schedule", "").wants(&["Required spec.schedule"]),
            row("a bad one").set("/spec/schedule", "* * *").wants(&["Invalid spec.schedule"]),
            row("a zone in the schedule")
                .set("/spec/schedule", "TZ=UTC * * * * *")
                .wants(&["Invalid spec.schedule"]),
            row("a zone").set("/spec/timeZone", "Asia/Shanghai"),
            row("a zone nobody knows").set("/spec/timeZone", "Moon/Sea").wants(&["Invalid spec.timeZone"]),
            row("whatever zone").set("/spec/timeZone", "Local").wants(&["Invalid spec.timeZone"]),
            row("a policy nobody knows")
                .set("/spec/concurrencyPolicy", "Pile")
                .wants(&["NotSupported spec.concurrencyPolicy"]),
            row("a long name").set("/metadata/name", "a".repeat(53)).wants(&["Invalid metadata.name"]),
            row("Pods that never end")
                .set("/spec/jobTemplate/spec/template/spec/restartPolicy", "Always")
                .wants(&["Required spec.jobTemplate.spec.template.spec.restartPolicy"]),
            row("a selector")
                .set("/spec/jobTemplate/spec/selector", json!({"matchLabels": {"a": "b"}}))
                .wants(&["Invalid spec.jobTemplate.spec.selector"]),
        ],
    );
}
