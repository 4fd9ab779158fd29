//! Who asks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// An authenticated user, as `authentication.k8s.io` describes one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserInfo {
    /// The user's name.
    pub username: String,
    /// A stable identifier, if there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The groups the user is in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// What else the authenticator knows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The user a request acts for, and the name its changes carry.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) user: UserInfo,
    /// The field manager of changes that do not name one.
    pub(crate) manager: String,
}

impl Caller {
    /// A component of the cluster itself.
    pub(crate) fn component(name: &str) -> Self {
        Self {
            user: UserInfo {
                username: format!("system:{name}"),
                groups: vec!["system:masters".into(), "system:authenticated".into()],
                ..UserInfo::default()
            },
            manager: name.to_owned(),
        }
    }
}
