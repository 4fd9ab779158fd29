//! Objects of one kind, in the order of their names.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use kube::{Resource, ResourceExt as _, runtime::watcher::Event};
use parking_lot::RwLock;
use tokio::sync::watch;

/// Namespace and name; the namespace is empty for things of the cluster.
pub(crate) type Key = (String, String);

/// Objects as `T` keeps them. Clones share everything.
#[derive(Debug)]
pub(crate) struct Store<T> {
    objects: Arc<RwLock<BTreeMap<Key, Arc<T>>>>,
    ready: Arc<watch::Sender<bool>>,
    /// Counts changes, for those who wait for one.
    version: Arc<watch::Sender<u64>>,
}

impl<T> Clone for Store<T> {
    fn clone(&self) -> Self {
        Self {
            objects: Arc::clone(&self.objects),
            ready: Arc::clone(&self.ready),
            version: Arc::clone(&self.version),
        }
    }
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self {
            objects: Arc::default(),
            ready: Arc::new(watch::channel(false).0),
            version: Arc::new(watch::channel(0).0),
        }
    }
}

/// What became of an object.
#[derive(Debug)]
pub(crate) enum Turn<T> {
    Changed(Arc<T>),
    Gone(Arc<T>),
}

/// Puts events into a store; knows which names a list has not named yet.
#[derive(Debug)]
pub(crate) struct Writer<T> {
    store: Store<T>,
    /// What was there when a list began and it has not named.
    left: Option<BTreeMap<Key, Arc<T>>>,
}

impl<T> Store<T> {
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Arc<T>> {
        self.objects.read().get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    /// All of them, or those of one namespace.
    pub(crate) fn list(&self, namespace: Option<&str>) -> Vec<Arc<T>> {
        let objects = self.objects.read();
        let Some(namespace) = namespace else { return objects.values().cloned().collect() };
        let begin = (namespace.to_owned(), String::new());
        let range = objects.range(begin..).take_while(|((of, _), _)| of == namespace);
        range.map(|(_, object)| Arc::clone(object)).collect()
    }

    /// Waits for the first whole list.
    pub(crate) async fn ready(&self) {
        // The sender is ours, so this cannot fail.
        let _ = self.ready.subscribe().wait_for(|ready| *ready).await;
    }

    /// Waits until the watch has told of an object that was just made, or for a moment: so that its maker finds it.
    pub(crate) async fn seen(&self, namespace: &str, name: &str) {
        let mut version = self.version.subscribe();
        let seen = version.wait_for(|_| self.get(namespace, name).is_some());
        // Late news are no fault; they come by the stream.
        let _ = tokio::time::timeout(Duration::from_secs(2), seen).await;
    }

    /// Waits until the watch has told what an object has become, or for a moment: so that who changed it does not read
    /// what it was.
    pub(crate) async fn changed(&self, namespace: &str, name: &str, generation: Option<i64>)
    where
        T: Resource,
    {
        let mut version = self.version.subscribe();
        let seen = version.wait_for(|_| {
            self.get(namespace, name).is_none_or(|object| object.meta().generation >= generation)
        });
        let _ = tokio::time::timeout(Duration::from_secs(2), seen).await;
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.objects.read().len()
    }

    /// How often something has changed.
    pub(crate) fn version(&self) -> u64 {
        *self.version.borrow()
    }

    pub(crate) fn writer(&self) -> Writer<T> {
        Writer { store: self.clone(), left: None }
    }
}

impl<T> Writer<T> {
    /// Takes an event in. `keep` makes of an object what is kept of it; nothing if it cannot be read.
    pub(crate) fn take<K: Resource<DynamicType = ()>>(
        &mut self,
        event: Event<K>,
        keep: impl Fn(K) -> Option<T>,
    ) -> Vec<Turn<T>> {
        match event {
            Event::Init => {
                self.left = Some(self.store.objects.read().clone());
                Vec::new()
            }
            Event::InitApply(object) | Event::Apply(object) => self.put(object, keep).into_iter().collect(),
            Event::Delete(object) => self.remove(&key(&object)).into_iter().collect(),
            Event::InitDone => {
                let left = self.left.take().unwrap_or_default();
                let gone = left.keys().filter_map(|key| self.remove(key)).collect();
                self.store.ready.send_replace(true);
                gone
            }
        }
    }

    fn put<K: Resource<DynamicType = ()>>(
        &mut self,
        object: K,
        keep: impl Fn(K) -> Option<T>,
    ) -> Option<Turn<T>> {
        let key = key(&object);
        if let Some(left) = &mut self.left {
            left.remove(&key);
        }
        let Some(kept) = keep(object) else { return self.remove(&key) };
        let kept = Arc::new(kept);
        self.store.objects.write().insert(key, Arc::clone(&kept));
        self.store.version.send_modify(|version| *version += 1);
        Some(Turn::Changed(kept))
    }

    fn remove(&self, key: &Key) -> Option<Turn<T>> {
        let gone = self.store.objects.write().remove(key)?;
        self.store.version.send_modify(|version| *version += 1);
        Some(Turn::Gone(gone))
    }
}

fn key<K: Resource<DynamicType = ()>>(object: &K) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    use super::*;

    fn pod(namespace: &str, name: &str) -> Pod {
        serde_json::from_value(json!({ "metadata": { "name": name, "namespace": namespace } })).unwrap()
    }

    fn names(store: &Store<String>, namespace: Option<&str>) -> Vec<String> {
        store.list(namespace).iter().map(|name| name.as_str().to_owned()).collect()
    }

    #[test]
    fn lists_forget_what_they_do_not_name() {
        let store = Store::<String>::default();
        let mut writer = store.writer();
        let mut take = |event| writer.take(event, |pod: Pod| Some(pod.name_any()));
        for event in [
            Event::Init,
            Event::InitApply(pod("a", "one")),
            Event::InitApply(pod("b", "two")),
            Event::InitDone,
        ] {
            take(event);
        }
        assert!(*store.ready.borrow());
        take(Event::Apply(pod("a", "three")));
        assert_eq!(names(&store, None), ["one", "three", "two"]);
        assert_eq!(names(&store, Some("a")), ["one", "three"]);
        take(Event::Init);
        take(Event::InitApply(pod("b", "two")));
        assert_eq!(names(&store, None).len(), 3, "nothing is gone before the list is whole");
        let gone = take(Event::InitDone);
        assert_eq!((names(&store, None), gone.len()), (vec!["two".to_owned()], 2));
        take(Event::Delete(pod("b", "two")));
        assert!(store.get("b", "two").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn who_changed_something_waits_until_the_change_is_seen() {
        let store = Store::<Pod>::default();
        let mut writer = store.writer();
        let mut put = |generation: i64| {
            let mut pod = pod("a", "one");
            pod.metadata.generation = Some(generation);
            writer.take(Event::Apply(pod), Some);
        };
        put(1);
        let begin = tokio::time::Instant::now();
        let mut waiting = Box::pin(store.changed("a", "one", Some(2)));
        assert!(futures::poll!(&mut waiting).is_pending(), "it was read before the change");
        put(2);
        waiting.await;
        assert_eq!(begin.elapsed(), Duration::ZERO);
        store.changed("a", "two", Some(1)).await;
        assert_eq!(begin.elapsed(), Duration::ZERO, "what is gone does not change");
        store.changed("a", "one", Some(3)).await;
        assert_eq!(begin.elapsed(), Duration::from_secs(2), "late news are no fault");
    }
}
