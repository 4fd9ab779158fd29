//! What the server asks of whoever knows people.

use std::{net::IpAddr, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use jiff::Timestamp;

use crate::pod::Place;

/// Somebody at the door, who has shown that the key is his.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knock {
    /// Where he wants to go, as he says it: the user name of the SSH client.
    pub wanted: String,
    /// By what he is known.
    pub proof: Proof,
    /// Where he comes from.
    pub address: IpAddr,
}

/// By what somebody is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// A key, by its fingerprint (`SHA256:…`).
    Key(String),
    /// A certificate of our own authority that is valid now.
    Certificate {
        /// Whom it names.
        user: String,
        /// Its identifier.
        id: String,
    },
}

/// Who knows people.
pub trait Door: Send + Sync + 'static {
    /// What time it is.
    fn now(&self) -> Timestamp;

    /// Lets somebody in, or not. Why not is for the door to write down: nobody outside is told.
    fn enter(&self, knock: Knock) -> BoxFuture<'_, Option<Arc<dyn Visit>>>;

    /// Somebody was refused before he could be known: by a key that is not taken, a certificate that is not good.
    fn refused(&self, wanted: &str, address: IpAddr, why: &str);
}

/// Somebody who was let in.
pub trait Visit: Send + Sync + 'static {
    /// Where he is now; otherwise what he has to be told.
    fn place(&self) -> Result<Place, String>;

    /// Whether his agent may be forwarded, if he asks for that. Whoever is root where he is can use it then.
    fn agent(&self) -> bool {
        false
    }

    /// Ends when he may no longer be here, with what he is told.
    fn denied(&self) -> BoxFuture<'static, String>;

    /// He has left.
    fn left(&self, report: Report) -> BoxFuture<'static, ()>;
}

/// What there is to say of a visit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// How long it was.
    pub lasted: Duration,
    /// Bytes from the client.
    pub received: u64,
    /// Bytes to the client.
    pub sent: u64,
    /// How many shells, commands and connections there were.
    pub channels: u64,
    /// How the last shell or command ended; nothing if there was none, or it did not end by itself.
    pub code: Option<i32>,
    /// Whether programs could ask the client's agent.
    pub agent: bool,
    /// Why it ended.
    pub why: String,
}
