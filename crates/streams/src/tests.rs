//! Whole sessions: this crate's server against this crate's client, against kube's and against kubectl.

mod api_server;
mod exec;
mod kube;
mod kubectl;
mod portforward;
mod proxy;
mod server;
