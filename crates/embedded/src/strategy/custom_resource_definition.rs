//! CustomResourceDefinitions.

use serde_json::{Value, json};

use super::Strategy;
use super::value::{Object, child, fill, fill_text, items, make_child, make_root_child, restore, set_status};
use crate::world::World;

/// The strategy of CustomResourceDefinitions.
#[derive(Debug)]
pub(crate) struct CustomResourceDefinition;

impl Strategy for CustomResourceDefinition {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = make_root_child(object, "spec") {
            default_spec(spec);
        }
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(
            object,
            json!({"conditions": [], "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": []}),
        );
        note_storage_version(object);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
        note_storage_version(new);
    }
}

/// Remembers every version that objects may have been stored in.
fn note_storage_version(object: &mut Value) {
    let version = items(&object["spec"]["versions"]).iter().find(|version| version["storage"] == true);
    let Some(name) = version.map(|version| version["name"].clone()) else { return };
    let Some(status) = make_root_child(object, "status") else { return };
    let stored = status.entry("storedVersions").or_insert_with(|| json!([]));
    if let Some(stored) = stored.as_array_mut()
        && !stored.contains(&name)
    {
        stored.push(name);
    }
}

fn default_spec(spec: &mut Object) {
    if let Some(names) = make_child(spec, "names") {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        fill_text(names, "singular", &kind.to_lowercase());
        fill_text(names, "listKind", &format!("{kind}List"));
    }
    if let Some(conversion) = make_child(spec, "conversion") {
        fill_text(conversion, "strategy", "None");
        if let Some(webhook) = child(conversion, "webhook")
            && let Some(client) = child(webhook, "clientConfig")
            && let Some(service) = child(client, "service")
        {
            fill(service, "port", 443);
        }
    }
}
