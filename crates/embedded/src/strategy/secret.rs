//! Secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::check::{self, Errors};
use super::config_map::{MOST_BYTES, decoded_length, validate_immutable};
use super::value::{Object, entries, fill_text, is_set, make_child, restore, text};
use super::{Strategy, name};

/// The strategy of Secrets.
#[derive(Debug)]
pub(crate) struct Secret;

impl Strategy for Secret {
    fn default(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else { return };
        fill_text(object, "type", "Opaque");
        // Plain text is only for writing: it goes into `data` and is never given back.
        let Some(Value::Object(plain)) = object.remove("stringData") else { return };
        let Some(data) = make_child(object, "data") else { return };
        for (key, value) in plain {
            data.insert(key, STANDARD.encode(text(&value)).into());
        }
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        if text(&new["type"]).is_empty() {
            restore(new, old, "type");
        }
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("data");
        let mut size = 0;
        for (key, value) in entries(&object["data"]) {
            check::text_follows(&mut errors, &path.key(key), key, name::data_key);
            size += decoded_length(text(value));
        }
        if size > MOST_BYTES {
            errors.push(FieldError::too_long(path, MOST_BYTES as u64));
        }
        validate_type(&mut errors, &path, object);
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        check::immutable(&mut errors, &Path::Text("type"), &new["type"], &old["type"]);
        errors.extend(validate_immutable(new, old, &["data"]));
        errors
    }
}

/// Checks that a secret of a known type has what the type promises.
fn validate_type(errors: &mut Errors, path: &Path<'_>, object: &Value) {
    const ACCOUNT: &str = "kubernetes.io/service-account.name";
    let data = &object["data"];
    let mut require = |keys: &[&str]| {
        for key in keys {
            if data.get(*key).is_none() {
                errors.push(FieldError::required(path.key(key), ""));
            }
        }
    };
    match text(&object["type"]) {
        "kubernetes.io/service-account-token" if !is_set(&object["metadata"]["annotations"][ACCOUNT]) => {
            errors.push(FieldError::required(Path::Text("metadata.annotations").key(ACCOUNT), ""));
        }
        "kubernetes.io/dockercfg" => validate_json(errors, path, ".dockercfg", data),
        "kubernetes.io/dockerconfigjson" => validate_json(errors, path, ".dockerconfigjson", data),
        "kubernetes.io/basic-auth" if data.get("username").is_none() && data.get("password").is_none() => {
            require(&["username", "password"]);
        }
        "kubernetes.io/ssh-auth" if !is_set(&data["ssh-privatekey"]) => {
            errors.push(FieldError::required(path.key("ssh-privatekey"), ""));
        }
        "kubernetes.io/tls" => require(&["tls.crt", "tls.key"]),
        _ => {}
    }
}

fn validate_json(errors: &mut Errors, path: &Path<'_>, key: &str, data: &Value) {
    let Some(encoded) = data.get(key) else {
        errors.push(FieldError::required(path.key(key), ""));
        return;
    };
    let decoded = STANDARD.decode(text(encoded)).unwrap_or_default();
    if let Err(error) = serde_json::from_slice::<Object>(&decoded) {
        errors.push(FieldError::invalid(path.key(key), "<secret contents redacted>", error.to_string()));
    }
}
