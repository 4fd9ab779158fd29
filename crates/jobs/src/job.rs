//! The AIJob controller.
//!
//! [`plan`] is the heart: job, Pods and time in; status, Pods to make, to warn and to stop out. It has no memory but the
//! status: a decision is written there first and done afterwards, so a controller that dies anywhere between the writes
//! is followed by one that goes on. Read `observe` (what the Pods say), `decide` (whether to stop, to try again, or to
//! go on), `outcome` (phase and counts), then `reconcile` (the writes and their order).

mod check;
mod decide;
mod done;
mod lost;
mod observe;
mod outcome;
mod plan;
mod reconcile;
mod volcano;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;

pub(crate) use check::problems;
pub(crate) use plan::{Plan, Stay, View, plan, stay};
pub(crate) use reconcile::Jobs;
