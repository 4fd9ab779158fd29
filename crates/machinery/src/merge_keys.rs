//! How Kubernetes' own types merge: list keys, atomic objects, patch strategies.
//!
//! The facts come from the published OpenAPI documents by `dev/merge-keys`; anything not named there has the default:
//! lists are atomic, objects merge field by field, patches replace lists.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::fields::{Key, ListKind, PatchStrategy};

/// What is special about merging one field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergeFact {
    /// What identifies the items of a list that is not atomic.
    pub list: Option<ListKind>,
    /// Whether an object is one value, where the field says other than the type it holds.
    pub atomic: Option<bool>,
    /// How a strategic merge patch treats the field.
    pub patch: PatchStrategy,
    /// Whether the API server writes the field even when it is empty ([`crate::fields::Field::always`]).
    pub always: bool,
}

/// The fact about a field of a definition such as `io.k8s.api.core.v1.PodSpec`.
pub fn of(definition: &str, field: &str) -> Option<&'static MergeFact> {
    table().get(definition)?.fields.get(field)
}

/// Whether values of a definition are one value (`x-kubernetes-map-type: atomic`), wherever they stand.
pub fn is_atomic(definition: &str) -> bool {
    table().get(definition).is_some_and(|entry| entry.atomic)
}

#[derive(Default)]
struct Definition {
    atomic: bool,
    fields: BTreeMap<&'static str, MergeFact>,
}

fn table() -> &'static BTreeMap<&'static str, Definition> {
    static TABLE: OnceLock<BTreeMap<&'static str, Definition>> = OnceLock::new();
    TABLE.get_or_init(|| read(include_str!("merge_keys/facts.txt")))
}

fn read(text: &'static str) -> BTreeMap<&'static str, Definition> {
    let mut definitions = BTreeMap::new();
    let mut current: Option<&mut Definition> = None;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        if !line.starts_with(' ') {
            let definition: &mut Definition = definitions.entry(name).or_default();
            definition.atomic = words.next() == Some("atomic");
            current = Some(definition);
        } else if let Some(definition) = &mut current {
            definition.fields.insert(name, fact(words));
        }
    }
    definitions
}

fn fact<'a>(words: impl Iterator<Item = &'a str>) -> MergeFact {
    let mut fact = MergeFact::default();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "always" => fact.always = true,
            "list" => fact.list = Some(list_kind(value)),
            "object" => fact.atomic = Some(value == "atomic"),
            "key" => fact.patch.merge_key = Some(value.into()),
            "patch" => {
                for strategy in value.split(',') {
                    match strategy {
                        "merge" => fact.patch.merge = true,
                        "replace" => fact.patch.replace = true,
                        "retainKeys" => fact.patch.retain_keys = true,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    fact
}

fn list_kind(text: &str) -> ListKind {
    let Some(keys) = text.strip_prefix("map:") else { return ListKind::Set };
    let key = |word: &str| match word.split_once('=') {
        None => Key::new(word),
        Some((name, default)) => Key { name: name.into(), default: serde_json::from_str(default).ok() },
    };
    ListKind::Map(keys.split(',').map(key).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(definition: &str, field: &str) -> Vec<(String, Option<serde_json::Value>)> {
        match of(definition, field).and_then(|fact| fact.list.clone()) {
            Some(ListKind::Map(keys)) => {
                keys.iter().map(|key| (key.name.to_string(), key.default.clone())).collect()
            }
            other => panic!("{definition} {field} is no map list: {other:?}"),
        }
    }

    #[test]
    fn list_keys_come_with_their_defaults() {
        assert_eq!(
            keys("io.k8s.api.core.v1.Container", "ports"),
            [("containerPort".to_owned(), Some(0.into())), ("protocol".to_owned(), Some("TCP".into()))]
        );
        assert_eq!(keys("io.k8s.api.core.v1.PodSpec", "containers")[0].0, "name");
        assert_eq!(keys("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "ownerReferences")[0].0, "uid");
    }

    #[test]
    fn patch_strategies_are_split() {
        let volumes = &of("io.k8s.api.core.v1.PodSpec", "volumes").unwrap().patch;
        assert!(volumes.merge && volumes.retain_keys && !volumes.replace);
        assert_eq!(volumes.merge_key.as_deref(), Some("name"));
        let strategy = &of("io.k8s.api.apps.v1.DeploymentSpec", "strategy").unwrap().patch;
        assert!(strategy.retain_keys && !strategy.merge);
    }

    #[test]
    fn atomic_objects_are_known_by_type_and_by_field() {
        assert!(is_atomic("io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"));
        assert!(!is_atomic("io.k8s.api.core.v1.PodSpec"));
        assert_eq!(of("io.k8s.api.core.v1.PodSpec", "nodeSelector").unwrap().atomic, Some(true));
        assert_eq!(of("io.k8s.api.core.v1.PersistentVolumeSpec", "claimRef").unwrap().atomic, Some(false));
    }

    #[test]
    fn finalizers_are_a_set_and_tolerations_have_no_identity() {
        let meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
        assert_eq!(of(meta, "finalizers").unwrap().list, Some(ListKind::Set));
        assert_eq!(of("io.k8s.api.core.v1.PodSpec", "tolerations"), None);
    }

    #[test]
    fn structs_that_are_no_pointers_are_always_written() {
        let deployment = "io.k8s.api.apps.v1.DeploymentSpec";
        assert!(of(deployment, "strategy").is_some_and(|fact| fact.always));
        assert!(of("io.k8s.api.core.v1.PodSpec", "containers").is_some_and(|fact| fact.always));
        assert!(of("io.k8s.api.core.v1.PodSpec", "securityContext").is_none());
    }

    #[test]
    fn every_default_in_the_table_was_read() {
        let written = include_str!("merge_keys/facts.txt").matches("list=map:").count();
        let read = table().values().flat_map(|definition| definition.fields.values());
        let maps = read.filter(|fact| matches!(fact.list, Some(ListKind::Map(_)))).count();
        assert_eq!(maps, written);
    }
}
