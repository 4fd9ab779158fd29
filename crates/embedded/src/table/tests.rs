//! Tables as people see them.

use std::fmt::Write as _;
use std::sync::Arc;

use insta::assert_snapshot;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{IncludeObject, render};
use crate::resource::{Registry, Resource};

fn now() -> Timestamp {
    "2026-01-02T00:00:00Z".parse().unwrap()
}

fn resource(group: &str, plural: &str) -> Arc<Resource> {
    Arc::clone(Registry::builtin().find(group, "v1", plural).expect("a built-in resource"))
}

/// The wide table of some objects as text, all created on the same day.
fn table(group: &str, plural: &str, objects: &[Value]) -> String {
    let objects: Vec<Value> = objects
        .iter()
        .map(|object| {
            let mut object = object.clone();
            object["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
            object
        })
        .collect();
    let table = render(&resource(group, plural), &objects, &json!({}), IncludeObject::None, true, now());
    let mut text = String::new();
    let headings = table["columnDefinitions"].as_array().unwrap().iter().map(|column| {
        let mark = if column["priority"] == 1 { "+" } else { "" };
        format!("{}{mark}", column["name"].as_str().unwrap())
    });
    writeln!(text, "{}", headings.collect::<Vec<_>>().join(" | ")).unwrap();
    for row in table["rows"].as_array().unwrap() {
        let cells = row["cells"].as_array().unwrap().iter().map(|cell| match cell {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        writeln!(text, "{}", cells.collect::<Vec<_>>().join(" | ")).unwrap();
    }
    text
}

fn pod(name: &str, status: &Value) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}], "nodeName": "n1"},
        "status": status,
    })
}

fn running(ready: bool) -> Value {
    json!({"name": "a", "ready": ready, "restartCount": 0, "state": {"running": {}}})
}

#[test]
fn pods_are_summed_up_in_a_word() {
    let ended = |code: i32, reason: &str| {
        json!({
            "name": "b", "ready": false, "restartCount": 2, "state": {"terminated": {"exitCode": code, "reason": reason}},
            "lastState": {"terminated": {"finishedAt": "2026-01-01T23:57:30Z"}},
        })
    };
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let mut gone = pod("gone", &json!({"phase": "Running", "containerStatuses": [running(true)]}));
    gone["metadata"]["deletionTimestamp"] = "2026-01-01T23:59:00Z".into();
    let mut starting = pod(
        "starting",
        &json!({
            "phase": "Pending", "initContainerStatuses": [
                {"name": "x", "restartCount": 0, "state": {"terminated": {"exitCode": 0}}},
                {"name": "y", "restartCount": 1, "state": {"waiting": {"reason": "PodInitializing"}}},
            ],
        }),
    );
    starting["spec"]["initContainers"] = json!([{"name": "x"}, {"name": "y"}]);
    let mut sidecar = pod(
        "sidecar",
        &json!({
            "phase": "Running", "containerStatuses": [running(true), running(true)],
            "initContainerStatuses": [{"name": "s", "started": true, "ready": true, "restartCount": 1, "state": {"running": {}}}],
        }),
    );
    sidecar["spec"]["initContainers"] = json!([{"name": "s", "restartPolicy": "Always"}]);
    let mut waiting = pod(
        "gated",
        &json!({
            "phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}],
        }),
    );
    waiting["spec"]["nodeName"] = Value::Null;
    waiting["spec"]["readinessGates"] = json!([{"conditionType": "example.com/a"}]);
    let objects = [
        pod("pending", &json!({"phase": "Pending"})),
        pod(
            "running",
            &json!({"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}], "containerStatuses": [running(true), running(true)]}),
        ),
        pod("half", &json!({"phase": "Running", "containerStatuses": [running(true), running(false)]})),
        pod(
            "pulling",
            &json!({"phase": "Pending", "containerStatuses": [{"name": "a", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]}),
        ),
        pod("crashed", &json!({"phase": "Running", "containerStatuses": [running(true), ended(1, "Error")]})),
        pod("exited", &json!({"phase": "Failed", "containerStatuses": [ended(137, "")]})),
        pod("done", &json!({"phase": "Succeeded", "containerStatuses": [ended(0, "Completed")]})),
        pod(
            "partly",
            &json!({"phase": "Running", "conditions": ready, "containerStatuses": [ended(0, "Completed"), running(true)]}),
        ),
        pod("evicted", &json!({"phase": "Failed", "reason": "Evicted"})),
        gone,
        starting,
        sidecar,
        waiting,
    ];
    assert_snapshot!(table("", "pods", &objects));
}

#[test]
fn a_row_carries_as_much_of_its_object_as_is_asked_for() {
    let object = pod("p", &json!({"phase": "Failed"}));
    let row = |include| {
        render(&resource("", "pods"), std::slice::from_ref(&object), &json!({}), include, false, now())
    };
    let table = row(IncludeObject::Metadata);
    assert_eq!(table["columnDefinitions"], Value::Null, "headings were sent before");
    assert_eq!(
        table["rows"][0]["object"],
        json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "p"}})
    );
    assert_eq!(table["rows"][0]["conditions"][0]["reason"], "Failed");
    assert_eq!(row(IncludeObject::Object)["rows"][0]["object"], object);
    assert_eq!(row(IncludeObject::None)["rows"][0]["object"], Value::Null);
    assert_eq!(IncludeObject::parse(None).unwrap(), IncludeObject::Metadata);
    assert_eq!(IncludeObject::parse(Some("Object")).unwrap(), IncludeObject::Object);
    assert!(IncludeObject::parse(Some("Everything")).is_err());
}

#[test]
fn controllers_say_how_far_they_are() {
    let template =
        json!({"spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j:2"}]}});
    let selector = json!({"matchLabels": {"app": "web"}});
    let spec = json!({"replicas": 3, "selector": selector, "template": template});
    let set = |status: Value| json!({"metadata": {"name": "web"}, "spec": spec, "status": status});
    let job = |name: &str, spec: Value, status: Value| {
        let mut object = json!({"metadata": {"name": name}, "spec": spec, "status": status});
        object["spec"]["template"] = template.clone();
        object
    };
    let condition = |kind: &str| json!([{"type": kind, "status": "True"}]);
    let mut text = String::new();
    for (group, plural, objects) in [
        (
            "apps",
            "deployments",
            vec![set(json!({"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1}))],
        ),
        ("apps", "replicasets", vec![set(json!({"replicas": 3, "readyReplicas": 2}))]),
        ("apps", "statefulsets", vec![set(json!({"replicas": 3, "readyReplicas": 2}))]),
        ("apps", "daemonsets", vec![set(json!({"desiredNumberScheduled": 4, "numberReady": 2}))]),
        (
            "apps",
            "controllerrevisions",
            vec![json!({
                "metadata": {"name": "web-1", "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "controller": true}]},
                "revision": 7,
            })],
        ),
        (
            "batch",
            "jobs",
            vec![
                job(
                    "running",
                    json!({"completions": 3}),
                    json!({"succeeded": 1, "startTime": "2026-01-01T23:00:00Z"}),
                ),
                job(
                    "done",
                    json!({"completions": 1}),
                    json!({
                        "succeeded": 1, "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:05:10Z", "conditions": condition("Complete"),
                    }),
                ),
                job("failed", json!({"parallelism": 4}), json!({"conditions": condition("Failed")})),
                job("suspended", json!({}), json!({"conditions": condition("Suspended")})),
            ],
        ),
        (
            "batch",
            "cronjobs",
            vec![json!({
                "metadata": {"name": "nightly"},
                "spec": {"schedule": "0 3 * * *", "timeZone": "Asia/Shanghai", "suspend": false, "jobTemplate": {"spec": {"template": template}}},
                "status": {"active": [{}], "lastScheduleTime": "2026-01-01T19:00:00Z"},
            })],
        ),
        (
            "policy",
            "poddisruptionbudgets",
            vec![json!({
                "metadata": {"name": "web"}, "spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 1},
            })],
        ),
        ("", "podtemplates", vec![json!({"metadata": {"name": "t"}, "template": template})]),
    ] {
        writeln!(text, "{plural}\n{}", table(group, plural, &objects)).unwrap();
    }
    assert_snapshot!(text);
}

#[test]
fn every_other_kind_has_its_columns() {
    let mut text = String::new();
    let objects = [cluster_objects(), access_objects(), network_objects(), storage_objects()].concat();
    for (group, plural, object) in objects {
        writeln!(text, "{plural}\n{}", table(group, plural, &[object])).unwrap();
    }
    assert_snapshot!(text);
}

/// Group, plural and an object.
type Sample = (&'static str, &'static str, Value);

fn cluster_objects() -> Vec<Sample> {
    vec![
        (
            "",
            "nodes",
            json!({
                "metadata": {"name": "n1", "labels": {"node-role.kubernetes.io/gpu": "", "kubernetes.io/role": "worker"}},
                "spec": {"unschedulable": true},
                "status": {
                    "conditions": [{"type": "Ready", "status": "True"}],
                    "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                    "nodeInfo": {"kubeletVersion": "v1.36.4", "kernelVersion": "6.1", "architecture": "amd64", "osImage": "Debian"},
                },
            }),
        ),
        ("", "namespaces", json!({"metadata": {"name": "a"}, "status": {"phase": "Active"}})),
        (
            "",
            "events",
            json!({
                "metadata": {"name": "e"}, "type": "Warning", "reason": "Failed", "message": " it failed\n",
                "involvedObject": {"kind": "Pod", "name": "p"}, "lastTimestamp": "2026-01-01T23:59:30Z", "count": 3,
                "source": {"component": "kubelet", "host": "n1"},
            }),
        ),
        (
            "events.k8s.io",
            "events",
            json!({
                "metadata": {"name": "e"}, "type": "Normal", "reason": "Started", "note": "it started",
                "regarding": {"kind": "Pod", "name": "p"}, "eventTime": "2026-01-01T23:50:00.000000Z",
                "reportingController": "example.com/c", "reportingInstance": "c-1",
                "series": {"count": 9, "lastObservedTime": "2026-01-01T23:59:00.000000Z"},
            }),
        ),
        ("", "configmaps", json!({"metadata": {"name": "c"}, "data": {"a": ""}, "binaryData": {"b": ""}})),
        ("", "secrets", json!({"metadata": {"name": "s"}, "type": "Opaque", "data": {"a": ""}})),
        ("", "serviceaccounts", json!({"metadata": {"name": "s"}})),
        ("", "limitranges", json!({"metadata": {"name": "l"}})),
        (
            "",
            "resourcequotas",
            json!({
                "metadata": {"name": "q"},
                "status": {"hard": {"pods": "10", "limits.cpu": "4"}, "used": {"pods": "3"}},
            }),
        ),
    ]
}

fn access_objects() -> Vec<Sample> {
    let rbac = "rbac.authorization.k8s.io";
    vec![
        (
            "scheduling.k8s.io",
            "priorityclasses",
            json!({"metadata": {"name": "p"}, "value": 5, "preemptionPolicy": "Never"}),
        ),
        (
            "coordination.k8s.io",
            "leases",
            json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}),
        ),
        (rbac, "roles", json!({"metadata": {"name": "r"}})),
        (
            rbac,
            "rolebindings",
            json!({
                "metadata": {"name": "b"}, "roleRef": {"kind": "Role", "name": "r"},
                "subjects": [
                    {"kind": "User", "name": "u"}, {"kind": "User", "name": "v"}, {"kind": "Group", "name": "g"},
                    {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
                ],
            }),
        ),
        (
            "certificates.k8s.io",
            "certificatesigningrequests",
            json!({
                "metadata": {"name": "c"}, "spec": {"signerName": "a.b/c", "username": "u", "expirationSeconds": 3600},
                "status": {"certificate": "eA==", "conditions": [{"type": "Approved"}]},
            }),
        ),
        (
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations",
            json!({"metadata": {"name": "w"}, "webhooks": [{}]}),
        ),
        (
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            json!({"metadata": {"name": "things.example.com"}}),
        ),
    ]
}

fn network_objects() -> Vec<Sample> {
    vec![
        (
            "",
            "services",
            json!({
                "metadata": {"name": "s"},
                "spec": {
                    "type": "LoadBalancer", "clusterIPs": ["10.96.0.1"], "selector": {"app": "web"},
                    "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 53, "protocol": "UDP"}],
                },
            }),
        ),
        (
            "",
            "endpoints",
            json!({
                "metadata": {"name": "e"},
                "subsets": [{"addresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}], "ports": [{"port": 80}, {"port": 81}]}],
            }),
        ),
        (
            "discovery.k8s.io",
            "endpointslices",
            json!({
                "metadata": {"name": "e"}, "addressType": "IPv4", "ports": [{"port": 80}], "endpoints": [{"addresses": ["10.0.0.1"]}],
            }),
        ),
        (
            "networking.k8s.io",
            "ingresses",
            json!({
                "metadata": {"name": "i"},
                "spec": {"ingressClassName": "c", "rules": [{"host": "a.b"}], "tls": [{}]},
                "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
            }),
        ),
        (
            "networking.k8s.io",
            "ingressclasses",
            json!({
                "metadata": {"name": "c", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
                "spec": {"controller": "a.b/c", "parameters": {"apiGroup": "a.b", "kind": "K", "name": "n"}},
            }),
        ),
        (
            "networking.k8s.io",
            "networkpolicies",
            json!({"metadata": {"name": "n"}, "spec": {"podSelector": {}}}),
        ),
    ]
}

fn storage_objects() -> Vec<Sample> {
    vec![
        (
            "",
            "persistentvolumes",
            json!({
                "metadata": {"name": "v"},
                "spec": {
                    "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"], "volumeMode": "Filesystem",
                    "persistentVolumeReclaimPolicy": "Retain", "claimRef": {"namespace": "n", "name": "c"}, "storageClassName": "fast",
                },
                "status": {"phase": "Bound"},
            }),
        ),
        (
            "",
            "persistentvolumeclaims",
            json!({
                "metadata": {"name": "c"}, "spec": {"volumeName": "v", "storageClassName": "fast", "volumeMode": "Filesystem"},
                "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]},
            }),
        ),
        (
            "storage.k8s.io",
            "storageclasses",
            json!({
                "metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
                "provisioner": "a.b/c", "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate",
            }),
        ),
        ("storage.k8s.io", "csinodes", json!({"metadata": {"name": "n"}, "spec": {"drivers": [{}]}})),
        (
            "storage.k8s.io",
            "csidrivers",
            json!({
                "metadata": {"name": "d"}, "spec": {"attachRequired": false, "volumeLifecycleModes": ["Persistent"]},
            }),
        ),
        (
            "storage.k8s.io",
            "volumeattachments",
            json!({
                "metadata": {"name": "a"},
                "spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}}, "status": {"attached": true},
            }),
        ),
    ]
}

#[test]
fn custom_kinds_bring_their_columns_along() {
    let definition = json!({
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"},
            "conversion": {"strategy": "None"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                "additionalPrinterColumns": [
                    {"name": "Cards", "type": "integer", "jsonPath": ".spec.cards"},
                    {"name": "Started", "type": "date", "jsonPath": ".status.started", "priority": 1, "description": "When."},
                ],
            }],
        },
    });
    let compiled = maar_machinery::crd::compile(&definition).unwrap();
    let mut custom = Resource::clone(&resource("", "pods"));
    custom.origin = crate::resource::Origin::Custom(Arc::clone(compiled.storage()));
    let object = json!({"metadata": {"name": "t"}, "spec": {"cards": 8}, "status": {"started": "2026-01-01T12:00:00Z"}});
    let table = render(&custom, &[object], &json!({}), IncludeObject::None, true, now());
    let names: Vec<&Value> =
        table["columnDefinitions"].as_array().unwrap().iter().map(|column| &column["name"]).collect();
    assert_eq!(names, ["Name", "Cards", "Started"]);
    assert_eq!(table["rows"][0]["cells"], json!(["t", 8, "12h"]));
}
