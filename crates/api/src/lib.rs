//! What the parts of Maar agree on: names, quantities, resource arithmetic and the kinds of `maar.io`. No I/O.
//!
//! Start with [`quantity`] (exact numbers with Kubernetes suffixes), [`resources`] (lists of them and what a
//! Pod asks for), [`cards`] (what makers call theirs) and [`v1alpha1`] (accounts, jobs, workspaces).
#![warn(missing_docs)]

pub mod cards;
pub mod names;
pub mod payer;
pub mod quantity;
pub mod resources;
pub mod v1alpha1;

pub use payer::Payers;
pub use quantity::Quantity;
pub use resources::ResourceList;
