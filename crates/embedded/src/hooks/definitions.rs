//! CRDs take effect: the registry follows what is stored.

use maar_machinery::crd;

use crate::resource::{Registry, Resource};
use crate::server::Server;
use crate::store::Entry;

pub(crate) const TABLE: &str = "customresourcedefinitions.apiextensions.k8s.io";

impl Server {
    /// Called with every object that was stored.
    pub(crate) fn after_write(&self, resource: &Resource, entry: &Entry) {
        if resource.is(TABLE) {
            self.change_registry(|registry| serve(registry, entry));
        }
    }

    /// Called with every object that is gone.
    pub(crate) fn after_delete(&self, resource: &Resource, entry: &Entry) {
        if resource.is(TABLE)
            && let Some((plural, group)) = entry.meta.name.split_once('.')
        {
            self.change_registry(|registry| registry.remove_custom(group, plural));
        }
    }

    /// Serves the CRDs that are stored, when a cluster starts from disk.
    pub(crate) fn load_definitions(&self) {
        let stored = self.store.list(TABLE, None).rows;
        self.change_registry(|registry| stored.iter().for_each(|entry| serve(registry, entry)));
    }
}

/// A definition is served once it is established, and for as long as objects of it are being cleaned up.
fn serve(registry: &mut Registry, entry: &Entry) {
    let object = entry.value();
    let established = object["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
    match crd::compile(&object) {
        Ok(compiled) if established => registry.set_custom(&compiled),
        Ok(compiled) => registry.remove_custom(&compiled.group, &compiled.names.plural),
        Err(errors) => {
            tracing::warn!(crd.name = %entry.meta.name, ?errors, "a stored CRD no longer compiles and is not served");
        }
    }
}
