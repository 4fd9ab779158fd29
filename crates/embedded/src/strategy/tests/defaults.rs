//! What every kind is filled with.

use insta::{assert_json_snapshot, with_settings};
use serde_json::{Value, json};

use super::objects;
use super::{Kind, Row, create, row, stored};

#[test]
fn a_good_object_of_every_kind_is_filled_and_accepted() {
    for kind in objects::all() {
        let mut object = stored(&kind);
        // The only time in a new object.
        if let Some(time) = object.pointer_mut("/status/lastPhaseTransitionTime") {
            *time = "TIME".into();
        }
        let name = format!("{}-{}", kind.object["apiVersion"], kind.object["kind"]);
        let name: String = name
            .chars()
            .filter(|letter| *letter != '"')
            .map(|letter| if letter == '/' { '-' } else { letter })
            .collect();
        with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
            assert_json_snapshot!(name, object);
        });
    }
}

/// Fills the good object after a change, and gives what a pointer then leads to.
fn filled(kind: &Kind, row: &Row, pointer: &str) -> Value {
    create(kind, row.applied(&kind.object)).0.pointer(pointer).cloned().unwrap_or_default()
}

#[test]
fn pods_get_what_the_specification_leaves_open() {
    let container = "/spec/containers/0";
    let rows: Vec<(Row, &str, Value)> = vec![
        (row("no tag").set("/spec/containers/0/image", "a/b"), "/spec/containers/0/imagePullPolicy", "Always".into()),
        (row("latest").set("/spec/containers/0/image", "a:latest"), "/spec/containers/0/imagePullPolicy", "Always".into()),
        (row("port, no tag").set("/spec/containers/0/image", "host:5000/a"), "/spec/containers/0/imagePullPolicy", "Always".into()),
        (row("tag").set("/spec/containers/0/image", "host:5000/a:1"), "/spec/containers/0/imagePullPolicy", "IfNotPresent".into()),
        (row("digest").set("/spec/containers/0/image", "a@sha256:00"), "/spec/containers/0/imagePullPolicy", "IfNotPresent".into()),
        (
            row("limits become requests").set("/spec/containers/0/resources", json!({"limits": {"cpu": "0.5", "nvidia.com/gpu": 1}, "requests": {"cpu": "100m"}})),
            "/spec/containers/0/resources",
            json!({"limits": {"cpu": "500m", "nvidia.com/gpu": "1"}, "requests": {"cpu": "100m", "nvidia.com/gpu": "1"}}),
        ),
        (
            row("quantities are canonical").set("/spec/containers/0/resources/requests", json!({"memory": "1024Mi", "cpu": "0.0001"})),
            "/spec/containers/0/resources/requests",
            json!({"memory": "1Gi", "cpu": "1m"}),
        ),
        (row("probe").set("/spec/containers/0/livenessProbe", json!({"httpGet": {"port": 80}})), "/spec/containers/0/livenessProbe", json!({
            "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10,
            "successThreshold": 1, "failureThreshold": 3,
        })),
        (row("grpc probe").set("/spec/containers/0/readinessProbe", json!({"grpc": {"port": 80}, "periodSeconds": 5})), "/spec/containers/0/readinessProbe", json!({
            "grpc": {"port": 80, "service": ""}, "timeoutSeconds": 1, "periodSeconds": 5,
            "successThreshold": 1, "failureThreshold": 3,
        })),
        (row("port").set("/spec/containers/0/ports", json!([{"containerPort": 80}])), "/spec/containers/0/ports/0", json!({"containerPort": 80, "protocol": "TCP"})),
        (
            row("host ports").set("/spec/containers/0/ports", json!([{"containerPort": 80}])).set("/spec/hostNetwork", true),
            "/spec/containers/0/ports/0/hostPort",
            80.into(),
        ),
        (
            row("variables").set("/spec/containers/0/env", json!([
                {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            ])),
            "/spec/containers/0/env",
            json!([
                {"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
                {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}},
            ]),
        ),
        (
            row("volumes").set("/spec/volumes", json!([
                {"name": "a"}, {"name": "b", "secret": {"secretName": "s"}}, {"name": "c", "hostPath": {"path": "/x"}},
                {"name": "d", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            ])),
            "/spec/volumes",
            json!([
                {"name": "a", "emptyDir": {}}, {"name": "b", "secret": {"secretName": "s", "defaultMode": 420}},
                {"name": "c", "hostPath": {"path": "/x", "type": ""}},
                {"name": "d", "projected": {"defaultMode": 420, "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}]}},
            ]),
        ),
        (row("account").set("/spec/serviceAccount", "robot"), "/spec/serviceAccountName", "robot".into()),
        (row("account").set("/spec/serviceAccountName", "robot"), "/spec/serviceAccount", "robot".into()),
        (row("no requests"), "/status", json!({"phase": "Pending", "qosClass": "BestEffort"})),
        (row("some requests").set("/spec/containers/0/resources/requests/cpu", "1"), "/status/qosClass", "Burstable".into()),
        (row("all limits").set("/spec/containers/0/resources/limits", json!({"cpu": "1", "memory": "1Gi"})), "/status/qosClass", "Guaranteed".into()),
        (row("status of the client").set("/status/phase", "Running"), "/status/phase", "Pending".into()),
        (row("gates").set("/spec/schedulingGates", json!([{"name": "g"}])), "/status/conditions/0/reason", "SchedulingGated".into()),
        (
            row("whole Pod").set("/spec/resources/limits", json!({"cpu": "2", "memory": "1Gi"})).set("/spec/containers/0/resources/requests/cpu", "1"),
            "/spec/resources/requests",
            json!({"cpu": "1", "memory": "1Gi"}),
        ),
        (
            row("keys of labels").set("/metadata/labels/v", "1").set("/spec/topologySpreadConstraints", json!([{
                "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {}, "matchLabelKeys": ["v", "w"],
            }])),
            "/spec/topologySpreadConstraints/0/labelSelector",
            json!({"matchExpressions": [{"key": "v", "operator": "In", "values": ["1"]}]}),
        ),
    ];
    for (row, pointer, want) in rows {
        assert_eq!(filled(&objects::pod(), &row, pointer), want, "{}", row.what);
    }
    let template = filled(&objects::deployment(), &row("template"), "/spec/template").to_string();
    assert!(!template.contains("enableServiceLinks"), "only Pods themselves get it: {container} {template}");
}

#[test]
fn jobs_get_a_selector_of_their_own_unless_they_bring_one() {
    let job = stored(&objects::job());
    let uid = job["metadata"]["uid"].clone();
    assert_eq!(job["spec"]["selector"], json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}));
    assert_eq!(
        job["spec"]["template"]["metadata"]["labels"],
        json!({
            "controller-uid": uid, "batch.kubernetes.io/controller-uid": uid,
            "job-name": "sample", "batch.kubernetes.io/job-name": "sample",
        })
    );
    let own = row("own selector")
        .set("/spec/manualSelector", true)
        .set("/spec/selector", json!({"matchLabels": {"a": "b"}}))
        .set("/spec/template/metadata", json!({"labels": {"a": "b"}}));
    let (job, errors) = create(&objects::job(), own.applied(&objects::job().object));
    assert_eq!(errors, Vec::new());
    assert_eq!(job["spec"]["template"]["metadata"]["labels"], json!({"a": "b"}));
    assert_eq!(job["metadata"]["labels"], json!({"a": "b"}), "labels of the template become the Job's");
}

#[test]
fn services_get_what_their_type_has() {
    let rows: Vec<(Row, &str, Value)> = vec![
        (row("headless").set("/spec/clusterIP", "None"), "/spec/clusterIPs", json!(["None"])),
        (
            row("headless without selector")
                .set("/spec/clusterIP", "None")
                .set("/spec/selector", Value::Null),
            "/spec/ipFamilyPolicy",
            "RequireDualStack".into(),
        ),
        (row("chosen address").set("/spec/clusterIP", "10.96.0.9"), "/spec/clusterIPs", json!(["10.96.0.9"])),
        (row("node port").set("/spec/type", "NodePort"), "/spec/externalTrafficPolicy", "Cluster".into()),
        (
            row("balancer").set("/spec/type", "LoadBalancer"),
            "/spec/allocateLoadBalancerNodePorts",
            true.into(),
        ),
        (
            row("named target").set("/spec/ports/0/targetPort", "http"),
            "/spec/ports/0/targetPort",
            "http".into(),
        ),
        (
            row("affinity").set("/spec/sessionAffinity", "ClientIP"),
            "/spec/sessionAffinityConfig",
            json!({"clientIP": {"timeoutSeconds": 10800}}),
        ),
        (
            row("external name").set("/spec/type", "ExternalName").set("/spec/externalName", "a.b"),
            "/spec/ipFamilies",
            Value::Null,
        ),
    ];
    for (row, pointer, want) in rows {
        assert_eq!(filled(&objects::service(), &row, pointer), want, "{}", row.what);
    }
}
