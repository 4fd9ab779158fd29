//! Objects as the watch last saw them, by name and by the object they belong to.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use kube::{Resource, ResourceExt as _, runtime::watcher::Event};
use maar_controller::watch::Guarded;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Name of an object with a namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

impl Key {
    pub(crate) fn of<K: Resource<DynamicType = ()>>(object: &K) -> Self {
        Self { namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
    }

    /// An object of the same namespace.
    pub(crate) fn beside(&self, name: &str) -> Self {
        Self { namespace: self.namespace.clone(), name: name.to_owned() }
    }
}

/// Whom an event concerns.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Touched {
    /// The objects themselves.
    pub(crate) objects: BTreeSet<Key>,
    /// Those they belong to, or did. They may have the same names: a workspace and its Pod do.
    pub(crate) owners: BTreeSet<Key>,
}

/// What the watch says of one object: the object, or why it cannot be read.
pub(crate) type Entry<K> = Result<Arc<K>, String>;

/// See the module. Clones share everything.
#[derive(Debug)]
pub(crate) struct Index<K> {
    inner: Arc<Mutex<Inner<K>>>,
    label: &'static str,
    ready: Arc<Ready>,
}

/// Whether everything was listed. Those who wait are woken in the order in which they came, so that a seed has one
/// history.
#[derive(Debug, Default)]
struct Ready {
    is: AtomicBool,
    changed: Notify,
}

impl<K> Clone for Index<K> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), label: self.label, ready: Arc::clone(&self.ready) }
    }
}

#[derive(Debug)]
struct Inner<K> {
    /// With whom each belongs to.
    objects: BTreeMap<Key, (Entry<K>, Option<Key>)>,
    groups: BTreeMap<Key, BTreeSet<Key>>,
    /// Names heard since a list began.
    listed: Option<BTreeSet<Key>>,
}

impl<K: Resource<DynamicType = ()>> Index<K> {
    /// Objects belong to the one that `label` names.
    pub(crate) fn new(label: &'static str) -> Self {
        let inner = Inner { objects: BTreeMap::new(), groups: BTreeMap::new(), listed: None };
        Self { inner: Arc::new(Mutex::new(inner)), label, ready: Arc::default() }
    }

    /// A new watch begins: what was known may be old until it has listed everything.
    pub(crate) fn begin(&self) {
        self.ready.is.store(false, Ordering::Release);
    }

    /// Waits for the first whole list.
    pub(crate) async fn ready(&self) {
        loop {
            let mut changed = std::pin::pin!(self.ready.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            if self.ready.is.load(Ordering::Acquire) {
                return;
            }
            changed.await;
        }
    }

    /// Takes an event in and says whom it concerns.
    pub(crate) fn take(&self, event: Event<Guarded<K>>) -> Touched {
        let mut inner = self.inner.lock();
        let mut touched = Touched::default();
        match event {
            Event::Init => inner.listed = Some(BTreeSet::new()),
            Event::InitApply(object) | Event::Apply(object) => self.put(&mut inner, object, &mut touched),
            Event::Delete(object) => {
                let key = Key { namespace: object.namespace().unwrap_or_default(), name: object.name_any() };
                Self::remove(&mut inner, &key, &mut touched);
            }
            Event::InitDone => {
                let listed = inner.listed.take().unwrap_or_default();
                let gone: Vec<Key> =
                    inner.objects.keys().filter(|key| !listed.contains(key)).cloned().collect();
                for key in &gone {
                    Self::remove(&mut inner, key, &mut touched);
                }
                self.ready.is.store(true, Ordering::Release);
                self.ready.changed.notify_waiters();
            }
        }
        touched
    }

    fn put(&self, inner: &mut Inner<K>, object: Guarded<K>, touched: &mut Touched) {
        let key = Key { namespace: object.namespace().unwrap_or_default(), name: object.name_any() };
        let owner = object.labels().get(self.label).map(|name| key.beside(name));
        Self::remove(inner, &key, touched);
        if let Some(listed) = &mut inner.listed {
            listed.insert(key.clone());
        }
        if let Some(owner) = owner.clone() {
            inner.groups.entry(owner.clone()).or_default().insert(key.clone());
            touched.owners.insert(owner);
        }
        let entry = object.0.map(Arc::new).map_err(|invalid| invalid.to_string());
        inner.objects.insert(key, (entry, owner));
    }

    fn remove(inner: &mut Inner<K>, key: &Key, touched: &mut Touched) {
        touched.objects.insert(key.clone());
        if let Some((_, Some(owner))) = inner.objects.remove(key) {
            if let Some(group) = inner.groups.get_mut(&owner) {
                group.remove(key);
                if group.is_empty() {
                    inner.groups.remove(&owner);
                }
            }
            touched.owners.insert(owner);
        }
    }

    /// One object.
    pub(crate) fn get(&self, key: &Key) -> Option<Entry<K>> {
        self.inner.lock().objects.get(key).map(|(entry, _)| entry.clone())
    }

    /// All objects that can be read, in the order of their names.
    pub(crate) fn all(&self) -> Vec<Arc<K>> {
        self.inner.lock().objects.values().filter_map(|(entry, _)| entry.clone().ok()).collect()
    }

    /// All objects, also those that cannot be read.
    pub(crate) fn entries(&self) -> Vec<Entry<K>> {
        self.inner.lock().objects.values().map(|(entry, _)| entry.clone()).collect()
    }

    /// All objects that belong to `owner`, in the order of their names.
    pub(crate) fn of(&self, owner: &Key) -> Vec<Arc<K>> {
        let inner = self.inner.lock();
        let keys = inner.groups.get(owner).into_iter().flatten();
        keys.filter_map(|key| inner.objects.get(key)?.0.clone().ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    use super::*;

    const LABEL: &str = "maar.io/job";

    fn pod(name: &str, job: &str) -> Guarded<Pod> {
        let pod = json!({ "metadata": { "name": name, "namespace": "n", "labels": { LABEL: job } } });
        serde_json::from_value(pod).unwrap()
    }

    fn key(name: &str) -> Key {
        Key { namespace: "n".to_owned(), name: name.to_owned() }
    }

    fn touched(objects: &[&str], owners: &[&str]) -> Touched {
        let keys = |names: &[&str]| names.iter().map(|name| key(name)).collect();
        Touched { objects: keys(objects), owners: keys(owners) }
    }

    #[test]
    fn a_pod_with_the_name_of_its_owner_concerns_the_owner() {
        let index = Index::<Pod>::new(LABEL);
        assert_eq!(index.take(Event::Apply(pod("desk", "desk"))), touched(&["desk"], &["desk"]));
        assert_eq!(index.take(Event::Apply(pod("desk", "desk"))), touched(&["desk"], &["desk"]));
    }

    fn names(index: &Index<Pod>, job: &str) -> Vec<String> {
        index.of(&key(job)).iter().map(|pod| pod.name_any()).collect()
    }

    #[test]
    fn objects_follow_their_owners_and_lists_forget_what_they_do_not_name() {
        let index = Index::<Pod>::new(LABEL);
        index.take(Event::Init);
        index.take(Event::InitApply(pod("a", "one")));
        index.take(Event::InitApply(pod("b", "one")));
        index.take(Event::InitDone);
        assert_eq!(names(&index, "one"), ["a", "b"]);
        assert_eq!(index.take(Event::Apply(pod("a", "two"))), touched(&["a"], &["one", "two"]));
        assert_eq!(
            (names(&index, "one"), names(&index, "two")),
            (vec!["b".to_owned()], vec!["a".to_owned()])
        );
        index.take(Event::Init);
        index.take(Event::InitApply(pod("b", "one")));
        assert_eq!(index.take(Event::InitDone), touched(&["a"], &["two"]));
        assert!(names(&index, "two").is_empty());
        assert_eq!(index.take(Event::Delete(pod("b", "one"))), touched(&["b"], &["one"]));
    }

    #[test]
    fn what_cannot_be_read_leaves_its_owner_as_anything_else() {
        let index = Index::<Pod>::new(LABEL);
        let broken = json!({ "metadata": { "name": "a", "namespace": "n", "labels": { LABEL: "one" } },
            "spec": { "containers": 5 } });
        index.take(Event::Apply(serde_json::from_value(broken).unwrap()));
        assert_eq!(index.take(Event::Apply(pod("a", "two"))), touched(&["a"], &["one", "two"]));
        assert!(names(&index, "one").is_empty());
        assert_eq!(names(&index, "two"), ["a"]);
    }

    #[test]
    fn what_cannot_be_read_is_known_as_such() {
        let index = Index::<Pod>::new(LABEL);
        let broken = json!({ "metadata": { "name": "a", "namespace": "n" }, "spec": { "containers": 5 } });
        index.take(Event::Apply(serde_json::from_value(broken).unwrap()));
        assert!(index.get(&key("a")).unwrap().is_err());
    }
}
