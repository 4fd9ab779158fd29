//! The portal: GPU workspaces and jobs for people, over HTTP.
//!
//! Start with `route` (the one table of routes and the guard before them) and `access` (who may do what). `identity` says
//! who asks, `live` holds the cluster as the watches last saw it. What a request becomes is pure: `workspace::new`,
//! `job::new`, `namespace::objects`, `rules`. [`role()`] puts it together.
#![warn(missing_docs)]

mod access;
mod account;
mod audit;
mod error;
mod identity;
mod job;
mod live;
mod namespace;
mod node;
mod openapi;
mod page;
mod pod;
mod portal;
mod role;
mod route;
mod rules;
mod stream;
mod terminal;
#[cfg(test)]
mod testing;
mod web;
mod workspace;

pub use identity::{Entropy, FirstAdmin, PasswordCost, first_admin};
pub use namespace::UserLimits;
pub use openapi::openapi;
pub use portal::{Portal, PortalError, Settings};
pub use role::{role, router};
pub use terminal::TerminalSettings;
