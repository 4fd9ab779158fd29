//! The portal over HTTP, in process, beside an embedded cluster with jobs, scheduler and cards.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

#[path = "../../../nodes/tests/support/absent.rs"]
mod absent;
mod apps;
mod browser;
mod container;
mod document;
mod editors;
mod govern;
#[path = "../support/heard.rs"]
mod heard;
mod holes;
mod identity;
mod jupyter;
mod kubeconfigs;
mod lives;
mod looking;
mod matrix;
mod nodes;
mod openid;
mod paths;
mod prometheus;
mod quotas;
mod real;
mod refusals;
mod rooms;
mod schemathesis;
mod socket;
mod ssh;
mod terminal;
mod things;
mod ways;
mod world;
