//! Secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::Strategy;
use super::value::{fill_text, make_child, restore, text};

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
}
