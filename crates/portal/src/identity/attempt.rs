//! How often somebody may try to sign in. Counted in the records, so that the limits hold for all portals together.

use std::net::IpAddr;

use jiff::SignedDuration;
use maar_records::{Attempt, AttemptLimit};

use super::network::counted;
use crate::{error::ApiError, portal::Portal};

/// Of one name, so that one password is not guessed from everywhere.
const BY_NAME: AttemptLimit = AttemptLimit { burst: 10, every: SignedDuration::from_secs(30) };
/// From one address, so that not all names are tried from it. Lenient: a whole institute may have one, and behind an
/// ingress that `--trusted-proxy` does not name, everybody has.
const BY_ADDRESS: AttemptLimit = AttemptLimit { burst: 1000, every: SignedDuration::from_millis(100) };
/// Once, for longer than what is counted can be used at all.
const ONCE: AttemptLimit = AttemptLimit { burst: 1, every: SignedDuration::from_mins(20) };

/// Counts a try with a name at a provider.
pub(super) async fn count_name(portal: &Portal, provider: &str, name: &str) -> Result<(), ApiError> {
    count(portal, &of_name(provider, name), BY_NAME).await
}

/// Forgets the tries with a name: who it is was shown.
pub(super) async fn forgive_name(portal: &Portal, provider: &str, name: &str) -> Result<(), ApiError> {
    Ok(portal.records.forgive_login(&of_name(provider, name)).await?)
}

/// Counts a try from an address.
pub(super) async fn count_address(portal: &Portal, address: Option<IpAddr>) -> Result<(), ApiError> {
    match address {
        Some(address) => count(portal, &format!("address:{}", counted(address)), BY_ADDRESS).await,
        None => Ok(()),
    }
}

/// Whether this has not been used before, at any portal. From now on it has.
pub(super) async fn first_use(portal: &Portal, what: &str) -> Result<bool, ApiError> {
    let counted = portal.records.attempt_login(&format!("once:{what}"), ONCE, portal.clock.now()).await?;
    Ok(counted == Attempt::Allowed)
}

pub(super) fn of_name(provider: &str, name: &str) -> String {
    format!("name:{provider}:{}", name.to_lowercase())
}

async fn count(portal: &Portal, subject: &str, limit: AttemptLimit) -> Result<(), ApiError> {
    match portal.records.attempt_login(subject, limit, portal.clock.now()).await? {
        Attempt::Allowed => Ok(()),
        Attempt::Refused { retry_after } => {
            Err(ApiError::too_many(u64::try_from(retry_after.as_secs()).unwrap_or(0) + 1))
        }
    }
}
