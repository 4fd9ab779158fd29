//! Why an apply was refused, in the API server's words.

use std::collections::BTreeMap;
use std::fmt;

use super::managed::{Identity, Operation};
use crate::fields::Element;

/// A field that somebody else owns and that the configuration would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Who owns it.
    pub(crate) owner: Identity,
    /// Where it is.
    pub(crate) path: Vec<Element>,
}

impl Conflict {
    /// The text of a `FieldManagerConflict` cause.
    pub fn message(&self) -> String {
        format!("conflict with {}", self.owner)
    }

    /// The field of the cause, such as `.spec.replicas`.
    pub fn field(&self) -> String {
        self.path.iter().map(ToString::to_string).collect()
    }
}

/// Why an apply was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// 409, reason `Conflict`: one cause of type `FieldManagerConflict` per item.
    #[error("{}", message(.0))]
    Conflicts(Vec<Conflict>),
    /// 400: no configuration can look like this.
    #[error("{0}")]
    BadRequest(String),
    /// 500 without a reason: the configuration or the live object does not fit the type.
    #[error("{0}")]
    Internal(String),
}

impl ApplyError {
    /// The HTTP status code of the answer.
    pub fn code(&self) -> u16 {
        match self {
            Self::Conflicts(_) => 409,
            Self::BadRequest(_) => 400,
            Self::Internal(_) => 500,
        }
    }

    /// The conflicts, if that is what it is.
    pub fn conflicts(&self) -> &[Conflict] {
        match self {
            Self::Conflicts(conflicts) => conflicts,
            Self::BadRequest(_) | Self::Internal(_) => &[],
        }
    }
}

fn message(conflicts: &[Conflict]) -> String {
    if let [conflict] = conflicts {
        return format!("Apply failed with 1 conflict: {}: {}", conflict.message(), conflict.field());
    }
    let mut by_owner: BTreeMap<&Identity, Vec<String>> = BTreeMap::new();
    for conflict in conflicts {
        by_owner.entry(&conflict.owner).or_default().push(format!("- {}", conflict.field()));
    }
    let lines =
        by_owner.into_iter().map(|(owner, fields)| format!("conflicts with {owner}:\n{}", fields.join("\n")));
    let lines: Vec<String> = lines.collect();
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

/// As a conflict names its owner: the time is not part of it, the version only where it is part of the identity.
impl fmt::Display for Identity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", self.manager)?;
        if !self.subresource.is_empty() {
            write!(out, " with subresource {:?}", self.subresource)?;
        }
        match self.operation {
            Operation::Update => write!(out, " using {}", self.api_version),
            Operation::Apply => Ok(()),
        }
    }
}
