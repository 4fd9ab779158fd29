//! A password that was lost, for those who look after the records.

use maar_records::{PasswordHash, Records};

use super::{Entropy, PasswordCost, Passwords, attempt, login};
use crate::portal::PortalError;

/// A password for somebody else to begin with, and what is kept of it.
pub async fn one_time_password(
    cost: PasswordCost,
    entropy: &Entropy,
) -> Result<(String, PasswordHash), PortalError> {
    let failed = |error: crate::error::ApiError| PortalError::Passwords(error.to_string());
    let passwords = Passwords::new(cost, entropy.clone()).map_err(failed)?;
    let password = passwords.generate().map_err(failed)?;
    let hash = passwords.hash(&password).await.map_err(failed)?;
    Ok((password, hash))
}

/// Forgets the tries to sign in with a password under this name: who has lost one has tried all he knows, and would have
/// to wait with the new one.
pub async fn forgive_tries(records: &Records, name: &str) -> Result<(), maar_records::Error> {
    records.forgive_login(&attempt::of_name(login::PASSWORD, name)).await
}
