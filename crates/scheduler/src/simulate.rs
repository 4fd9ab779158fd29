//! The scheduler on a trace: what would have happened, or what would happen if.
//!
//! A [`Trace`] is nodes and Pods with when they come and how long they run, read from tables ([`table`]) or from a
//! [`recording`] of a cluster. [`run`] lets them come and go in simulated time, through the core. [`packing`] fills the cluster until nothing fits and tells how much of the cards stays
//! unused, by our placement and by FGD ([`fgd`]), the method it is measured against.

mod budgets;
pub mod chart;
pub mod family;
pub mod fgd;
pub mod generate;
pub mod outcome;
pub mod packing;
pub mod recording;
pub mod run;
pub mod table;
#[cfg(test)]
mod tests;
pub mod trace;

pub use trace::{LoadError, Trace, TracePod};
