//! How commands for people reach a portal: the login that `maar login` keeps, and requests with its key.

mod file;
mod request;

pub(crate) use file::{Login, LoginArgs};
pub(crate) use request::Remote;
