//! Workspaces: what a request becomes, and what is shown of them.

mod actions;
mod handlers;
mod new;
mod routes;
mod view;

pub(crate) use handlers::{CONTAINER, place, pod_of};
pub(crate) use new::{NewWorkspace, plan};
pub(crate) use routes::routes;
pub(crate) use view::{object_of, view};
