//! Objects of the API as the core knows them.
//!
//! Everything here is pure. What makes no sense in a Pod ends as an [`Unfit`] with a sentence for its owner; it never
//! stops the rest.

mod account;
mod cards;
mod group;
mod node;
mod shape;
mod terms;
mod volumes;

pub(crate) use account::{account, limits};
pub(crate) use cards::{CardNames, as_annotations, cards_taken};
pub(crate) use group::{
    Asked, Membership, Owner, job_group, membership, task, upstream_group, volcano_group,
};
pub(crate) use node::node;
pub(crate) use shape::{Shapes, Template};
pub(crate) use terms::budget;
pub(crate) use volumes::{SELECTED_NODE, Ties, Volumes, Wanted, claim_keys};

/// Why a Pod cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unfit(pub(crate) String);

impl Unfit {
    /// Texts from objects are anything up to megabytes.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let mut text: String = text.into();
        text.truncate(text.floor_char_boundary(400));
        Self(text)
    }
}
