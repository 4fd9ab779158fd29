//! The portal over HTTP, in process, beside an embedded cluster with jobs, scheduler and cards.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

#[path = "../../../nodes/tests/support/absent.rs"]
mod absent;
mod apps;
mod browser;
mod container;
mod govern;
mod holes;
mod identity;
mod kubeconfigs;
mod lives;
mod matrix;
mod nodes;
mod openid;
mod prometheus;
mod quotas;
mod real;
mod schemathesis;
mod socket;
mod ssh;
mod terminal;
mod things;
mod ways;
mod world;
