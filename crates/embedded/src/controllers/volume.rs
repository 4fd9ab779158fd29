//! Persistent volumes: claims find volumes, or get a directory made for them.
//!
//! `matching` says which volume suits a claim, `binder` joins the two (or makes a volume), `ephemeral` makes the
//! claims that Pods bring along, `protection` keeps claims and volumes while they are in use.

mod binder;
mod ephemeral;
mod matching;
mod protection;

pub(crate) use binder::{VolumeBinder, claim_reference};
pub(crate) use ephemeral::EphemeralClaims;
pub(crate) use matching::{fits, is_bound, is_provisioned, nodes_of, promise, rank, waits_for_consumer};
pub(crate) use protection::VolumeProtection;

/// By which the scheduler tells where the Pod of a claim will be.
pub(crate) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Who makes directories.
pub(crate) const PROVISIONER: &str = "maar.io/directory";
