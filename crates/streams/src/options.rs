//! The query parameters of the streaming subresources, read and written.
//!
//! Two dialects exist. Clients of the API server say `stdin=true`; the API server asks a kubelet with `input=1`.
//! Exec and attach have both; log and port-forward use nearly the same words on either side.

mod exec;
mod log;
mod portforward;
mod query;

pub use exec::{AttachOptions, ExecOptions, StreamSet};
pub use log::{LogOptions, LogStream};
pub use portforward::PortForwardOptions;

/// A query that does not make sense; the message is fit for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// None of the standard streams was asked for.
    #[error("you must specify at least 1 of stdin, stdout, stderr")]
    NoStreams,
    /// Exec without a command.
    #[error("you must specify a command")]
    NoCommand,
    /// A value of the wrong form.
    #[error("{name}: Invalid value: {value:?}: {problem}")]
    Invalid {
        /// The parameter.
        name: &'static str,
        /// What was sent.
        value: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Two parameters that exclude each other.
    #[error("{0}")]
    Conflict(&'static str),
    /// A parameter that has to be there.
    #[error("query parameter {0:?} is required")]
    Missing(&'static str),
}
