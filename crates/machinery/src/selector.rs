//! Label and field selectors: how they are written, what they match.
//!
//! [`LabelSelector`] covers the query form (`app=web,tier in (a,b),!old`) and the object form
//! (`matchLabels`, `matchExpressions`); [`FieldSelector`] covers `metadata.name=x,status.phase!=Running`.
//! Matching allocates nothing.

mod field;
mod label;
mod labels;
mod object;
mod parse;

pub use field::{FieldSelector, FieldTerm, field_of};
pub use label::{LabelSelector, Operator, Requirement};
pub use labels::Labels;

/// Why a selector was refused; the text is what the API server answers with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// The query could not be read.
    #[error("{0}")]
    Syntax(String),
    /// The query was read up to a requirement that is wrong.
    #[error("unable to parse requirement: {0}")]
    Requirement(String),
    /// A key, a value or a number of values that labels cannot have.
    #[error("{0}")]
    Invalid(String),
}
