//! What is particular about each built-in kind: defaults, what a client may not set, what may not change.
//!
//! The verbs call these hooks, all of them pure, in this order:
//!
//! - create: `default`, `prepare_create`, [`metadata::validate`], `validate`, `validate_create`;
//! - update: `default`, `prepare_update`, [`metadata::validate_update`], `validate`, `validate_update`;
//! - status and approval: `default`, `prepare_status`, [`metadata::validate_update`], `validate_subresource`;
//! - any other subresource that changes the object: `default`, `prepare_part`, `validate_subresource`.
//!
//! One file per kind. What several share: `pod_spec` (Pods and their templates), `metadata` (every kind), and the
//! small tools `value` (reading and filling JSON), `name` (syntax of names), `selector`, `resources` (quantities).

mod certificate_signing_request;
mod check;
mod config_map;
mod controller_revision;
mod cron_job;
mod csi_driver;
mod csi_node;
mod custom_resource_definition;
mod daemon_set;
mod deployment;
mod endpoint_slice;
mod endpoints;
mod event;
mod ingress;
mod ingress_class;
mod job;
mod lease;
mod limit_range;
pub(crate) mod metadata;
mod name;
mod namespace;
mod network_policy;
mod node;
mod persistent_volume;
mod persistent_volume_claim;
mod pod;
mod pod_disruption_budget;
mod pod_spec;
mod pod_template;
mod priority_class;
mod replica_set;
mod resource_quota;
mod resources;
mod role;
mod role_binding;
mod secret;
mod selector;
mod service;
mod service_account;
mod stateful_set;
mod storage_class;
#[cfg(test)]
mod tests;
mod value;
mod volume_attachment;
mod warnings;
mod webhook_configuration;
mod workload;

use maar_machinery::error::FieldError;
use serde_json::Value;

use crate::resource::Subresource;
use crate::world::World;

pub(crate) use certificate_signing_request::{CertificateSigningRequest, prepare_approval};
pub(crate) use config_map::ConfigMap;
pub(crate) use controller_revision::ControllerRevision;
pub(crate) use cron_job::CronJob;
pub(crate) use csi_driver::CsiDriver;
pub(crate) use csi_node::CsiNode;
pub(crate) use custom_resource_definition::CustomResourceDefinition;
pub(crate) use daemon_set::DaemonSet;
pub(crate) use deployment::Deployment;
pub(crate) use endpoint_slice::EndpointSlice;
pub(crate) use endpoints::Endpoints;
pub(crate) use event::Event;
pub(crate) use ingress::Ingress;
pub(crate) use ingress_class::IngressClass;
pub(crate) use job::Job;
pub(crate) use lease::Lease;
pub(crate) use limit_range::LimitRange;
pub(crate) use name::NameRule;
pub(crate) use namespace::Namespace;
pub(crate) use network_policy::NetworkPolicy;
pub(crate) use node::Node;
pub(crate) use persistent_volume::PersistentVolume;
pub(crate) use persistent_volume_claim::PersistentVolumeClaim;
pub(crate) use pod::Pod;
pub(crate) use pod_disruption_budget::PodDisruptionBudget;
pub(crate) use pod_template::PodTemplate;
pub(crate) use priority_class::PriorityClass;
pub(crate) use replica_set::ReplicaSet;
pub(crate) use resource_quota::ResourceQuota;
pub(crate) use role::Role;
pub(crate) use role_binding::RoleBinding;
pub(crate) use secret::Secret;
pub(crate) use service::Service;
pub(crate) use service_account::ServiceAccount;
pub(crate) use stateful_set::StatefulSet;
pub(crate) use storage_class::StorageClass;
pub(crate) use volume_attachment::VolumeAttachment;
pub(crate) use warnings::warnings;
pub(crate) use webhook_configuration::WebhookConfiguration;

/// The hooks of a kind; the defaults do nothing.
pub(crate) trait Strategy: Sync + std::fmt::Debug {
    /// Fills fields the client left out, on every write.
    fn default(&self, _object: &mut Value) {}

    /// Resets what a client may not choose at creation and sets the initial state.
    fn prepare_create(&self, _object: &mut Value, _world: &World) {}

    /// Restores what a client may not change by writing the object itself.
    fn prepare_update(&self, _new: &mut Value, _old: &Value) {}

    /// Restores what a write to the status may not change, beyond everything outside `status`.
    fn prepare_status(&self, _new: &mut Value, _old: &Value, _world: &World) {}

    /// Restores what a write to another part may not change.
    fn prepare_part(&self, _part: Subresource, _new: &mut Value, _old: &Value) {}

    /// Whether the change counts as a new generation of what is wanted.
    fn changes_generation(&self, new: &Value, old: &Value) -> bool {
        let differs = |one: &Value, other: &Value| {
            value::entries(one).any(|(field, value)| {
                !matches!(field, "apiVersion" | "kind" | "metadata" | "status")
                    && other.get(field) != Some(value)
            })
        };
        differs(new, old) || differs(old, new)
    }

    /// How objects of the kind may be named.
    fn name_rule(&self) -> NameRule {
        NameRule::Subdomain
    }

    /// Whether finalizers need not name a domain, as for kinds that the real server checks less strictly.
    fn takes_any_finalizer(&self) -> bool {
        false
    }

    /// What is wrong with the object.
    fn validate(&self, _object: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// What is wrong with a new object, besides what `validate` finds.
    fn validate_create(&self, _object: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// What is wrong with the change, besides what `validate` finds.
    fn validate_update(&self, _new: &Value, _old: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// What is wrong with a change through a subresource; nothing else of the object can have changed.
    fn validate_subresource(&self, _subresource: Subresource, _new: &Value, _old: &Value) -> Vec<FieldError> {
        Vec::new()
    }
}

/// A kind with nothing particular about it, as custom ones are.
#[derive(Debug)]
pub(crate) struct Plain;

impl Strategy for Plain {
    fn name_rule(&self) -> NameRule {
        NameRule::Custom
    }

    fn takes_any_finalizer(&self) -> bool {
        true
    }
}
