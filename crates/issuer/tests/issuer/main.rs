//! The provider on real records, with a clock that a test turns: what clients get, and what thieves do not.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

#[path = "../../../nodes/tests/support/absent.rs"]
mod absent;
mod attacks;
mod devices;
mod flows;
mod keys;
mod restart;
mod rsa;
mod world;
