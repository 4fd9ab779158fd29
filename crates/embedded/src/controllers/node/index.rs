//! Which Pods are on which node, kept up to date from events.

use std::collections::{BTreeMap, BTreeSet};

use crate::store::{Entry, Event, Store};

/// `namespace/name` of Pods, by node.
#[derive(Debug, Default)]
pub(crate) struct PodsByNode {
    /// Where in an entry's facts the node of a Pod is.
    field: usize,
    pods: BTreeMap<Box<str>, BTreeSet<String>>,
}

impl PodsByNode {
    pub(crate) fn new(field_paths: &[String]) -> Self {
        let field = field_paths.iter().position(|path| path == "spec.nodeName").unwrap_or(usize::MAX);
        Self { field, pods: BTreeMap::new() }
    }

    /// The node of a Pod, if it has one.
    pub(crate) fn node_of<'a>(&self, entry: &'a Entry) -> Option<&'a str> {
        entry.meta.fields.get(self.field).map(AsRef::as_ref).filter(|node: &&str| !node.is_empty())
    }

    pub(crate) fn note(&mut self, event: &Event) {
        let Some(node) = self.node_of(&event.entry) else { return };
        let key = format!("{}/{}", event.entry.meta.namespace, event.entry.meta.name);
        if event.deleted {
            if let Some(pods) = self.pods.get_mut(node) {
                pods.remove(&key);
                if pods.is_empty() {
                    self.pods.remove(node);
                }
            }
        } else {
            self.pods.entry(node.into()).or_default().insert(key);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.pods.clear();
    }

    /// The Pods of a node, as they are stored now.
    pub(crate) fn on(&self, node: &str, store: &Store) -> Vec<std::sync::Arc<Entry>> {
        let table: std::sync::Arc<str> = "pods".into();
        let keys = self.pods.get(node).into_iter().flatten();
        let entries = keys.filter_map(|key| {
            let (namespace, name) = key.split_once('/')?;
            store.get(&crate::store::Key::new(&table, namespace, name))
        });
        entries.filter(|entry| self.node_of(entry) == Some(node)).collect()
    }
}
