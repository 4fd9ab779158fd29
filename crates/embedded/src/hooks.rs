//! What the verbs call on the way: field ownership, stored forms, addresses, and the CRD registry.

mod addresses;
mod definitions;
mod ownership;
mod storage_form;

pub(crate) use definitions::TABLE as DEFINITIONS;
pub(crate) use storage_form::{from_storage, is_storage_form, to_storage};
