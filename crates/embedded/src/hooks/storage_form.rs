//! The form an object is stored in: one per kind, whichever version a client writes.

use serde_json::{Map, Value};

use crate::resource::{Origin, Resource};

/// A written object as it is stored.
pub(crate) fn to_storage(resource: &Resource, mut object: Value) -> Value {
    if resource.api_version() == resource.storage_api_version {
        return object;
    }
    if resource.is("events") {
        rename_event(&mut object, &EVENT_NAMES.map(|(new, core)| (new, core)));
    }
    set_api_version(&mut object, &resource.storage_api_version);
    // What the stored version does not know is lost, as it is on a real server.
    if let Some(stored) = &resource.stored_as {
        stored.prune(&mut object);
    }
    object
}

/// A stored object as this version shows it.
pub(crate) fn from_storage(resource: &Resource, mut object: Value) -> Value {
    if let Some(stored) = &resource.stored_as {
        stored.prune(&mut object);
        stored.default(&mut object);
    }
    if resource.api_version() == resource.storage_api_version {
        return object;
    }
    if resource.is("events") {
        rename_event(&mut object, &EVENT_NAMES.map(|(new, core)| (core, new)));
    }
    set_api_version(&mut object, &resource.api_version());
    if let Origin::Custom(version) = &resource.origin {
        // Its own defaults are for what is written in it.
        version.prune(&mut object);
    }
    object
}

/// Whether stored bytes can be answered as they are.
pub(crate) fn is_storage_form(resource: &Resource) -> bool {
    resource.stored_as.is_none() && resource.api_version() == resource.storage_api_version
}

/// The fields of an Event: their names in `events.k8s.io/v1` and in core/v1.
const EVENT_NAMES: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("reportingController", "reportingComponent"),
];

fn rename_event(object: &mut Value, names: &[(&str, &str)]) {
    if let Some(map) = object.as_object_mut() {
        rename(map, names);
    }
}

fn rename(map: &mut Map<String, Value>, names: &[(&str, &str)]) {
    for (from, to) in names {
        if let Some(value) = map.remove(*from) {
            map.insert((*to).to_owned(), value);
        }
    }
}

fn set_api_version(object: &mut Value, api_version: &str) {
    if let Some(map) = object.as_object_mut() {
        map.insert("apiVersion".into(), api_version.into());
    }
}
