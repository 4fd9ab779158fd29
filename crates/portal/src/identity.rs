//! Who asks: passwords, sessions, API keys, and what keeps others from borrowing them.
//!
//! Nothing in a request is believed but a session's cookie, an API key, or what a proxy says who shows that it is one.
//! The first two are random, stored as hashes, and looked up each time, so that disabling a user or revoking either ends
//! them at once. Others who know people ([`provider`]) only say who somebody is: sessions are ours.

mod attempt;
mod caller;
mod certificate;
mod cookie;
mod entropy;
mod first;
mod handlers;
mod keys;
mod limits;
mod login;
mod lost;
mod network;
mod password;
mod preferences;
mod provider;
mod rate;
mod routes;
mod site;
mod token;
mod users;

pub(crate) use caller::{
    Caller, Whence, authenticate, by_proof, by_ssh_certificate, by_ssh_key, still_valid,
};
pub(crate) use certificate::CertificateId;
pub use entropy::Entropy;
pub use first::{FirstAdmin, first_admin};
pub use lost::{forgive_tries, one_time_password};
pub(crate) use network::counted;
pub use network::{Network, UnknownNetwork};
pub use password::PasswordCost;
pub(crate) use password::Passwords;
pub use provider::{ProviderError, Providers};
pub(crate) use rate::{Rate, Rates};
pub(crate) use routes::routes;
pub(crate) use site::{cross_site, own_page};
pub(crate) use token::{KEY_PREFIX, hash, hex, identifier, secret};
