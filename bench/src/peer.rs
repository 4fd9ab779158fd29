//! The clusters that are compared.

mod child;
mod real;

pub(crate) use child::Child;
pub(crate) use real::{Real, Unavailable};

use crate::client::Door;

/// A cluster under measurement.
pub(crate) struct Peer {
    /// How the report calls it.
    pub(crate) name: &'static str,
    pub(crate) door: Door,
    /// The processes whose CPU time is the server's; none if it is in this process.
    pub(crate) pids: Vec<u32>,
}
