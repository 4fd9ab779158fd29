//! The set of resources in force.

use std::collections::BTreeMap;
use std::sync::Arc;

use maar_machinery::crd::CompiledCrd;
use maar_machinery::names::metadata::Scope;
use serde_json::Value;

use super::builtin::{Builtin, builtins};
use super::{Origin, Resource, Subresource, api_version, qualified};

/// Finds a resource by its path or by its kind. Cheap to clone and replace: readers keep the one they have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registry {
    by_path: BTreeMap<(String, String, String), Arc<Resource>>,
    /// The definitions behind custom resources, by their tables.
    definitions: BTreeMap<String, Definition>,
}

/// What is known of a definition that is served.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    /// What its resources were made from.
    source: Arc<Value>,
    /// Whether it is being deleted, and its objects with it.
    pub(crate) going: bool,
}

impl Registry {
    /// The built-in resources.
    pub(crate) fn builtin() -> Self {
        let mut registry = Self::default();
        for fact in builtins() {
            registry.insert(from_builtin(fact));
        }
        registry
    }

    fn insert(&mut self, resource: Resource) {
        let path = (resource.group.clone(), resource.version.clone(), resource.plural.clone());
        self.by_path.insert(path, Arc::new(resource));
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.by_path.get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    /// The resource of a kind; any version of the group will do if that one is not served.
    pub(crate) fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let mut fallback = None;
        for resource in self.iter().filter(|resource| resource.group == group && resource.kind == kind) {
            if resource.version == version {
                return Some(resource);
            }
            fallback = fallback.or(Some(resource));
        }
        fallback
    }

    /// One resource of a table, preferring the version it is stored as.
    pub(crate) fn by_table(&self, table: &str) -> Option<&Arc<Resource>> {
        let mut fallback = None;
        for resource in self.iter().filter(|resource| &*resource.table == table) {
            if resource.api_version() == resource.storage_api_version {
                return Some(resource);
            }
            fallback = fallback.or(Some(resource));
        }
        fallback
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.by_path.values()
    }

    pub(crate) fn definition(&self, table: &str) -> Option<&Definition> {
        self.definitions.get(table)
    }

    /// Notes whether a definition goes; `false` if what is served was not made from just this source.
    pub(crate) fn follow(&mut self, table: &str, source: &Value, going: bool) -> bool {
        let known = self.definitions.get_mut(table).filter(|known| *known.source == *source);
        known.map(|known| known.going = going).is_some()
    }

    /// Notes what the resources of a table were made from.
    pub(crate) fn note(&mut self, table: &str, source: Value, going: bool) {
        self.definitions.insert(table.to_owned(), Definition { source: Arc::new(source), going });
    }

    /// Serves the versions of a CRD, in place of those it had before. `changed` says that it was another once.
    pub(crate) fn set_custom(&mut self, crd: &CompiledCrd, changed: bool) {
        self.remove_custom(&crd.group, &crd.names.plural);
        let names = &crd.names;
        let table: Arc<str> = qualified(&names.plural, &crd.group).into();
        let stored_as = (changed || crd.versions.len() > 1).then(|| Arc::clone(crd.storage()));
        for version in crd.versions.iter().filter(|version| version.served) {
            let mut subresources = Vec::new();
            if version.scale.is_some() {
                subresources.push(Subresource::Scale);
            }
            if version.status {
                subresources.push(Subresource::Status);
            }
            self.insert(Resource {
                group: crd.group.clone(),
                version: version.name.clone(),
                kind: names.kind.clone(),
                list_kind: names.list_kind.clone(),
                plural: names.plural.clone(),
                singular: names.singular.clone(),
                short_names: names.short_names.clone(),
                categories: names.categories.clone(),
                namespaced: crd.scope == Scope::Namespaced,
                subresources,
                table: Arc::clone(&table),
                storage_api_version: api_version(&crd.group, &crd.storage().name),
                stored_as: stored_as.clone(),
                field_paths: version.selectable_fields.iter().map(|field| field.name.clone()).collect(),
                origin: Origin::Custom(Arc::clone(version)),
            });
        }
    }

    /// Stops serving a CRD.
    pub(crate) fn remove_custom(&mut self, group: &str, plural: &str) {
        self.by_path.retain(|_, resource| {
            !(resource.is_custom() && resource.group == group && resource.plural == plural)
        });
        self.definitions.remove(&qualified(plural, group));
    }
}

fn from_builtin(fact: &'static Builtin) -> Resource {
    let table = fact.table.map_or_else(|| qualified(fact.plural, fact.group), ToOwned::to_owned);
    // The only table shared by two groups holds Events, in their core form.
    let storage_group = if fact.table.is_some() { "" } else { fact.group };
    Resource {
        group: fact.group.to_owned(),
        version: fact.version.to_owned(),
        kind: fact.kind.to_owned(),
        list_kind: format!("{}List", fact.kind),
        plural: fact.plural.to_owned(),
        singular: fact.kind.to_lowercase(),
        short_names: fact.short_names.iter().map(ToString::to_string).collect(),
        categories: fact.categories.iter().map(ToString::to_string).collect(),
        namespaced: fact.namespaced,
        subresources: fact.subresources.to_vec(),
        table: table.into(),
        storage_api_version: api_version(storage_group, fact.version),
        stored_as: None,
        field_paths: fact.field_paths.iter().map(ToString::to_string).collect(),
        origin: Origin::Builtin(fact),
    }
}
