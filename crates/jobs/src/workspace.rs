//! The Workspace controller: one interactive Pod, its volumes, its Service.
//!
//! As with jobs, `plan` is pure and the status is written before anything is done. The Pod carries the number of times
//! it was made again (`maar.io/attempt`): one with a lower number than the status is on its way out.

mod grant;
mod plan;
mod reconcile;
mod render;

#[cfg(test)]
mod tests;

pub use grant::{ANNOTATION_GRANT, GrantedPath, WorkspaceGrant};
pub(crate) use reconcile::Workspaces;
