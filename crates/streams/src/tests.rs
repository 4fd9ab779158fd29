//! Whole sessions: this crate's server against this crate's client, against kube's and against kubectl.

mod exec;
mod proxy;
mod server;
