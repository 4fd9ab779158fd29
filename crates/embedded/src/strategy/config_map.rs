//! ConfigMaps.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::value::{entries, flag, text};
use super::{Strategy, check, name};

/// The most bytes that all values may have together.
pub(super) const MOST_BYTES: usize = 1024 * 1024;

/// The strategy of ConfigMaps.
#[derive(Debug)]
pub(crate) struct ConfigMap;

impl Strategy for ConfigMap {
    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let mut size = 0;
        for field in ["data", "binaryData"] {
            let path = Path::Text(field);
            for (key, value) in entries(&object[field]) {
                check::text_follows(&mut errors, &path.key(key), key, name::data_key);
                size += if field == "data" { text(value).len() } else { decoded_length(text(value)) };
                if field == "data" && object["binaryData"].get(key).is_some() {
                    let detail = "duplicate of key present in binaryData";
                    errors.push(FieldError::invalid(path.key(key), key, detail));
                }
            }
        }
        if size > MOST_BYTES {
            // Kubernetes spells the object itself this way here.
            errors.push(FieldError::too_long("[]", MOST_BYTES as u64));
        }
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        validate_immutable(new, old, &["data", "binaryData"])
    }
}

/// How many bytes base64 text stands for.
pub(super) fn decoded_length(text: &str) -> usize {
    text.trim_end_matches('=').len() * 3 / 4
}

/// Once an object says that it does not change, it does not.
pub(super) fn validate_immutable(new: &Value, old: &Value, fields: &[&str]) -> Vec<FieldError> {
    if !flag(&old["immutable"]) {
        return Vec::new();
    }
    let mut changed: Vec<&str> = Vec::new();
    if !flag(&new["immutable"]) {
        changed.push("immutable");
    }
    changed.extend(fields.iter().filter(|field| super::value::differs(&new[**field], &old[**field])));
    changed
        .into_iter()
        .map(|field| FieldError::forbidden(field, "field is immutable when `immutable` is set"))
        .collect()
}
