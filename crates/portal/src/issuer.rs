//! The OpenID provider of the portal: kube-apiserver and other tools learn here who somebody is.
//!
//! What it does is in the crate `maar-issuer`; here are its routes, who is signed in, and which groups he has. Start at
//! `handlers`.

mod config;
mod handlers;
mod host;
mod questions;
mod routes;

use maar_controller::clock::SharedClock;
use maar_issuer::Issuer;
use maar_records::Records;
use std::sync::Arc;

pub use config::{IssuerError, IssuerSettings};
pub(crate) use routes::routes;

use crate::{identity::Entropy, live::Live, portal::Settings};

/// The provider that the settings ask for.
pub(crate) fn provider(
    settings: &Settings,
    records: &Records,
    live: &Live,
    (clock, entropy): (&SharedClock, &Entropy),
) -> Option<Issuer> {
    let (told, issuer) = (settings.issuer.as_ref()?, settings.origins.first()?);
    let host = host::PortalHost {
        records: records.clone(),
        live: live.clone(),
        clock: Arc::clone(clock),
        entropy: entropy.clone(),
    };
    let told = maar_issuer::Settings {
        issuer: issuer.clone(),
        clients: told.clients.clone(),
        sealer: told.sealer.clone(),
        rsa: told.rsa.clone(),
        lives: told.lives,
    };
    Some(Issuer::new(told, records.clone(), Arc::new(host)))
}
