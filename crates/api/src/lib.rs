//! What the parts of Maar agree on: names, quantities and resource arithmetic. No I/O.
//!
//! Start with [`quantity`] (exact numbers with Kubernetes suffixes) and [`resources`] (lists of them and what a
//! Pod asks for).
#![warn(missing_docs)]

pub mod names;
pub mod quantity;
pub mod resources;

pub use quantity::Quantity;
pub use resources::ResourceList;
