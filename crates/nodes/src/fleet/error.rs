//! What can go wrong with nodes.

use crate::{kubelet::tls::ListenError, requests::RequestError};

/// Why nodes could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// A node of that name belongs to somebody else.
    #[error("node {name} exists already and belongs to {owner}: choose another name prefix or remove it")]
    Taken {
        /// Name of the node.
        name: String,
        /// Whose it is.
        owner: String,
    },
    /// The API server said no.
    #[error("{step}: {message}")]
    Request {
        /// What was to be done.
        step: String,
        /// Why it was not.
        message: String,
    },
    /// There is no such pool in the profile.
    #[error("there is no pool {name:?}; the profile has {known}")]
    UnknownPool {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// There is no such node in this set.
    #[error("this set has no node {0:?}")]
    UnknownNode(String),
    /// The kubelets' address could not be used.
    #[error("offering the kubelets over the network")]
    Listen(#[from] ListenError),
    /// The nodes are being shut down.
    #[error("the nodes have been stopped")]
    Stopped,
}

impl FleetError {
    pub(crate) fn request(step: impl Into<String>, error: &RequestError) -> Self {
        Self::Request { step: step.into(), message: error.to_string() }
    }

    /// A word for metrics and events.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Taken { .. } => "taken",
            Self::Request { .. } => "request",
            Self::UnknownPool { .. } | Self::UnknownNode(_) => "unknown",
            Self::Listen(_) => "listen",
            Self::Stopped => "stopped",
        }
    }
}
