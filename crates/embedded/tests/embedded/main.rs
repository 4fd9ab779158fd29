//! The API server as its clients see it. One program: a change in this crate links it once.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests and their helpers stop at the first surprise")]

mod admission;
mod identity;
mod objects;
mod openapi;
