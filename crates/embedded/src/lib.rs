//! A Kubernetes inside the process: API server, store, built-in controllers, faults.
//!
//! It is for trying Maar, for tests and for simulation. It answers as the real one does, or says clearly that it
//! does not support the call. Start reading at [`Cluster`], then `server::handler` for the way of a request.

mod admission;
mod cluster;
mod controllers;
mod documents;
mod faults;
mod hooks;
mod identity;
mod local;
mod metrics;
mod protobuf;
mod quota;
mod request;
mod resource;
mod server;
mod status;
mod store;
mod strategy;
mod subresources;
mod table;
mod verbs;
mod world;

pub use cluster::{Cluster, Config, ListenError, Listener};
pub use faults::{
    Chances, Component, EventLog, Fault, FaultLayer, FaultService, Faults, LogEntry, Moment, Outage, Rule,
    Subject,
};
pub use identity::{PkiError, TransportError};
pub use server::UserInfo;
pub use status::ApiError;
pub use store::{Entry, Event, Follower, Key, Listing, Meta, Owner, RevisionError, Store};
pub use world::{Clock, World};
