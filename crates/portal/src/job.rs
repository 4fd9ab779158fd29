//! Jobs: what a manifest becomes, what is shown of them, and why they wait.

mod actions;
mod handlers;
mod new;
mod routes;
mod view;
mod why;

pub(crate) use handlers::matches_search;
pub(crate) use new::{NewJob, NewMetadata, plan};
pub(crate) use routes::routes;
pub(crate) use view::{object_of, view};
pub(crate) use why::Why;
