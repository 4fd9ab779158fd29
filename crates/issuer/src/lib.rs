//! An OpenID provider: says to kube-apiserver and other tools who somebody is.
//!
//! Start at [`Issuer`]. It knows neither HTTP servers nor sessions: who has signed in, which groups he has and what may be
//! asked for are questions to a [`Host`]. What is decided stands in pure functions beside: `redirect`, `pkce`, `rotation`,
//! `request`. Codes, tokens and grants are in the records, as hashes, so that they survive a restart and hold for all
//! processes together. See docs/operations/openid.md and docs/decisions/0009-an-issuer-of-our-own.md.
#![warn(missing_docs)]

mod authorize;
mod client;
mod device;
mod exchange;
mod host;
mod information;
mod issuer;
mod key;
mod keyring;
mod params;
mod pkce;
mod redirect;
mod refusal;
mod request;
mod rotation;
mod scope;
mod secret;

pub use authorize::{Authorized, Question, SignedIn};
pub use client::{CLI, Client, ClientError, ClientFile, Clients, KUBERNETES};
pub use host::{ApiKey, Host, HostError};
pub use issuer::{Issuer, Lives, Settings};
pub use key::{KeyError, RsaKey, Sealer};
pub use params::Params;
pub use pkce::ProofKey;
pub use refusal::Refusal;
pub use scope::DEVICE_PREFIX;
