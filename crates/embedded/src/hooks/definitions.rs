//! CRDs take effect: the registry follows what is stored.

use std::sync::Arc;

use maar_machinery::crd;
use serde_json::{Value, json};

use crate::resource::{Registry, Resource};
use crate::server::Server;
use crate::store::{CommitError, Entry, Key, Operation};

pub(crate) const TABLE: &str = "customresourcedefinitions.apiextensions.k8s.io";

impl Server {
    /// Stores changes, the first of them of an object of `resource`; the registry follows in the same step, so that
    /// whoever sees a definition established finds it served, and two writes take effect in their order.
    pub(crate) fn commit(
        &self,
        resource: &Resource,
        operations: Vec<Operation>,
    ) -> Result<Vec<Arc<Entry>>, CommitError> {
        if !resource.is(TABLE) {
            return self.store.commit(operations);
        }
        self.change_registry(|registry| {
            let entries = self.store.commit(operations)?;
            for entry in entries.iter().take(1) {
                self.follow_definition(registry, &entry.meta.name);
            }
            Ok(entries)
        })
    }

    fn follow_definition(&self, registry: &mut Registry, name: &str) {
        let stored = self.store.get(&Key::new(&TABLE.into(), "", name)).map(|entry| entry.value());
        match (stored, name.split_once('.')) {
            (Some(object), _) if is_established(&object) => serve(registry, name, &object),
            (_, Some((plural, group))) => registry.remove_custom(group, plural),
            (_, None) => {}
        }
    }

    /// Serves the CRDs that are stored, when a cluster starts from disk.
    pub(crate) fn load_definitions(&self) {
        let stored = self.store.list(TABLE, None).rows;
        self.change_registry(|registry| {
            for entry in &stored {
                let object = entry.value();
                if is_established(&object) {
                    serve(registry, &entry.meta.name, &object);
                }
            }
        });
    }
}

/// A definition is served once it is established, and for as long as objects of it are being cleaned up.
fn is_established(object: &Value) -> bool {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}

/// What is served already from the same source stays as it is, and with it whoever watches it.
fn serve(registry: &mut Registry, name: &str, object: &Value) {
    let source = json!([object["spec"], object["status"]["acceptedNames"]]);
    let going = object["metadata"]["deletionTimestamp"].is_string();
    if registry.follow(name, &source, going) {
        return;
    }
    match crd::compile(object) {
        Ok(compiled) => {
            let changed = object["metadata"]["generation"].as_u64().is_some_and(|generation| generation > 1);
            registry.set_custom(&compiled, changed);
            registry.note(name, source, going);
        }
        Err(errors) => {
            tracing::warn!(crd.name = name, ?errors, "a stored CRD no longer compiles and is not served");
        }
    }
}
