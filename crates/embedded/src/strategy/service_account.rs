//! ServiceAccounts.

use serde_json::{Value, json};

use super::Strategy;
use super::value::items;

/// The strategy of ServiceAccounts.
#[derive(Debug)]
pub(crate) struct ServiceAccount;

impl Strategy for ServiceAccount {
    /// References to secrets keep nothing but the name.
    fn default(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else { return };
        let Some(secrets) = object.get_mut("secrets") else { return };
        let names = items(secrets).iter().map(|secret| json!({"name": secret["name"]})).collect::<Vec<_>>();
        *secrets = names.into();
    }
}
