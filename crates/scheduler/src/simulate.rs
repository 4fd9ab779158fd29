//! The scheduler on a trace: what would have happened, or what would happen if.
//!
//! A [`Trace`] is nodes and Pods with when they come and how long they run, read from tables ([`table`]) or from a
//! recording of a cluster.  [`packing`] fills the cluster until nothing fits and tells how much of the cards stays
//! unused, by our placement and by FGD ([`fgd`]), the method it is measured against.

pub mod fgd;
pub mod generate;
pub mod packing;
pub mod table;
pub mod trace;

pub use trace::{Trace, TracePod};
