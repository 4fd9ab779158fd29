//! The specification of a Pod, whether it is a Pod's own or a template's.
//!
//! `defaults` fills it, `validate` checks it; the other modules are the parts of `validate`.

mod container;
mod defaults;
mod environment;
mod host;
mod mount;
mod probe;
mod projection;
mod scheduling;
mod security;
mod validate;
mod volume;

pub(super) use defaults::{default_claim_spec, default_pod_spec, default_template};
pub(super) use scheduling::{validate_added_tolerations, validate_node_selector, validate_taint_effect};
pub(super) use validate::{Owner, validate, validate_template};
pub(super) use volume::{validate_driver_name, validate_host_path, validate_nfs};
