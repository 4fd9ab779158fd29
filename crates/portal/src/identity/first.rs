//! The first administrator.

use maar_records::{NewUser, Records, UserId};

use super::{Entropy, PasswordCost, Passwords, token::identifier};
use crate::portal::PortalError;

/// The name of the first administrator.
const NAME: &str = "admin";

/// What became of the first administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstAdmin {
    /// There was one already.
    Exists,
    /// He was made, with this password, which he has to change.
    Made {
        /// His name.
        name: &'static str,
        /// Shown once; only its hash is kept.
        password: String,
    },
}

/// Makes the first administrator unless there is one; safe when several processes start at once.
pub async fn first_admin(
    records: &Records,
    given: Option<String>,
    cost: PasswordCost,
    entropy: &Entropy,
    now: jiff::Timestamp,
) -> Result<FirstAdmin, PortalError> {
    let failed = |error: crate::error::ApiError| PortalError::FirstAdmin(error.to_string());
    let passwords = Passwords::new(cost, entropy.clone()).map_err(failed)?;
    let password = match given {
        Some(password) => password,
        None => passwords.generate().map_err(failed)?,
    };
    let id = UserId::new(identifier(entropy, "u").map_err(failed)?);
    let user = NewUser {
        display_name: "Administrator".to_owned(),
        password_hash: Some(passwords.hash(&password).await.map_err(failed)?),
        must_change_password: true,
        admin: true,
        ..NewUser::named(id, NAME)
    };
    let made = records.create_first_admin(&user, now).await.map_err(PortalError::Records)?;
    Ok(if made.is_some() { FirstAdmin::Made { name: NAME, password } } else { FirstAdmin::Exists })
}
