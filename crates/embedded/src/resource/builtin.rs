//! The table of built-in resources.

use super::Subresource::{
    self, Approval, Attach, Binding, EphemeralContainers, Eviction, Exec, Finalize, Log, PortForward, Proxy,
    Resize, Scale, Status, Token,
};
use crate::strategy::{self, Strategy};

/// The facts about one built-in resource.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that are independent of each other")]
pub(crate) struct Builtin {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) namespaced: bool,
    pub(crate) short_names: &'static [&'static str],
    pub(crate) categories: &'static [&'static str],
    pub(crate) subresources: &'static [Subresource],
    pub(crate) field_paths: &'static [&'static str],
    /// Whether `metadata.generation` counts changes of the specification.
    pub(crate) generation: bool,
    /// Whether an update may leave out which revision it is of.
    pub(crate) unconditional: bool,
    /// Whether an update of an object that is not there makes it.
    pub(crate) creates_on_update: bool,
    /// What clients are told of a kind on its way out.
    pub(crate) deprecation: Option<&'static str>,
    /// The table, where it is not named after the resource itself.
    pub(crate) table: Option<&'static str>,
    pub(crate) strategy: &'static dyn Strategy,
}

const NONE: Builtin = Builtin {
    group: "",
    version: "v1",
    plural: "",
    kind: "",
    namespaced: true,
    short_names: &[],
    categories: &[],
    subresources: &[],
    field_paths: &[],
    generation: false,
    unconditional: true,
    creates_on_update: false,
    deprecation: None,
    table: None,
    strategy: &strategy::Plain,
};

const ALL: &[&str] = &["all"];

const EVENT_FIELDS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

const ENDPOINTS_DEPRECATION: &str =
    "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";

const POD_SUBRESOURCES: &[Subresource] =
    &[Attach, Binding, EphemeralContainers, Eviction, Exec, Log, PortForward, Proxy, Resize, Status];

const POD_FIELDS: &[&str] = &[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
];

/// Every built-in resource that is stored.
pub(crate) fn builtins() -> &'static [Builtin] {
    TABLE
}

#[rustfmt::skip]
static TABLE: &[Builtin] = &[
    Builtin { plural: "namespaces", kind: "Namespace", namespaced: false, short_names: &["ns"], subresources: &[Finalize, Status], field_paths: &["status.phase"], strategy: &strategy::Namespace, ..NONE },
    Builtin { plural: "pods", kind: "Pod", short_names: &["po"], categories: ALL, subresources: POD_SUBRESOURCES, field_paths: POD_FIELDS, generation: true, strategy: &strategy::Pod, ..NONE },
    Builtin { plural: "nodes", kind: "Node", namespaced: false, short_names: &["no"], subresources: &[Proxy, Status], field_paths: &["spec.unschedulable"], strategy: &strategy::Node, ..NONE },
    Builtin { plural: "services", kind: "Service", creates_on_update: true, short_names: &["svc"], categories: ALL, subresources: &[Proxy, Status], field_paths: &["spec.clusterIP", "spec.type"], strategy: &strategy::Service, ..NONE },
    Builtin { plural: "endpoints", kind: "Endpoints", creates_on_update: true, short_names: &["ep"], deprecation: Some(ENDPOINTS_DEPRECATION), strategy: &strategy::Endpoints, ..NONE },
    Builtin { plural: "configmaps", kind: "ConfigMap", short_names: &["cm"], strategy: &strategy::ConfigMap, ..NONE },
    Builtin { plural: "secrets", kind: "Secret", field_paths: &["type"], strategy: &strategy::Secret, ..NONE },
    Builtin { plural: "serviceaccounts", kind: "ServiceAccount", short_names: &["sa"], subresources: &[Token], strategy: &strategy::ServiceAccount, ..NONE },
    Builtin { plural: "persistentvolumes", kind: "PersistentVolume", namespaced: false, short_names: &["pv"], subresources: &[Status], strategy: &strategy::PersistentVolume, ..NONE },
    Builtin { plural: "persistentvolumeclaims", kind: "PersistentVolumeClaim", short_names: &["pvc"], subresources: &[Status], strategy: &strategy::PersistentVolumeClaim, ..NONE },
    Builtin { plural: "events", kind: "Event", creates_on_update: true, short_names: &["ev"], field_paths: EVENT_FIELDS, strategy: &strategy::Event, ..NONE },
    Builtin { group: "events.k8s.io", plural: "events", kind: "Event", creates_on_update: true, short_names: &["ev"], field_paths: EVENT_FIELDS, table: Some("events"), strategy: &strategy::Event, ..NONE },
    Builtin { plural: "resourcequotas", kind: "ResourceQuota", short_names: &["quota"], subresources: &[Status], strategy: &strategy::ResourceQuota, ..NONE },
    Builtin { plural: "limitranges", kind: "LimitRange", creates_on_update: true, short_names: &["limits"], strategy: &strategy::LimitRange, ..NONE },
    Builtin { plural: "podtemplates", kind: "PodTemplate", generation: true, strategy: &strategy::PodTemplate, ..NONE },

    Builtin { group: "apps", plural: "deployments", kind: "Deployment", short_names: &["deploy"], categories: ALL, subresources: &[Scale, Status], generation: true, strategy: &strategy::Deployment, ..NONE },
    Builtin { group: "apps", plural: "replicasets", kind: "ReplicaSet", short_names: &["rs"], categories: ALL, subresources: &[Scale, Status], generation: true, strategy: &strategy::ReplicaSet, ..NONE },
    Builtin { group: "apps", plural: "statefulsets", kind: "StatefulSet", short_names: &["sts"], categories: ALL, subresources: &[Scale, Status], generation: true, strategy: &strategy::StatefulSet, ..NONE },
    Builtin { group: "apps", plural: "daemonsets", kind: "DaemonSet", short_names: &["ds"], categories: ALL, subresources: &[Status], generation: true, strategy: &strategy::DaemonSet, ..NONE },
    Builtin { group: "apps", plural: "controllerrevisions", kind: "ControllerRevision", strategy: &strategy::ControllerRevision, ..NONE },

    Builtin { group: "batch", plural: "jobs", kind: "Job", categories: ALL, subresources: &[Status], field_paths: &["status.successful"], generation: true, strategy: &strategy::Job, ..NONE },
    Builtin { group: "batch", plural: "cronjobs", kind: "CronJob", short_names: &["cj"], categories: ALL, subresources: &[Status], generation: true, strategy: &strategy::CronJob, ..NONE },

    Builtin { group: "rbac.authorization.k8s.io", plural: "roles", kind: "Role", creates_on_update: true, strategy: &strategy::Role, ..NONE },
    Builtin { group: "rbac.authorization.k8s.io", plural: "rolebindings", kind: "RoleBinding", creates_on_update: true, strategy: &strategy::RoleBinding, ..NONE },
    Builtin { group: "rbac.authorization.k8s.io", plural: "clusterroles", kind: "ClusterRole", creates_on_update: true, namespaced: false, strategy: &strategy::Role, ..NONE },
    Builtin { group: "rbac.authorization.k8s.io", plural: "clusterrolebindings", kind: "ClusterRoleBinding", creates_on_update: true, namespaced: false, strategy: &strategy::RoleBinding, ..NONE },

    Builtin { group: "coordination.k8s.io", plural: "leases", kind: "Lease", creates_on_update: true, unconditional: false, strategy: &strategy::Lease, ..NONE },
    Builtin { group: "policy", plural: "poddisruptionbudgets", kind: "PodDisruptionBudget", unconditional: false, short_names: &["pdb"], subresources: &[Status], generation: true, strategy: &strategy::PodDisruptionBudget, ..NONE },
    Builtin { group: "scheduling.k8s.io", plural: "priorityclasses", kind: "PriorityClass", namespaced: false, short_names: &["pc"], generation: true, strategy: &strategy::PriorityClass, ..NONE },

    Builtin { group: "storage.k8s.io", plural: "storageclasses", kind: "StorageClass", namespaced: false, short_names: &["sc"], strategy: &strategy::StorageClass, ..NONE },
    Builtin { group: "storage.k8s.io", plural: "csinodes", kind: "CSINode", unconditional: false, namespaced: false, strategy: &strategy::CsiNode, ..NONE },
    Builtin { group: "storage.k8s.io", plural: "csidrivers", kind: "CSIDriver", unconditional: false, namespaced: false, strategy: &strategy::CsiDriver, ..NONE },
    Builtin { group: "storage.k8s.io", plural: "volumeattachments", kind: "VolumeAttachment", unconditional: false, namespaced: false, subresources: &[Status], strategy: &strategy::VolumeAttachment, ..NONE },

    Builtin { group: "networking.k8s.io", plural: "ingresses", kind: "Ingress", short_names: &["ing"], subresources: &[Status], generation: true, strategy: &strategy::Ingress, ..NONE },
    Builtin { group: "networking.k8s.io", plural: "ingressclasses", kind: "IngressClass", namespaced: false, generation: true, strategy: &strategy::IngressClass, ..NONE },
    Builtin { group: "networking.k8s.io", plural: "networkpolicies", kind: "NetworkPolicy", short_names: &["netpol"], generation: true, strategy: &strategy::NetworkPolicy, ..NONE },
    Builtin { group: "discovery.k8s.io", plural: "endpointslices", kind: "EndpointSlice", generation: true, strategy: &strategy::EndpointSlice, ..NONE },

    Builtin { group: "certificates.k8s.io", plural: "certificatesigningrequests", kind: "CertificateSigningRequest", namespaced: false, short_names: &["csr"], subresources: &[Approval, Status], field_paths: &["spec.signerName"], strategy: &strategy::CertificateSigningRequest, ..NONE },

    Builtin { group: "admissionregistration.k8s.io", plural: "mutatingwebhookconfigurations", kind: "MutatingWebhookConfiguration", unconditional: false, namespaced: false, categories: &["api-extensions"], generation: true, strategy: &strategy::WebhookConfiguration, ..NONE },
    Builtin { group: "admissionregistration.k8s.io", plural: "validatingwebhookconfigurations", kind: "ValidatingWebhookConfiguration", unconditional: false, namespaced: false, categories: &["api-extensions"], generation: true, strategy: &strategy::WebhookConfiguration, ..NONE },
    Builtin { group: "apiextensions.k8s.io", plural: "customresourcedefinitions", kind: "CustomResourceDefinition", unconditional: false, namespaced: false, short_names: &["crd", "crds"], categories: &["api-extensions"], subresources: &[Status], generation: true, strategy: &strategy::CustomResourceDefinition, ..NONE },
];
