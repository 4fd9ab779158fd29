//! What an API key is made for.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Kind, Verb};

/// A part of what its owner may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub(crate) enum Scope {
    /// See and read workspaces, volumes and templates.
    #[serde(rename = "workspaces:read")]
    WorkspacesRead,
    /// Make, enter, change and delete workspaces, volumes and templates.
    #[serde(rename = "workspaces:write")]
    WorkspacesWrite,
    /// See and read jobs and Pods.
    #[serde(rename = "jobs:read")]
    JobsRead,
    /// Submit, enter, change and cancel jobs and Pods.
    #[serde(rename = "jobs:write")]
    JobsWrite,
    /// See nodes, cards and accounts.
    #[serde(rename = "cluster:read")]
    ClusterRead,
    /// Be a platform administrator with it, as far as other scopes of the key reach.
    #[serde(rename = "admin")]
    Admin,
}

impl Scope {
    pub(crate) const ALL: [Self; 6] = [
        Self::WorkspacesRead,
        Self::WorkspacesWrite,
        Self::JobsRead,
        Self::JobsWrite,
        Self::ClusterRead,
        Self::Admin,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::WorkspacesRead => "workspaces:read",
            Self::WorkspacesWrite => "workspaces:write",
            Self::JobsRead => "jobs:read",
            Self::JobsWrite => "jobs:write",
            Self::ClusterRead => "cluster:read",
            Self::Admin => "admin",
        }
    }

    /// A scope by its name. Names that are not known any more give nothing.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text)
    }

    /// What a key needs; none if no key will do: people, sessions, keys and the audit log are for people.
    pub(super) const fn needed(verb: Verb, kind: Kind) -> Option<Self> {
        let reads = matches!(verb, Verb::See | Verb::Read);
        match (kind, reads) {
            (Kind::Workspace | Kind::Volume | Kind::Template | Kind::Kubeconfig, true) => {
                Some(Self::WorkspacesRead)
            }
            // A kubeconfig also needs what its making asks for besides: see `kubeconfig::handlers`.
            (Kind::Workspace | Kind::Volume | Kind::Template | Kind::Kubeconfig, false) => {
                Some(Self::WorkspacesWrite)
            }
            (Kind::Job | Kind::Pod, true) => Some(Self::JobsRead),
            (Kind::Job | Kind::Pod, false) => Some(Self::JobsWrite),
            (Kind::Node | Kind::Account, true) => Some(Self::ClusterRead),
            _ => None,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_spelled_alike_everywhere() {
        for scope in Scope::ALL {
            assert_eq!(Scope::parse(scope.as_str()), Some(scope));
            assert_eq!(serde_json::to_value(scope).unwrap(), scope.as_str());
        }
        assert_eq!(Scope::parse("everything"), None);
    }
}
