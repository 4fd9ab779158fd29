//! The scheduler's adapter to Kubernetes.
//!
//! Watches ([`feed`]) bring lean objects ([`wire`]) to one task that owns the core ([`run`]); [`world`] turns them into
//! what the core knows ([`translate`]); [`replay`] takes in a recording in the same way. What the core decides leaves as binds ([`bind`]) and evictions.

mod bind;
mod dispute;
mod evict;
mod explain;
mod feed;
mod replay;
mod report;
mod role;
mod run;
mod settings;
mod translate;
mod wire;
mod world;

pub use explain::Access;
pub(crate) use replay::{ReplayError, replay};
pub use role::role;
pub use settings::{CardSettings, Settings};
