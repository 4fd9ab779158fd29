//! How commands for people reach a portal: the login that `maar login` keeps, and requests with its key.

mod file;
mod request;

pub(crate) use file::{Login, LoginArgs};
pub(crate) use request::{Remote, Socket};

/// What this machine is called, for people who look at what was given to which.
pub(crate) fn machine() -> String {
    let name = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let name: String = name.trim().chars().filter(|one| !one.is_control()).take(40).collect();
    if name.is_empty() { "a device".to_owned() } else { name }
}
