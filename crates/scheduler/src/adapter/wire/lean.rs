//! A lean type as something that can be listed and watched.

use std::borrow::Cow;

use kube::{Resource, api::ObjectMeta, core::ClusterResourceScope};
use maar_controller::watch::Received;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::Meta;

/// A lean type and where its objects are served.
pub(crate) trait Wire: Clone + std::fmt::Debug + DeserializeOwned + Send + 'static {
    const GROUP: &'static str;
    const VERSION: &'static str;
    const KIND: &'static str;
    const PLURAL: &'static str;

    fn meta(&self) -> &Meta;
}

/// An object of a lean type, or what is left of one that does not fit it.
///
/// kube's own guard against malformed objects reads every object twice into trees; this one takes the text as it is
/// and looks closer only if it does not fit.
#[derive(Debug, Clone)]
pub(crate) struct Lean<K> {
    pub(crate) object: Result<K, Malformed>,
    /// For kube: name, namespace and version, and nothing else.
    metadata: ObjectMeta,
}

/// An object that does not fit its type.
#[derive(Debug, Clone)]
pub(crate) struct Malformed {
    pub(crate) meta: Meta,
    pub(crate) why: String,
}

/// Whatever else is wrong, an object has these.
#[derive(Deserialize)]
struct Identified {
    metadata: Identity,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Identity {
    name: String,
    namespace: String,
    uid: String,
    resource_version: String,
}

impl<'de, K: Wire> Deserialize<'de> for Lean<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Borrowed: lists and watches are read from texts that are there as a whole.
        let text = <&RawValue>::deserialize(deserializer)?;
        let object = serde_json::from_str::<K>(text.get()).map_err(|error| {
            let identified = serde_json::from_str::<Identified>(text.get()).map(|found| found.metadata);
            let Identity { name, namespace, uid, resource_version } = identified.unwrap_or_default();
            Malformed {
                meta: Meta { name, namespace, uid, resource_version, ..Meta::default() },
                why: error.to_string(),
            }
        });
        Ok(Self::new(object))
    }
}

impl<K: Wire> Lean<K> {
    fn new(object: Result<K, Malformed>) -> Self {
        let meta = object.as_ref().map_or_else(|malformed| &malformed.meta, Wire::meta);
        let metadata = ObjectMeta {
            name: Some(meta.name.clone()),
            namespace: (!meta.namespace.is_empty()).then(|| meta.namespace.clone()),
            resource_version: (!meta.resource_version.is_empty()).then(|| meta.resource_version.clone()),
            ..ObjectMeta::default()
        };
        Self { object, metadata }
    }
}

impl<K: Wire> Resource for Lean<K> {
    type DynamicType = ();
    /// All are read in all namespaces at once.
    type Scope = ClusterResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        K::KIND.into()
    }

    fn group((): &()) -> Cow<'_, str> {
        K::GROUP.into()
    }

    fn version((): &()) -> Cow<'_, str> {
        K::VERSION.into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        K::PLURAL.into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl<K: Wire> Received for Lean<K> {
    type Plain = K;

    fn whole(object: K) -> Self {
        Self::new(Ok(object))
    }

    fn malformed(&self) -> Option<String> {
        self.object.as_ref().err().map(|malformed| malformed.why.clone())
    }
}

/// Says where a lean type with a field `metadata` is served.
macro_rules! served {
    ($kind:ty, $group:literal, $version:literal, $name:literal, $plural:literal) => {
        impl $crate::adapter::wire::Wire for $kind {
            const GROUP: &'static str = $group;
            const VERSION: &'static str = $version;
            const KIND: &'static str = $name;
            const PLURAL: &'static str = $plural;

            fn meta(&self) -> &$crate::adapter::wire::Meta {
                &self.metadata
            }
        }
    };
}
pub(super) use served;

#[cfg(test)]
mod tests {
    use kube::{api::WatchEvent, core::ObjectList};

    use super::*;
    use crate::adapter::wire::Node;

    #[test]
    fn lists_and_changes_are_read_and_a_malformed_object_keeps_its_name() {
        let list = r#"{"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": [
            {"metadata": {"name": "a", "resourceVersion": "7", "managedFields": [{"x": 1}]}},
            {"metadata": {"name": "b", "labels": 5, "resourceVersion": "8"}}]}"#;
        let list: ObjectList<Lean<Node>> = serde_json::from_str(list).unwrap();
        assert_eq!(list.items[0].object.as_ref().unwrap().metadata.name, "a");
        assert!(list.items[1].malformed().unwrap().contains("invalid type"));
        assert_eq!(list.items[1].meta().name.as_deref(), Some("b"));
        let change =
            r#"{"type": "MODIFIED", "object": {"metadata": {"name": "a", "resourceVersion": "12"}}}"#;
        let change: WatchEvent<Lean<Node>> = serde_json::from_str(change).unwrap();
        let WatchEvent::Modified(node) = change else { panic!("{change:?}") };
        assert_eq!(node.meta().resource_version.as_deref(), Some("12"));
    }
}
