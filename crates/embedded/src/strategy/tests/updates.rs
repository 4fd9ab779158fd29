//! What may change and what may not.

use serde_json::{Value, json};

use super::super::Strategy as _;
use super::super::{Deployment, EndpointSlice};
use super::{changes, create, objects, row, set, status_changes, stored, update, update_status};
use crate::resource::Subresource;

#[test]
fn hardly_anything_of_a_pod_changes() {
    let kind = objects::pod();
    let mut old = stored(&kind);
    old["spec"]["tolerations"] = json!([{"key": "a", "operator": "Exists"}]);
    old["spec"]["activeDeadlineSeconds"] = 100.into();
    changes(
        &kind,
        &old,
        &[
            row("nothing"),
            row("the image").set("/spec/containers/0/image", "b:2"),
            row("a label").set("/metadata/labels", json!({"a": "b"})),
            row("another toleration").set("/spec/tolerations/1", json!({"key": "b", "operator": "Exists"})),
            row("an end of a toleration").set(
                "/spec/tolerations",
                json!([{"key": "a", "operator": "Exists", "tolerationSeconds": 5, "effect": "NoExecute"}]),
            )
            .wants(&["Forbidden spec.tolerations"]),
            row("no toleration").set("/spec/tolerations", json!([])).wants(&["Forbidden spec.tolerations"]),
            row("an earlier deadline").set("/spec/activeDeadlineSeconds", 50),
            row("a later deadline").set("/spec/activeDeadlineSeconds", 200).wants(&["Invalid spec.activeDeadlineSeconds"]),
            row("no deadline").set("/spec/activeDeadlineSeconds", Value::Null).wants(&["Invalid spec.activeDeadlineSeconds"]),
            row("a command").set("/spec/containers/0/command", json!(["x"])).wants(&["Forbidden spec"]),
            row("a node").set("/spec/nodeName", "n").wants(&["Forbidden spec"]),
            row("a selector of nodes").set("/spec/nodeSelector", json!({"a": "b"})).wants(&["Forbidden spec"]),
            row("another container")
                .set("/spec/containers/1", json!({"name": "b", "image": "b:1"}))
                .wants(&["Forbidden spec.containers"]),
            row("a gate")
                .set("/spec/schedulingGates", json!([{"name": "g"}]))
                .wants(&["Forbidden spec.schedulingGates[0].name"]),
        ],
    );
    let (new, _) = update(&kind, &old, row("a status").set("/status/phase", "Running").applied(&old));
    assert_eq!(new["status"]["phase"], "Pending", "the status is written through its own path");
}

#[test]
fn a_gated_pod_can_be_told_more_closely_where_to_go() {
    let kind = objects::pod();
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let term = json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]});
    let closer =
        json!({"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}]});
    let gated = row("gated")
        .set("/spec/schedulingGates", json!([{"name": "g"}, {"name": "h"}]))
        .set("/spec/nodeSelector", json!({"zone": "a"}))
        .set("/spec/affinity", json!({"nodeAffinity": {required: {"nodeSelectorTerms": [term]}}}))
        .applied(&kind.object);
    let old = create(&kind, gated).0;
    let terms =
        "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    let path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let first: &'static str = Box::leak(format!("Invalid {path}[0]").into_boxed_str());
    let all: &'static str = Box::leak(format!("Invalid {path}").into_boxed_str());
    changes(
        &kind,
        &old,
        &[
            row("fewer gates").set("/spec/schedulingGates", json!([{"name": "g"}])),
            row("a closer selector").set("/spec/nodeSelector/disk", "ssd"),
            row("another selector")
                .set("/spec/nodeSelector", json!({"zone": "b"}))
                .wants(&["Invalid spec.nodeSelector"]),
            row("a closer term").set(terms, json!([closer])),
            row("another term")
                .set(terms, json!([{"matchExpressions": [{"key": "b", "operator": "Exists"}]}]))
                .wants(&[first]),
            row("one more term").set(terms, json!([term, term])).wants(&[all]),
            row("a priority").set("/spec/priorityClassName", "high").wants(&["Forbidden spec"]),
        ],
    );
}

#[test]
fn the_status_of_a_pod_keeps_what_is_settled() {
    let kind = objects::pod();
    let mut old = stored(&kind);
    old["spec"]["restartPolicy"] = "Never".into();
    let ended = json!([{"name": "main", "state": {"terminated": {"exitCode": 1}}}]);
    old["status"]["containerStatuses"] = ended;
    old["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}]);
    status_changes(
        &kind,
        &old,
        &[
            row("a phase").set("/status/phase", "Failed"),
            row("another class").set("/status/qosClass", "Guaranteed").wants(&["Invalid status.qosClass"]),
            row("back from the end")
                .set("/status/containerStatuses", json!([{"name": "main", "state": {"running": {}}}]))
                .wants(&["Forbidden status.containerStatuses[0].state"]),
            row("a bad address")
                .set("/status/podIPs", json!([{"ip": "x"}]))
                .wants(&["Invalid status.podIPs[0]"]),
        ],
    );
    let restarted = row("restarted")
        .set("/status/containerStatuses", json!([{"name": "main", "state": {"running": {}}}]));
    let mut always = old.clone();
    always["spec"]["restartPolicy"] = "Always".into();
    status_changes(&kind, &always, &[restarted]);
    let (new, _) =
        update_status(&kind, &old, row("no class").set("/status", json!({"phase": "Failed"})).applied(&old));
    assert_eq!(new["status"]["qosClass"], "BestEffort");
    let (new, _) = update_status(
        &kind,
        &old,
        row("no owner").set("/metadata/ownerReferences", Value::Null).applied(&old),
    );
    assert_eq!(new["metadata"]["ownerReferences"], old["metadata"]["ownerReferences"]);
}

#[test]
fn selectors_of_controllers_are_fixed() {
    for kind in [objects::deployment(), objects::replica_set(), objects::daemon_set()] {
        let old = stored(&kind);
        changes(
            &kind,
            &old,
            &[
                row("the image").set("/spec/template/spec/containers/0/image", "b:2"),
                row("another selector")
                    .set("/spec/selector", json!({"matchLabels": {"app": "b"}}))
                    .set("/spec/template/metadata/labels", json!({"app": "b"}))
                    .wants(&["Invalid spec.selector"]),
            ],
        );
    }
    let kind = objects::stateful_set();
    let old = stored(&kind);
    changes(
        &kind,
        &old,
        &[
            row("the size").set("/spec/replicas", 3),
            row("the image").set("/spec/template/spec/containers/0/image", "b:2"),
            row("the service").set("/spec/serviceName", "other").wants(&["Forbidden spec"]),
            row("the claims")
                .set("/spec/volumeClaimTemplates/0/spec/resources/requests/storage", "2Gi")
                .wants(&["Forbidden spec"]),
            row("the order").set("/spec/podManagementPolicy", "Parallel").wants(&["Forbidden spec"]),
        ],
    );
}

#[test]
fn a_daemon_set_counts_the_changes_of_its_template() {
    let kind = objects::daemon_set();
    let old = stored(&kind);
    let count = |object: &Value| {
        object["metadata"]["annotations"]["deprecated.daemonset.template.generation"].clone()
    };
    assert_eq!(count(&old), "1");
    let (scaled, _) = update(&kind, &old, row("else").set("/spec/minReadySeconds", 3).applied(&old));
    assert_eq!(count(&scaled), "1");
    let (changed, _) =
        update(&kind, &old, row("image").set("/spec/template/spec/containers/0/image", "b:2").applied(&old));
    assert_eq!(count(&changed), "2");
}

#[test]
fn generations_count_what_controllers_act_on() {
    let old = stored(&objects::deployment());
    let mut new = old.clone();
    set(&mut new, "/metadata/labels", json!({"a": "b"}));
    set(&mut new, "/status", json!({"replicas": 1}));
    assert!(!Deployment.changes_generation(&new, &old));
    set(&mut new, "/metadata/annotations", json!({"a": "b"}));
    assert!(Deployment.changes_generation(&new, &old), "annotations go to the ReplicaSets");
    let old = stored(&objects::endpoint_slice());
    let mut new = old.clone();
    set(&mut new, "/metadata/labels", json!({"a": "b"}));
    assert!(EndpointSlice.changes_generation(&new, &old));
}

#[test]
fn a_job_changes_freely_only_while_it_is_suspended() {
    let kind = objects::job();
    let old = stored(&kind);
    let selector = "/spec/template/spec/nodeSelector";
    changes(
        &kind,
        &old,
        &[
            row("more at once").set("/spec/parallelism", 5),
            row("suspended").set("/spec/suspend", true),
            row("more of them").set("/spec/completions", 5).wants(&["Invalid spec.completions"]),
            row("somewhere else").set(selector, json!({"a": "b"})).wants(&["Invalid spec.template"]),
            row("another mode")
                .set("/spec/completionMode", "Indexed")
                .wants(&["Invalid spec.completionMode"]),
            row("another policy")
                .set("/spec/podFailurePolicy", json!({"rules": []}))
                .set("/spec/podReplacementPolicy", "Failed")
                .wants(&["Invalid spec.podFailurePolicy"]),
        ],
    );
    let suspended = create(&kind, row("").set("/spec/suspend", true).applied(&kind.object)).0;
    let resources = "/spec/template/spec/containers/0/resources";
    changes(
        &kind,
        &suspended,
        &[
            row("somewhere else").set(selector, json!({"a": "b"})),
            row("with more").set(resources, json!({"requests": {"cpu": "1"}})),
            row("another image")
                .set("/spec/template/spec/containers/0/image", "b")
                .wants(&["Invalid spec.template.spec"]),
            row("a label").set("/spec/template/metadata/labels/a", "b"),
        ],
    );
    let mut running = suspended.clone();
    running["status"] = json!({"startTime": "2026-01-01T00:00:00Z", "active": 1});
    changes(
        &kind,
        &running,
        &[row("too late").set(selector, json!({"a": "b"})).wants(&["Invalid spec.template"])],
    );
    let indexed = row("")
        .set("/spec/completionMode", "Indexed")
        .set("/spec/completions", 2)
        .set("/spec/parallelism", 2);
    let indexed = create(&kind, indexed.applied(&kind.object)).0;
    changes(
        &kind,
        &indexed,
        &[
            row("both").set("/spec/completions", 5).set("/spec/parallelism", 5),
            row("one").set("/spec/completions", 5).wants(&["Invalid spec.completions"]),
        ],
    );
}

#[test]
fn the_end_of_a_job_is_the_end() {
    let kind = objects::job();
    let mut old = stored(&kind);
    old["status"] = json!({"startTime": "2026-01-01T00:00:00Z", "active": 1});
    let condition = |kind: &str| json!({"type": kind, "status": "True"});
    let complete = json!({
        "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:01:00Z", "succeeded": 1,
        "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
    });
    status_changes(
        &kind,
        &old,
        &[
            row("success").set("/status", complete.clone()),
            row("success without a cause")
                .set("/status", complete.clone())
                .set("/status/conditions", json!([condition("Complete")]))
                .wants(&["Invalid status.conditions"]),
            row("success with Pods")
                .set("/status", complete.clone())
                .set("/status/active", 1)
                .wants(&["Invalid status.active"]),
            row("success without an end")
                .set("/status", complete.clone())
                .set("/status/completionTime", Value::Null)
                .wants(&["Required status.completionTime"]),
            row("failure without a cause")
                .set("/status/conditions", json!([condition("Failed")]))
                .set("/status/active", 0)
                .wants(&["Invalid status.conditions"]),
            row("another beginning")
                .set("/status/startTime", "2026-01-01T00:00:30Z")
                .wants(&["Invalid status.startTime"]),
            row("more ready than there").set("/status/ready", 2).wants(&["Invalid status.ready"]),
        ],
    );
    let mut ended = old.clone();
    ended["status"] = complete;
    status_changes(
        &kind,
        &ended,
        &[
            row("not after all")
                .set("/status/conditions", json!([]))
                .set("/status/completionTime", Value::Null)
                .wants(&["Invalid status.conditions", "Invalid status.conditions"]),
            row("fewer").set("/status/succeeded", 0).wants(&["Invalid status.succeeded"]),
        ],
    );
}

#[test]
fn services_keep_what_they_were_given() {
    let kind = objects::service();
    let mut old = create(&kind, row("").set("/spec/type", "NodePort").applied(&kind.object)).0;
    old["spec"]["clusterIP"] = "10.96.0.5".into();
    old["spec"]["clusterIPs"] = json!(["10.96.0.5"]);
    old["spec"]["ports"][0]["nodePort"] = 30001.into();
    changes(
        &kind,
        &old,
        &[
            row("another address")
                .set("/spec/clusterIP", "10.96.0.6")
                .set("/spec/clusterIPs", json!(["10.96.0.6"]))
                .wants(&["Invalid spec.clusterIPs[0]"]),
            row("another address in one spelling")
                .set("/spec/clusterIP", "10.96.0.6")
                .wants(&["Invalid spec.clusterIPs[0]"]),
            row("another family")
                .set("/spec/ipFamilies", json!(["IPv6"]))
                .wants(&["Invalid spec.clusterIPs[0]"]),
        ],
    );
    let written = row("what the client wrote first").set("/spec/type", "NodePort").applied(&kind.object);
    let (new, errors) = update(&kind, &old, written);
    assert_eq!(errors, Vec::new());
    assert_eq!(new["spec"], old["spec"], "what the server gave stays");
    let (new, errors) = update(&kind, &old, row("").set("/spec/type", "ClusterIP").applied(&old));
    assert_eq!(errors, Vec::new());
    assert_eq!(new["spec"]["ports"][0]["nodePort"], Value::Null);
    assert_eq!(new["spec"]["externalTrafficPolicy"], Value::Null);
    let external = row("").set("/spec/type", "ExternalName").set("/spec/externalName", "a.b");
    let (new, errors) = update(&kind, &old, external.applied(&old));
    assert_eq!(errors, Vec::new());
    assert_eq!(new["spec"]["clusterIP"], Value::Null);
    assert_eq!(new["spec"]["ipFamilies"], Value::Null);
}

#[test]
fn what_says_that_it_does_not_change_does_not() {
    for (kind, field) in [(objects::config_map(), "Forbidden data"), (objects::secret(), "Forbidden data")] {
        let old = create(&kind, row("").set("/immutable", true).applied(&kind.object)).0;
        changes(
            &kind,
            &old,
            &[
                row("a label").set("/metadata/labels", json!({"a": "b"})),
                row("data").set("/data/z", "eA==").wants(&[field]),
                row("the promise").set("/immutable", false).wants(&["Forbidden immutable"]),
            ],
        );
    }
    let kind = objects::secret();
    changes(&kind, &stored(&kind), &[row("the type").set("/type", "other").wants(&["Invalid type"])]);
    let kind = objects::role_binding();
    changes(&kind, &stored(&kind), &[row("the role").set("/roleRef/name", "x").wants(&["Invalid roleRef"])]);
    let kind = objects::priority_class();
    changes(
        &kind,
        &stored(&kind),
        &[
            row("the value").set("/value", 5).wants(&["Forbidden value"]),
            row("the policy").set("/preemptionPolicy", "Never").wants(&["Invalid preemptionPolicy"]),
            row("the description").set("/description", "x"),
        ],
    );
    let kind = objects::storage_class();
    changes(
        &kind,
        &stored(&kind),
        &[
            row("the provisioner").set("/provisioner", "b.c/d").wants(&["Invalid provisioner"]),
            row("the parameters").set("/parameters/type", "slow").wants(&["Invalid parameters"]),
            row("growth").set("/allowVolumeExpansion", true),
        ],
    );
    let kind = objects::controller_revision();
    changes(&kind, &stored(&kind), &[row("the data").set("/data/a", 2).wants(&["Invalid data"])]);
    let kind = objects::endpoint_slice();
    changes(
        &kind,
        &stored(&kind),
        &[row("the family").set("/addressType", "FQDN").wants(&["Invalid addressType"])],
    );
    let kind = objects::resource_quota();
    changes(
        &kind,
        &stored(&kind),
        &[row("the scopes").set("/spec/scopes", json!(["NotBestEffort"])).wants(&["Invalid spec.scopes"])],
    );
}

#[test]
fn claims_grow_and_do_nothing_else() {
    let kind = objects::claim();
    let mut old = stored(&kind);
    let size = "/spec/resources/requests/storage";
    changes(
        &kind,
        &old,
        &[
            row("a volume").set("/spec/volumeName", "pv"),
            row("growth before it is bound").set(size, "2Gi").wants(&["Forbidden spec"]),
            row("another mode").set("/spec/accessModes", json!(["ReadOnlyMany"])).wants(&["Forbidden spec"]),
        ],
    );
    old["status"] = json!({"phase": "Bound", "capacity": {"storage": "1Gi"}});
    old["spec"]["volumeName"] = "pv".into();
    changes(
        &kind,
        &old,
        &[
            row("growth").set(size, "2Gi"),
            row("shrinking").set(size, "500Mi").wants(&["Forbidden spec.resources.requests.storage"]),
            row("another volume").set("/spec/volumeName", "other").wants(&["Forbidden spec"]),
        ],
    );
    let kind = objects::persistent_volume();
    changes(
        &kind,
        &stored(&kind),
        &[
            row("a claim").set("/spec/claimRef", json!({"name": "c", "namespace": "default"})),
            row("another disk")
                .set("/spec/hostPath/path", "/b")
                .wants(&["Forbidden spec.persistentvolumesource"]),
        ],
    );
}

/// A block of PEM of the right kind, in base64.
const CERTIFICATE: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";

#[test]
fn namespaces_nodes_and_requests_keep_what_is_not_theirs_to_change() {
    let kind = objects::namespace();
    let old = stored(&kind);
    let (new, _) = update(
        &kind,
        &old,
        row("").set("/spec/finalizers", json!([])).set("/status/phase", "X").applied(&old),
    );
    assert_eq!(new["spec"], json!({"finalizers": ["kubernetes"]}));
    assert_eq!(new["status"], json!({"phase": "Active"}));
    status_changes(
        &kind,
        &old,
        &[row("gone").set("/status/phase", "Terminating").wants(&["Invalid status.Phase"])],
    );

    let kind = objects::node();
    let mut old = stored(&kind);
    old["spec"]["providerID"] = "a".into();
    changes(
        &kind,
        &old,
        &[
            row("cordoned").set("/spec/unschedulable", true),
            row("another machine").set("/spec/providerID", "b").wants(&["Forbidden spec.providerID"]),
        ],
    );

    let kind = objects::certificate_signing_request();
    let old = stored(&kind);
    let (new, _) = update(&kind, &old, row("").set("/spec/signerName", "x.y/z").applied(&old));
    assert_eq!(new["spec"], old["spec"]);
    let approved = json!([{"type": "Approved", "status": "True", "reason": "Yes"}]);
    let (_, errors) =
        update_status(&kind, &old, row("").set("/status/conditions", approved.clone()).applied(&old));
    row("the decision has a path of its own").wants(&["Forbidden status.conditions"]).check(&errors);
    let mut decided = old.clone();
    decided["status"]["conditions"] = approved.clone();
    let (new, errors) = update_status(
        &kind,
        &decided,
        row("").set("/status", json!({"certificate": CERTIFICATE})).applied(&decided),
    );
    assert_eq!(errors, Vec::new());
    assert_eq!(new["status"]["conditions"][0]["type"], "Approved");
    let (_, errors) = update_status(
        &kind,
        &decided,
        row("").set("/status", json!({"certificate": "eA=="})).applied(&decided),
    );
    row("no certificate").wants(&["Invalid status.certificate"]).check(&errors);
    let both = json!([approved[0], {"type": "Denied", "status": "True"}]);
    let errors = kind.strategy.validate_subresource(
        Subresource::Approval,
        &row("").set("/status/conditions", both).applied(&old),
        &old,
    );
    row("yes and no").wants(&["Invalid status.conditions"]).check(&errors);
}

#[test]
fn an_object_on_its_way_out_takes_no_new_finalizers() {
    let kind = objects::config_map();
    let mut old = stored(&kind);
    old["metadata"]["finalizers"] = json!(["a.b/c", "a.b/d"]);
    old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    changes(
        &kind,
        &old,
        &[
            row("fewer").set("/metadata/finalizers", json!(["a.b/c"])),
            row("another").set("/metadata/finalizers/2", "a.b/e").wants(&["Forbidden metadata.finalizers"]),
        ],
    );
}
