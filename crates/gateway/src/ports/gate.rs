//! What the proxy asks those who know people.

use std::{fmt, net::IpAddr};

use futures::future::BoxFuture;
use maar_streams::dial::BoxedIo;

use super::AppLabel;

/// By what somebody wants to be let in.
#[derive(Clone, PartialEq, Eq)]
pub enum Proof {
    /// A ticket that the portal gave him, for one use.
    Ticket(String),
    /// A link that somebody shared.
    Link(String),
}

impl fmt::Debug for Proof {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Ticket(_) => "Ticket(…)",
            Self::Link(_) => "Link(…)",
        })
    }
}

/// Somebody at the door of an app.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The app.
    pub label: AppLabel,
    /// By what.
    pub proof: Proof,
    /// From where.
    pub address: Option<IpAddr>,
}

/// What lets somebody come again without asking.
#[derive(Clone)]
pub struct Pass {
    /// The word of the path, where the path has one.
    pub key: String,
    /// What the cookie holds.
    pub cookie: String,
    /// How long the browser keeps it.
    pub seconds: i64,
}

impl fmt::Debug for Pass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Pass").field("seconds", &self.seconds).finish_non_exhaustive()
    }
}

/// Somebody who has been let in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Visit {
    /// Tells visits apart, and is no secret.
    pub id: String,
    /// The namespace of the Pod.
    pub namespace: String,
    /// The Pod.
    pub pod: String,
    /// The port on its loopback.
    pub port: u16,
}

/// A connection to a port of a Pod.
pub struct Io {
    /// What is sent and what comes.
    pub stream: BoxedIo,
    /// Comes when the Pod says that the port cannot be used.
    pub failure: BoxFuture<'static, Option<String>>,
}

impl fmt::Debug for Io {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Io")
    }
}

/// Why a request is not carried to an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The request makes no sense, or could be understood in two ways.
    Bad,
    /// There is no such address.
    Unknown,
    /// It comes from a page of another origin.
    Foreign,
    /// Nobody was let in, or no longer.
    SignedOut,
    /// The ticket or the link is used, expired or revoked.
    Stale,
    /// He may not.
    Denied,
    /// The workspace or job does not run.
    Asleep,
    /// Nothing listens on the port.
    Silent,
    /// The Pod, or something that is needed to reach it, does not answer.
    Unreachable,
}

/// Who is asked about visitors, and brings them to their Pod.
pub trait Gate: Send + Sync + 'static {
    /// Lets somebody in, once.
    fn enter(&self, entry: Entry) -> BoxFuture<'_, Result<Pass, Refusal>>;

    /// Whose cookie this is, with the word of the path, and whether he may still visit the app.
    fn visit<'a>(
        &'a self,
        label: &'a AppLabel,
        key: &'a str,
        cookie: &'a str,
    ) -> BoxFuture<'a, Result<Visit, Refusal>>;

    /// Ends when the visitor may no longer.
    fn ended(&self, visit: &Visit) -> BoxFuture<'static, ()>;

    /// Connects to the port.
    fn connect(&self, visit: &Visit) -> BoxFuture<'static, Result<Io, Refusal>>;
}
