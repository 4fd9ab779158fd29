//! SSH into workspaces: keys of people, certificates, and the door that the gateway asks.
//!
//! Start with `door`, which lets somebody in: it asks [`decide`](crate::access::decide) as every route does, and again
//! while he is inside. `keys` and `certificates` are routes. The server itself is in `maar_gateway::ssh`, and knows
//! nobody.

mod certificates;
mod door;
mod keys;
mod name;
mod role;
mod routes;

use maar_gateway::ssh::{Authority, Helpers, Limits, SecretKey};

pub(crate) use door::SshDoor;
pub use role::with_ssh;
pub(crate) use routes::routes;

/// What SSH can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshSettings {
    /// Where clients find it, as people see it.
    pub host: String,
    /// The port, as people see it.
    pub port: u16,
    /// How much there may be, and how long.
    pub limits: Limits,
    /// How many connections one user may have.
    pub most: usize,
    /// Programs that are brought into containers, for each processor.
    pub helpers: Helpers,
    /// Whether agents of clients are forwarded that ask for it (`ssh -A`). Whoever is root in a container, or administers
    /// the cluster, can use the keys of such an agent.
    pub agent_forwarding: bool,
}

impl SshSettings {
    /// The usual settings, for a gateway that is found there.
    pub fn at(host: impl Into<String>, port: u16) -> Self {
        let (limits, helpers) = (Limits::default(), Helpers::default());
        Self { host: host.into(), port, limits, most: 256, helpers, agent_forwarding: false }
    }
}

/// Private keys that are given, as ssh-keygen writes them.
#[derive(Clone, Default)]
pub struct SshKeys {
    /// Of the host.
    pub host: Option<String>,
    /// Of the authority for certificates.
    pub authority: Option<String>,
}

impl std::fmt::Debug for SshKeys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SshKeys")
    }
}

/// SSH, where it is served.
#[derive(Debug)]
pub(crate) struct Ssh {
    pub(crate) settings: SshSettings,
    pub(crate) host: SecretKey,
    pub(crate) authority: Authority,
}
