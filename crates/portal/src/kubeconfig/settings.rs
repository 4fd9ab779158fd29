//! What an operator says of kubeconfigs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a kubeconfig proves whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum KubeconfigMode {
    /// By a certificate that the cluster signs.
    Certificate,
    /// By a token of the portal's OpenID provider, which `maar kubeconfig token` gets; the cluster has to know the provider.
    Oidc,
    /// By a token of a ServiceAccount.
    Token,
}

impl KubeconfigMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Certificate, Self::Oidc, Self::Token];

    /// What it is called.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Certificate => "certificate",
            Self::Oidc => "oidc",
            Self::Token => "token",
        }
    }
}

impl std::str::FromStr for KubeconfigMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|mode| mode.as_str() == text);
        found.ok_or_else(|| format!("{text} is none of certificate, oidc and token"))
    }
}

/// Kubeconfigs.
#[derive(Debug, Clone)]
pub struct KubeconfigSettings {
    /// Where people reach the API server, such as `https://kubernetes.example:6443`.
    pub server: String,
    /// Certificates that the API server is known by, as PEM; without them those of the system are.
    pub authority: Option<String>,
    /// What the cluster is called in kubeconfigs.
    pub cluster: String,
    /// What people may choose from, the usual one first.
    pub modes: Vec<KubeconfigMode>,
    /// How many hours one works at most.
    pub longest_hours: i64,
}

impl KubeconfigSettings {
    /// The usual ones for an API server.
    pub fn at(server: impl Into<String>, authority: Option<String>) -> Self {
        let modes = vec![KubeconfigMode::Certificate, KubeconfigMode::Token];
        Self { server: server.into(), authority, cluster: "maar".to_owned(), modes, longest_hours: 24 }
    }
}
