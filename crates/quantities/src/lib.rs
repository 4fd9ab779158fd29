//! Exact numbers with Kubernetes suffixes ([`quantity`]), lists of them and what a Pod asks for ([`resources`]). No I/O.
//!
//! Apart from Maar's own kinds, of which the embedded Kubernetes and its nodes know nothing: so a change of a kind does not
//! build them anew.
#![warn(missing_docs)]

pub mod quantity;
pub mod resources;

pub use quantity::Quantity;
pub use resources::ResourceList;
