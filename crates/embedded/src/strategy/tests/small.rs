//! What is refused about new objects of the other kinds.

use serde_json::{Value, json};

use super::{creates, objects, row};

#[test]
fn data_has_keys_that_can_be_files_and_a_size() {
    let big = "a".repeat(1024 * 1024 + 1);
    creates(
        &objects::config_map(),
        &[
            row("a bad key").set("/data", json!({"a/b": "x"})).wants(&["Invalid data[a/b]"]),
            row("a key twice").set("/data", json!({"b": "x"})).wants(&["Invalid data[b]"]),
            row("too much").set("/data", json!({"a": big})).wants(&["TooLong []"]),
        ],
    );
    creates(
        &objects::secret(),
        &[
            row("a bad key").set("/stringData", json!({"..": "x"})).wants(&["Invalid data[..]"]),
            row("a certificate without a key")
                .set("/type", "kubernetes.io/tls")
                .set("/data", json!({"tls.crt": ""}))
                .wants(&["Required data[tls.key]"]),
            row("a token of nobody")
                .set("/type", "kubernetes.io/service-account-token")
                .wants(&["Required metadata.annotations[kubernetes.io/service-account.name]"]),
            row("a configuration that is none")
                .set("/type", "kubernetes.io/dockerconfigjson")
                .set("/data", json!({".dockerconfigjson": "eA=="}))
                .wants(&["Invalid data[.dockerconfigjson]"]),
            row("a type of one's own").set("/type", "example.com/thing"),
        ],
    );
}

#[test]
fn volumes_and_claims_have_a_size_and_a_way_to_be_mounted() {
    creates(
        &objects::claim(),
        &[
            row("no mode").set("/spec/accessModes", json!([])).wants(&["Required spec.accessModes"]),
            row("a mode nobody knows")
                .set("/spec/accessModes", json!(["X"]))
                .wants(&["NotSupported spec.accessModes"]),
            row("one Pod and others")
                .set("/spec/accessModes", json!(["ReadWriteOncePod", "ReadWriteOnce"]))
                .wants(&["Forbidden spec.accessModes"]),
            row("no size").set("/spec/resources", json!({})).wants(&["Required spec.resources[storage]"]),
            row("nothing")
                .set("/spec/resources/requests/storage", "0")
                .wants(&["Invalid spec.resources[storage]"]),
            row("a bad class").set("/spec/storageClassName", "A!").wants(&["Invalid spec.storageClassName"]),
            row("an old source nobody can read").set("/spec/dataSource", json!({"kind": "Pod", "name": "p"})),
            row("a source nobody can read")
                .set("/spec/dataSourceRef", json!({"kind": "Pod", "name": "p"}))
                .wants(&["Invalid spec.dataSourceRef", "Invalid spec.dataSource"]),
        ],
    );
    creates(
        &objects::persistent_volume(),
        &[
            row("no source").set("/spec/hostPath", Value::Null).wants(&["Required spec"]),
            row("two sources")
                .set("/spec/nfs", json!({"server": "s", "path": "/p"}))
                .wants(&["Forbidden spec.nfs"]),
            row("no size")
                .set("/spec/capacity", Value::Null)
                .wants(&["Required spec.capacity", "NotSupported spec.capacity"]),
            row("no mode").set("/spec/accessModes", Value::Null).wants(&["Required spec.accessModes"]),
            row("a policy nobody knows")
                .set("/spec/persistentVolumeReclaimPolicy", "Keep")
                .wants(&["NotSupported spec.persistentVolumeReclaimPolicy"]),
            row("a disk of no node")
                .set("/spec/hostPath", Value::Null)
                .set("/spec/local", json!({"path": "/x"}))
                .wants(&["Required spec.nodeAffinity"]),
        ],
    );
    creates(
        &objects::storage_class(),
        &[
            row("nobody").set("/provisioner", "").wants(&["Required provisioner"]),
            row("a mode nobody knows")
                .set("/volumeBindingMode", "Late")
                .wants(&["NotSupported volumeBindingMode"]),
            row("a policy nobody knows")
                .set("/reclaimPolicy", "Recycle")
                .wants(&["NotSupported reclaimPolicy"]),
        ],
    );
    creates(
        &objects::csi_driver(),
        &[row("a mode nobody knows")
            .set("/spec/volumeLifecycleModes", json!(["Eternal"]))
            .wants(&["NotSupported spec.volumeLifecycleModes"])],
    );
    creates(
        &objects::volume_attachment(),
        &[row("no node").set("/spec/nodeName", "").wants(&["Invalid spec.nodeName"])],
    );
}

#[test]
fn nodes_have_taints_and_amounts() {
    creates(
        &objects::node(),
        &[
            row("an effect nobody knows")
                .set("/spec/taints/0/effect", "Magic")
                .wants(&["NotSupported metadata.taints[0].effect"]),
            row("a taint twice")
                .set("/spec/taints/1", json!({"key": "gpu", "effect": "NoSchedule"}))
                .wants(&["Duplicate metadata.taints[1]"]),
            row("half a device").set("/status/capacity", json!({"nvidia.com/gpu": "500m"})).wants(&[
                "Invalid status.capacity.nvidia.com/gpu",
                "Invalid status.allocatable.nvidia.com/gpu",
            ]),
            row("a bad network")
                .set("/spec/podCIDRs", json!(["10.0.0.0"]))
                .wants(&["Invalid spec.podCIDRs[0]"]),
        ],
    );
}

#[test]
fn quotas_and_ranges_have_names_and_amounts() {
    creates(
        &objects::resource_quota(),
        &[
            row("a resource nobody knows")
                .set("/spec/hard", json!({"gpu": "1"}))
                .wants(&["Invalid spec.hard[gpu]", "Invalid spec.hard[gpu]"]),
            row("half a Pod").set("/spec/hard", json!({"pods": "500m"})).wants(&["Invalid spec.hard[pods]"]),
            row("less than nothing")
                .set("/spec/hard", json!({"pods": "-1"}))
                .wants(&["Invalid spec.hard[pods]"]),
            row("a scope nobody knows").set("/spec/scopes", json!(["Mine"])).wants(&["Invalid spec.scopes"]),
            row("scopes that exclude each other")
                .set("/spec/hard", json!({"pods": "1"}))
                .set("/spec/scopes", json!(["BestEffort", "NotBestEffort"]))
                .wants(&["Invalid spec.scopes"]),
            row("a scope that does not apply")
                .set("/spec/hard", json!({"secrets": "1"}))
                .set("/spec/scopes", json!(["Terminating"]))
                .wants(&["Invalid spec.scopes"]),
        ],
    );
    creates(
        &objects::limit_range(),
        &[
            row("a type twice")
                .set("/spec/limits/1", json!({"type": "Container"}))
                .wants(&["Duplicate spec.limits[1].type"]),
            row("more at least than at most")
                .set("/spec/limits/0", json!({"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}))
                .wants(&[
                    "Invalid spec.limits[0].min[cpu]",
                    "Invalid spec.limits[0].defaultRequest[cpu]",
                    "Invalid spec.limits[0].default[cpu]",
                ]),
            row("defaults of Pods")
                .set("/spec/limits/0", json!({"type": "Pod", "default": {"cpu": "2"}}))
                .wants(&["Forbidden spec.limits[0].default"]),
            row("a ratio below one")
                .set("/spec/limits/0", json!({"type": "Container", "maxLimitRequestRatio": {"cpu": "500m"}}))
                .wants(&["Invalid spec.limits[0].maxLimitRequestRatio[cpu]"]),
            row("claims without a size")
                .set("/spec/limits/0", json!({"type": "PersistentVolumeClaim"}))
                .wants(&["Required spec.limits[0].limits"]),
        ],
    );
}

#[test]
fn roles_and_bindings_say_who_may_do_what() {
    creates(
        &objects::role(),
        &[
            row("no verbs").set("/rules/0/verbs", json!([])).wants(&["Required rules[0].verbs"]),
            row("no groups").set("/rules/0/apiGroups", json!([])).wants(&["Required rules[0].apiGroups"]),
            row("no resources").set("/rules/0/resources", json!([])).wants(&["Required rules[0].resources"]),
            row("paths in a namespace")
                .set("/rules/0", json!({"nonResourceURLs": ["/x"], "verbs": ["get"]}))
                .wants(&["Invalid rules[0].nonResourceURLs"]),
            row("a colon in the name").set("/metadata/name", "system:x"),
            row("a percent sign in the name").set("/metadata/name", "a%b").wants(&["Invalid metadata.name"]),
        ],
    );
    creates(
        &objects::cluster_role(),
        &[
            row("paths and resources")
                .set("/rules/0/resources", json!(["pods"]))
                .wants(&["Invalid rules[0].nonResourceURLs"]),
            row("an empty aggregation")
                .set("/aggregationRule", json!({}))
                .wants(&["Required aggregationRule.clusterRoleSelectors"]),
        ],
    );
    creates(
        &objects::role_binding(),
        &[
            row("a kind nobody knows").set("/roleRef/kind", "Group").wants(&["NotSupported roleRef.kind"]),
            row("no role").set("/roleRef/name", "").wants(&["Required roleRef.name"]),
            row("another group").set("/roleRef/apiGroup", "x").wants(&["NotSupported roleRef.apiGroup"]),
            row("a subject nobody knows")
                .set("/subjects/0/kind", "Robot")
                .wants(&["NotSupported subjects[0].kind"]),
            row("no subject").set("/subjects/0/name", "").wants(&["Required subjects[0].name"]),
        ],
    );
    creates(
        &objects::cluster_role_binding(),
        &[
            row("a role of a namespace").set("/roleRef/kind", "Role").wants(&["NotSupported roleRef.kind"]),
            row("an account of no namespace")
                .set("/subjects/0/namespace", Value::Null)
                .wants(&["Required subjects[0].namespace"]),
        ],
    );
}

#[test]
fn leases_budgets_priorities_and_events_make_sense() {
    creates(
        &objects::lease(),
        &[
            row("no time").set("/spec/leaseDurationSeconds", 0).wants(&["Invalid spec.leaseDurationSeconds"]),
            row("fewer than none")
                .set("/spec/leaseTransitions", -1)
                .wants(&["Invalid spec.leaseTransitions"]),
        ],
    );
    creates(
        &objects::pod_disruption_budget(),
        &[
            row("both").set("/spec/maxUnavailable", 1).wants(&["Invalid spec"]),
            row("more than all").set("/spec/minAvailable", "101%").wants(&["Invalid spec.minAvailable"]),
            row("not a percentage").set("/spec/minAvailable", "half").wants(&["Invalid spec.minAvailable"]),
            row("a policy nobody knows")
                .set("/spec/unhealthyPodEvictionPolicy", "X")
                .wants(&["NotSupported spec.unhealthyPodEvictionPolicy"]),
        ],
    );
    creates(
        &objects::priority_class(),
        &[
            row("too high").set("/value", 1_000_000_001).wants(&["Forbidden value"]),
            row("the system's own").set("/metadata/name", "system-mine").wants(&["Forbidden metadata.name"]),
            row("a policy nobody knows")
                .set("/preemptionPolicy", "X")
                .wants(&["NotSupported preemptionPolicy"]),
        ],
    );
    creates(
        &objects::event(),
        &[row("about another namespace")
            .set("/involvedObject/namespace", "other")
            .wants(&["Invalid involvedObject.namespace"])],
    );
    creates(
        &objects::new_event(),
        &[
            row("a good one"),
            row("nobody's").set("/reportingController", "").wants(&[
                "Required reportingController",
                "Invalid reportingController",
                "Invalid reportingController",
            ]),
            row("no action").set("/action", "").wants(&["Required action"]),
            row("a type nobody knows").set("/type", "Odd").wants(&["Invalid type"]),
            row("a series of one")
                .set("/series", json!({"count": 1, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}))
                .wants(&["Invalid series.count"]),
        ],
    );
}

#[test]
fn certificates_and_webhooks_are_complete() {
    creates(
        &objects::certificate_signing_request(),
        &[
            row("not a request").set("/spec/request", "eA==").wants(&["Invalid spec.request"]),
            row("no usage").set("/spec/usages", json!([])).wants(&["Required spec.usages"]),
            row("a usage nobody knows")
                .set("/spec/usages", json!(["magic"]))
                .wants(&["NotSupported spec.usages[0]"]),
            row("no signer").set("/spec/signerName", "").wants(&["Required spec.signerName"]),
            row("a signer without a domain")
                .set("/spec/signerName", "x/y")
                .wants(&["Invalid spec.signerName"]),
            row("too short").set("/spec/expirationSeconds", 60).wants(&["Invalid spec.expirationSeconds"]),
        ],
    );
    for kind in [objects::mutating_webhook(), objects::validating_webhook()] {
        creates(
            &kind,
            &[
                row("a short name").set("/webhooks/0/name", "hook").wants(&["Invalid webhooks[0].name"]),
                row("no side effects said")
                    .set("/webhooks/0/sideEffects", Value::Null)
                    .wants(&["Required webhooks[0].sideEffects"]),
                row("side effects")
                    .set("/webhooks/0/sideEffects", "Some")
                    .wants(&["NotSupported webhooks[0].sideEffects"]),
                row("no version")
                    .set("/webhooks/0/admissionReviewVersions", json!([]))
                    .wants(&["Required webhooks[0].admissionReviewVersions"]),
                row("a version nobody sends")
                    .set("/webhooks/0/admissionReviewVersions", json!(["v9"]))
                    .wants(&["Invalid webhooks[0].admissionReviewVersions"]),
                row("nowhere")
                    .set("/webhooks/0/clientConfig", json!({}))
                    .wants(&["Required webhooks[0].clientConfig"]),
                row("two ways")
                    .set("/webhooks/0/clientConfig/url", "https://a")
                    .wants(&["Required webhooks[0].clientConfig"]),
                row("an open line")
                    .set("/webhooks/0/clientConfig", json!({"url": "http://a"}))
                    .wants(&["Invalid webhooks[0].clientConfig.url"]),
                row("a long wait")
                    .set("/webhooks/0/timeoutSeconds", 31)
                    .wants(&["Invalid webhooks[0].timeoutSeconds"]),
                row("no operations")
                    .set("/webhooks/0/rules/0/operations", json!([]))
                    .wants(&["Required webhooks[0].rules[0].operations"]),
                row("an operation nobody knows")
                    .set("/webhooks/0/rules/0/operations", json!(["PAINT"]))
                    .wants(&["NotSupported webhooks[0].rules[0].operations[0]"]),
                row("all groups and one")
                    .set("/webhooks/0/rules/0/apiGroups", json!(["*", "apps"]))
                    .wants(&["Invalid webhooks[0].rules[0].apiGroups"]),
            ],
        );
    }
}

#[test]
fn definitions_and_namespaces_are_named_after_what_they_define() {
    creates(
        &objects::custom_resource_definition(),
        &[row("another name").set("/metadata/name", "other.example.com").wants(&["Invalid metadata.name"])],
    );
    creates(
        &objects::namespace(),
        &[
            row("a dot").set("/metadata/name", "a.b").wants(&["Invalid metadata.name"]),
            row("a bad finalizer")
                .set("/spec", json!({"finalizers": ["a b"]}))
                .wants(&["Invalid spec.finalizers"]),
        ],
    );
    creates(
        &objects::controller_revision(),
        &[
            row("nothing").set("/data", Value::Null).wants(&["Required data"]),
            row("before the first").set("/revision", -1).wants(&["Invalid revision"]),
        ],
    );
}
