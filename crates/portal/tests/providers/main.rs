//! Signing in by others: against a small provider in this process that can be made to lie in every way, and against real
//! ones where they are installed.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod absent;
mod broken_ldap;
mod desk;
mod development;
mod guarded;
#[path = "../support/heard.rs"]
mod heard;
mod idp;
mod limits;
mod logged;
mod oauth2;
mod oidc;
mod proxy;
mod real_client;
mod real_ldap;
mod real_oidc;
