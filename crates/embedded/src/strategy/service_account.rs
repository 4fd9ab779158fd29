//! ServiceAccounts.

use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};

use super::value::items;
use super::{Strategy, check};

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

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for list in ["secrets", "imagePullSecrets"] {
            let path = Path::Text(list);
            for (index, secret) in items(&object[list]).iter().enumerate() {
                let path = path.index(index);
                check::given(&mut errors, &path.field("name"), &secret["name"]);
            }
        }
        errors
    }
}
