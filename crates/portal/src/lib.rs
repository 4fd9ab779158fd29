//! The portal: GPU workspaces and jobs for people, over HTTP.
//!
//! Start with `route` (the one table of routes and the guard before them) and `access` (who may do what). `identity` says
//! who asks, `live` holds the cluster as the watches last saw it. What a request becomes is pure: `workspace::new`,
//! `job::new`, `namespace::objects`, `rules`. [`role()`] puts it together.
#![warn(missing_docs)]

mod access;
mod account;
mod answers;
mod app;
mod audit;
mod cards;
mod cluster;
mod describe;
mod error;
mod identity;
mod image;
mod issuer;
mod job;
mod kubeconfig;
mod live;
mod metrics;
mod namespace;
mod node;
mod openapi;
mod oversight;
mod page;
mod pod;
mod policy;
mod port;
mod portal;
mod profile;
mod quota;
mod role;
mod route;
mod rules;
mod ssh;
mod stream;
mod template;
mod terminal;
#[cfg(test)]
mod testing;
mod volume;
mod watchman;
mod web;
mod workspace;

pub use cards::{CardSource, MakerMetrics, MetricNames, UnknownMetric};
pub use cluster::Clients;
pub use identity::{
    Entropy, FirstAdmin, Network, PasswordCost, ProviderError, Providers, UnknownNetwork, first_admin,
    forgive_tries, one_time_password,
};
pub use issuer::{IssuerError, IssuerSettings};
pub use kubeconfig::{
    KubeconfigMode, KubeconfigSettings, Request as CertificateRequest, certificate_name, certificate_pem,
    install_user_role,
};
pub use maar_gateway::{
    ports::{Apps, UnknownApps},
    ssh::Helpers as SshHelpers,
};
pub use maar_issuer::{CLI as CLI_CLIENT, DEVICE_PREFIX, KUBERNETES as KUBERNETES_CLIENT, ProofKey};
pub use metrics::{
    CacheLabel, DirectionLabel, OpenLabel, OutcomeLabel, PortalMetrics, RequestLabels, RouteLabel,
};
pub use namespace::{SpecialLimits, UserLimits};
pub use openapi::openapi;
pub use portal::{Portal, PortalError, Settings};
pub use profile::{Allowance, Profile, Profiles};
pub use role::{role, router, with_apps};
pub use rules::HostPath;
pub use ssh::{SshKeys, SshSettings, with_ssh};
pub use terminal::TerminalSettings;
