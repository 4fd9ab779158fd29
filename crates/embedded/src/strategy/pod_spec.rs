//! The specification of a Pod, whether it is a Pod's own or a template's.

mod defaults;

pub(super) use defaults::{default_claim_spec, default_pod_spec, default_template};
