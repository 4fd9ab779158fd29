//! Whole sessions: this crate's server against this crate's client, against kube's and against kubectl.

mod exec;
mod portforward;
mod proxy;
mod server;
