//! Nodes and their cards: who is on what.

mod handlers;
mod overview;

pub(crate) use handlers::routes;
pub(crate) use overview::Overview;
