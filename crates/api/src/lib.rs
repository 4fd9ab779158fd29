//! What the parts of Maar agree on: names, cards and the kinds of `maar.io`. No I/O.
//!
//! Start with [`cards`] (what makers call theirs) and [`v1alpha1`] (accounts, jobs, workspaces). Whoever speaks of these speaks of
//! quantities too, so those are offered here as well.
#![warn(missing_docs)]

pub mod cards;
pub mod names;
pub mod payer;
pub mod v1alpha1;

pub use maar_quantities::{Quantity, ResourceList, quantity, resources};
pub use payer::Payers;
