//! Who asks: passwords, sessions, API keys, and what keeps others from borrowing them.
//!
//! Nothing in a request is believed but a session's cookie or an API key; both are random, stored as hashes, and looked
//! up each time, so that disabling a user or revoking either ends them at once.

mod caller;
mod cookie;
mod entropy;
mod first;
mod handlers;
mod keys;
mod login;
mod password;
mod rate;
mod routes;
mod site;
mod token;
mod users;

pub(crate) use caller::{Caller, authenticate, still_valid};
pub use entropy::Entropy;
pub use first::{FirstAdmin, first_admin};
pub use password::PasswordCost;
pub(crate) use password::Passwords;
pub(crate) use rate::{Rate, Rates};
pub(crate) use routes::routes;
pub(crate) use site::{cross_site, own_page};
pub(crate) use token::{hex, identifier};
