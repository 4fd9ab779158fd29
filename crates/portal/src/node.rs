//! Nodes and their cards: who is on what, and what administrators do with nodes.
//!
//! `view` makes what is shown of a node; `overview` keeps it, and its bytes, until something changes.

mod admin;
mod drain;
mod handlers;
mod kinds;
mod neighbours;
mod occupy;
mod overview;
mod summary;
mod usage;
mod view;

pub(crate) use handlers::routes;
pub(crate) use kinds::CardKinds;
pub(crate) use neighbours::neighbours;
pub(crate) use overview::Overview;
pub(crate) use usage::{Usage, UsageQuery, usage_of};
pub(crate) use view::{Holder, given, has_cards};
