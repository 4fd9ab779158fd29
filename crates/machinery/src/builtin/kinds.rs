//! The table of built-in kinds.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, OnceLock},
};

use k8s_openapi::{
    api::{
        admissionregistration::v1 as admission, apps::v1 as apps, authentication::v1 as authentication,
        authorization::v1 as authorization, autoscaling::v1 as autoscaling, batch::v1 as batch,
        certificates::v1 as certificates, coordination::v1 as coordination, core::v1 as core,
        discovery::v1 as discovery, events::v1 as events, networking::v1 as networking, policy::v1 as policy,
        rbac::v1 as rbac, scheduling::v1 as scheduling, storage::v1 as storage,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions,
    apimachinery::pkg::apis::meta::v1 as meta,
};
use schemars::SchemaGenerator;

use super::definitions;
use crate::{
    fields::Type,
    schema::{Schema, to_type},
};

/// A kind that needs no definition by users.
pub struct BuiltinKind {
    /// The group; empty for core.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The kind.
    pub kind: &'static str,
    pub(super) generate: fn(&mut SchemaGenerator) -> schemars::Schema,
    compiled: OnceLock<Arc<Schema>>,
    merged: OnceLock<Arc<Type>>,
}

impl BuiltinKind {
    /// The kind's schema, compiled on first use.
    pub fn schema(&self) -> Arc<Schema> {
        Arc::clone(self.compiled.get_or_init(|| definitions::compile(self.generate)))
    }

    /// The kind's shape for merging, built on first use.
    pub fn merge_type(&self) -> Arc<Type> {
        Arc::clone(self.merged.get_or_init(|| Arc::new(to_type(&self.schema()))))
    }

    /// Whether there are lists of this kind: not of requests and answers that are never stored.
    pub fn is_listed(&self) -> bool {
        !(self.kind.ends_with("Review")
            || matches!(
                self.kind,
                "Binding" | "DeleteOptions" | "Eviction" | "Scale" | "Status" | "TokenRequest"
            ))
    }
}

impl std::fmt::Debug for BuiltinKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{} {}", self.group, self.version, self.kind)
    }
}

macro_rules! builtin_kinds {
    ($($group:literal $version:literal $module:ident: $($kind:ident)+;)+) => {
        static KINDS: [BuiltinKind; [$($(stringify!($kind),)+)+].len()] = [$($(BuiltinKind {
            group: $group,
            version: $version,
            kind: stringify!($kind),
            generate: SchemaGenerator::subschema_for::<$module::$kind>,
            compiled: OnceLock::new(),
            merged: OnceLock::new(),
        },)+)+];
    };
}

builtin_kinds! {
    "" "v1" core:
        Binding ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod
        PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount;
    "" "v1" meta: DeleteOptions Status;
    "admissionregistration.k8s.io" "v1" admission:
        MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
        ValidatingWebhookConfiguration;
    "apiextensions.k8s.io" "v1" apiextensions: CustomResourceDefinition;
    "apps" "v1" apps: ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet;
    "authentication.k8s.io" "v1" authentication: SelfSubjectReview TokenRequest TokenReview;
    "authorization.k8s.io" "v1" authorization:
        LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview;
    "autoscaling" "v1" autoscaling: HorizontalPodAutoscaler Scale;
    "batch" "v1" batch: CronJob Job;
    "certificates.k8s.io" "v1" certificates: CertificateSigningRequest;
    "coordination.k8s.io" "v1" coordination: Lease;
    "discovery.k8s.io" "v1" discovery: EndpointSlice;
    "events.k8s.io" "v1" events: Event;
    "networking.k8s.io" "v1" networking: Ingress IngressClass NetworkPolicy;
    "policy" "v1" policy: Eviction PodDisruptionBudget;
    "rbac.authorization.k8s.io" "v1" rbac: ClusterRole ClusterRoleBinding Role RoleBinding;
    "scheduling.k8s.io" "v1" scheduling: PriorityClass;
    "storage.k8s.io" "v1" storage: CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment;
}

/// Every built-in kind.
pub fn kinds() -> &'static [BuiltinKind] {
    &KINDS
}

/// The built-in kind of this name; `group` is empty for core.
pub fn find(group: &str, version: &str, kind: &str) -> Option<&'static BuiltinKind> {
    type Index = HashMap<(&'static str, &'static str, &'static str), &'static BuiltinKind>;
    static INDEX: LazyLock<Index> =
        LazyLock::new(|| KINDS.iter().map(|kind| ((kind.group, kind.version, kind.kind), kind)).collect());
    INDEX.get(&(group, version, kind)).copied()
}
