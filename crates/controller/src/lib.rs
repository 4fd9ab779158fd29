//! What every role of Maar shares.
//!
//! A role is a [`role::Role`]: named tasks under a [`supervisor`], a [`lease`] so that one process leads, [`events`] for
//! people, and a [`pool`] of workers fed by [`watch`]es. Work writes through [`apply`] and [`finalizer`], fails with an
//! [`error::Category`], and reports to [`health`] and [`metrics`]. [`process::Process`] puts it together.
#![warn(missing_docs)]

pub mod apply;
pub mod backoff;
pub mod clock;
pub mod config;
pub mod environment;
pub mod error;
pub mod events;
pub mod finalizer;
pub mod health;
pub mod http;
pub mod lease;
pub mod metrics;
pub mod pool;
pub mod process;
pub mod role;
pub mod signal;
pub mod supervisor;
pub mod telemetry;
pub mod watch;

#[cfg(test)]
mod test_cluster;

pub use environment::Environment;
pub use error::{Categorized, Category, Error};
pub use role::{Context, Role, RoleConfig};
