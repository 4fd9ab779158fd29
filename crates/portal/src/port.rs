//! Ways into a workspace that are no terminal: its ports, and those of a job, as pages; its ports by `maar forward`, commands by `maar
//! workspace exec` and `maar cp`.
//!
//! [`routes`] are what the portal's own API says about them. The pages themselves are on other origins: `gate` is what
//! the proxy of the gateway asks about those who come there, and `sharing` who may, as a pure function. `forward` and
//! `exec` are WebSockets for the owner alone.

mod behind;
mod exec;
mod forward;
mod gate;
mod handlers;
mod reach;
mod routes;
mod serve;
mod sharing;

pub(crate) use routes::routes;
pub(crate) use serve::{beside, serve};
