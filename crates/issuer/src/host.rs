//! What the provider asks those it works for.

use std::fmt;

use futures::future::BoxFuture;
use jiff::Timestamp;
use maar_records::User;

/// What is asked could not be answered.
pub type HostError = Box<dyn std::error::Error + Send + Sync>;

/// A key for the API of the host, which a client gets in place of an access token.
#[derive(Clone)]
pub struct ApiKey {
    /// The key.
    pub secret: String,
    /// How many seconds it works.
    pub seconds: i64,
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ApiKey").field("seconds", &self.seconds).finish_non_exhaustive()
    }
}

/// Whom the provider works for.
pub trait Host: fmt::Debug + Send + Sync + 'static {
    /// The present moment.
    fn now(&self) -> Timestamp;

    /// Fills with randomness; not if there is none.
    fn fill(&self, bytes: &mut [u8]) -> bool;

    /// What the claim `groups` of a user holds.
    fn groups(&self, user: &User) -> Vec<String>;

    /// Whether a user may give away a scope that names something of his.
    fn may_give<'a>(&'a self, user: &'a User, scope: &'a str) -> BoxFuture<'a, Result<bool, HostError>>;

    /// Makes a key for the API, for a client that asked for it and got it.
    fn api_key<'a>(&'a self, user: &'a User, client: &'a str) -> BoxFuture<'a, Result<ApiKey, HostError>>;
}
