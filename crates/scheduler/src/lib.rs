//! The scheduler: a pure core and its adapter to Kubernetes.
//!
//! The core is synchronous and has no client, clock or randomness. [`model`] is what it knows the world by: nodes,
//! Pods, groups of Pods that start together, accounts. [`ledger`] keeps them and who holds what,
//! [`filter`] says where a Pod may go, [`place`] where it goes.
#![warn(missing_docs)]

pub mod adapter;
pub mod core;
pub mod explain;
pub mod filter;
pub mod ledger;
pub mod metrics;
pub mod model;
pub mod place;
pub mod preempt;
pub mod queue;
pub mod simulate;
#[cfg(test)]
mod testing;
