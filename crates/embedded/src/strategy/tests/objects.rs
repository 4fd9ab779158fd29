//! A good object of every kind, as a client would send it.

use serde_json::{Value, json};

use super::super as strategy;
use super::Kind;

/// A request that a key pair made for the common name `tester`.
const REQUEST: &str = include_str!("request.pem.base64");

const UID: &str = "7b6c6d6e-0000-4000-8000-000000000001";

fn kind(strategy: &'static dyn strategy::Strategy, namespaced: bool, mut object: Value) -> Kind {
    object["metadata"]["uid"] = UID.into();
    if object["metadata"]["name"].is_null() {
        object["metadata"]["name"] = "sample".into();
    }
    if namespaced {
        object["metadata"]["namespace"] = "default".into();
    }
    Kind { strategy, namespaced, object }
}

fn pod_spec() -> Value {
    json!({"containers": [{"name": "main", "image": "registry.local/app:1"}]})
}

fn template() -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": pod_spec()})
}

fn selector() -> Value {
    json!({"matchLabels": {"app": "web"}})
}

pub(super) fn pod() -> Kind {
    kind(&strategy::Pod, true, json!({"apiVersion": "v1", "kind": "Pod", "spec": pod_spec()}))
}

pub(super) fn deployment() -> Kind {
    kind(
        &strategy::Deployment,
        true,
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "spec": {"selector": selector(), "template": template()},
        }),
    )
}

pub(super) fn replica_set() -> Kind {
    kind(
        &strategy::ReplicaSet,
        true,
        json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "spec": {"selector": selector(), "template": template()},
        }),
    )
}

pub(super) fn stateful_set() -> Kind {
    let mut template = template();
    template["spec"]["containers"][0]["volumeMounts"] = json!([{"name": "data", "mountPath": "/data"}]);
    kind(
        &strategy::StatefulSet,
        true,
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "spec": {
                "serviceName": "web", "selector": selector(), "template": template,
                "volumeClaimTemplates": [{
                    "metadata": {"name": "data"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}},
                }],
            },
        }),
    )
}

pub(super) fn daemon_set() -> Kind {
    kind(
        &strategy::DaemonSet,
        true,
        json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "spec": {"selector": selector(), "template": template()},
        }),
    )
}

pub(super) fn controller_revision() -> Kind {
    kind(
        &strategy::ControllerRevision,
        true,
        json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1, "data": {"a": 1}}),
    )
}

fn job_spec() -> Value {
    let mut spec = pod_spec();
    spec["restartPolicy"] = "Never".into();
    json!({"template": {"spec": spec}})
}

pub(super) fn job() -> Kind {
    kind(&strategy::Job, true, json!({"apiVersion": "batch/v1", "kind": "Job", "spec": job_spec()}))
}

pub(super) fn cron_job() -> Kind {
    kind(
        &strategy::CronJob,
        true,
        json!({
            "apiVersion": "batch/v1", "kind": "CronJob",
            "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": job_spec()}},
        }),
    )
}

pub(super) fn pod_template() -> Kind {
    kind(
        &strategy::PodTemplate,
        true,
        json!({"apiVersion": "v1", "kind": "PodTemplate", "template": template()}),
    )
}

pub(super) fn namespace() -> Kind {
    kind(&strategy::Namespace, false, json!({"apiVersion": "v1", "kind": "Namespace"}))
}

pub(super) fn node() -> Kind {
    kind(
        &strategy::Node,
        false,
        json!({
            "apiVersion": "v1", "kind": "Node",
            "spec": {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]},
            "status": {"capacity": {"cpu": "8000m", "memory": "16384Mi", "nvidia.com/gpu": "8"}},
        }),
    )
}

pub(super) fn service() -> Kind {
    kind(
        &strategy::Service,
        true,
        json!({
            "apiVersion": "v1", "kind": "Service",
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
        }),
    )
}

pub(super) fn endpoints() -> Kind {
    kind(
        &strategy::Endpoints,
        true,
        json!({
            "apiVersion": "v1", "kind": "Endpoints",
            "subsets": [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}],
        }),
    )
}

pub(super) fn endpoint_slice() -> Kind {
    kind(
        &strategy::EndpointSlice,
        true,
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.1.2.3"]}], "ports": [{"port": 80}],
        }),
    )
}

pub(super) fn config_map() -> Kind {
    kind(
        &strategy::ConfigMap,
        true,
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a.conf": "x"}, "binaryData": {"b": "AAA="}}),
    )
}

pub(super) fn secret() -> Kind {
    kind(
        &strategy::Secret,
        true,
        json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "eA=="}, "stringData": {"b": "y"}}),
    )
}

pub(super) fn service_account() -> Kind {
    kind(
        &strategy::ServiceAccount,
        true,
        json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "secrets": [{"name": "a", "namespace": "elsewhere"}],
        }),
    )
}

pub(super) fn persistent_volume() -> Kind {
    kind(
        &strategy::PersistentVolume,
        false,
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "spec": {
                "capacity": {"storage": "1024Mi"}, "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/data"},
            },
        }),
    )
}

pub(super) fn claim() -> Kind {
    kind(
        &strategy::PersistentVolumeClaim,
        true,
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }),
    )
}

pub(super) fn event() -> Kind {
    kind(
        &strategy::Event,
        true,
        json!({
            "apiVersion": "v1", "kind": "Event",
            "involvedObject": {"kind": "Pod", "name": "a", "namespace": "default"},
            "reason": "Started", "message": "started", "type": "Normal",
        }),
    )
}

pub(super) fn new_event() -> Kind {
    kind(
        &strategy::Event,
        true,
        json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "regarding": {"kind": "Pod", "name": "a", "namespace": "default"},
            "eventTime": "2026-01-01T00:00:00.000000Z", "reason": "Started", "note": "started", "type": "Normal",
            "action": "Starting", "reportingController": "example.com/tester", "reportingInstance": "tester-1",
        }),
    )
}

pub(super) fn resource_quota() -> Kind {
    kind(
        &strategy::ResourceQuota,
        true,
        json!({
            "apiVersion": "v1", "kind": "ResourceQuota",
            "spec": {"hard": {"pods": "10", "requests.cpu": "1500m", "requests.nvidia.com/gpu": "4"}},
        }),
    )
}

pub(super) fn limit_range() -> Kind {
    kind(
        &strategy::LimitRange,
        true,
        json!({
            "apiVersion": "v1", "kind": "LimitRange",
            "spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}]},
        }),
    )
}

pub(super) fn role() -> Kind {
    kind(
        &strategy::Role,
        true,
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        }),
    )
}

pub(super) fn cluster_role() -> Kind {
    kind(
        &strategy::Role,
        false,
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "system:sample"},
            "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
        }),
    )
}

pub(super) fn role_binding() -> Kind {
    kind(
        &strategy::RoleBinding,
        true,
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}],
        }),
    )
}

pub(super) fn cluster_role_binding() -> Kind {
    kind(
        &strategy::RoleBinding,
        false,
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "roleRef": {"kind": "ClusterRole", "name": "r"},
            "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "default"}],
        }),
    )
}

pub(super) fn lease() -> Kind {
    kind(
        &strategy::Lease,
        true,
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15, "leaseTransitions": 0},
        }),
    )
}

pub(super) fn pod_disruption_budget() -> Kind {
    kind(
        &strategy::PodDisruptionBudget,
        true,
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "spec": {"minAvailable": "50%", "selector": selector()},
        }),
    )
}

pub(super) fn priority_class() -> Kind {
    kind(
        &strategy::PriorityClass,
        false,
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000}),
    )
}

pub(super) fn storage_class() -> Kind {
    kind(
        &strategy::StorageClass,
        false,
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "provisioner": "example.com/disk", "parameters": {"type": "fast"},
        }),
    )
}

pub(super) fn csi_driver() -> Kind {
    kind(
        &strategy::CsiDriver,
        false,
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "spec": {}}),
    )
}

pub(super) fn volume_attachment() -> Kind {
    kind(
        &strategy::VolumeAttachment,
        false,
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
            "spec": {
                "attacher": "example.com", "nodeName": "n1", "source": {"persistentVolumeName": "pv"},
            },
        }),
    )
}

pub(super) fn ingress() -> Kind {
    kind(
        &strategy::Ingress,
        true,
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "spec": {"rules": [{"host": "a.example.com", "http": {"paths": [{
                "path": "/", "pathType": "Prefix",
                "backend": {"service": {"name": "web", "port": {"number": 80}}},
            }]}}]},
        }),
    )
}

pub(super) fn ingress_class() -> Kind {
    kind(
        &strategy::IngressClass,
        false,
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass",
            "spec": {"controller": "example.com/it", "parameters": {"kind": "K", "name": "n"}},
        }),
    )
}

pub(super) fn network_policy() -> Kind {
    kind(
        &strategy::NetworkPolicy,
        true,
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
            "spec": {"podSelector": selector(), "egress": [{
                "ports": [{"port": 80}],
                "to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}],
            }]},
        }),
    )
}

pub(super) fn certificate_signing_request() -> Kind {
    kind(
        &strategy::CertificateSigningRequest,
        false,
        json!({
            "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
            "spec": {
                "request": REQUEST.trim(), "signerName": "example.com/clients",
                "usages": ["client auth"],
            },
        }),
    )
}

fn webhook() -> Value {
    json!({
        "name": "pods.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "hook", "namespace": "default"}},
        "rules": [{
            "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
        }],
    })
}

pub(super) fn mutating_webhook() -> Kind {
    kind(
        &strategy::WebhookConfiguration,
        false,
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "webhooks": [webhook()],
        }),
    )
}

pub(super) fn validating_webhook() -> Kind {
    kind(
        &strategy::WebhookConfiguration,
        false,
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "webhooks": [webhook()],
        }),
    )
}

pub(super) fn custom_resource_definition() -> Kind {
    kind(
        &strategy::CustomResourceDefinition,
        false,
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }],
            },
        }),
    )
}

/// A good object of every kind.
pub(super) fn all() -> Vec<Kind> {
    vec![
        namespace(),
        pod(),
        pod_template(),
        node(),
        service(),
        endpoints(),
        endpoint_slice(),
        config_map(),
        secret(),
        service_account(),
        persistent_volume(),
        claim(),
        event(),
        new_event(),
        resource_quota(),
        limit_range(),
        deployment(),
        replica_set(),
        stateful_set(),
        daemon_set(),
        controller_revision(),
        job(),
        cron_job(),
        role(),
        cluster_role(),
        role_binding(),
        cluster_role_binding(),
        lease(),
        pod_disruption_budget(),
        priority_class(),
        storage_class(),
        csi_driver(),
        volume_attachment(),
        ingress(),
        ingress_class(),
        network_policy(),
        certificate_signing_request(),
        mutating_webhook(),
        validating_webhook(),
        custom_resource_definition(),
    ]
}
