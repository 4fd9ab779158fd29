//! One set of tests, on SQLite and on a real PostgreSQL.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

#[macro_use]
mod support;

mod attempts;
mod audit;
mod backup;
mod identities;
mod issuer;
mod keys;
mod kill;
mod lost;
mod paging;
mod ports;
mod saved;
mod schema;
mod sessions;
mod ssh_keys;
mod users;
