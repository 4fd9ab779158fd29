//! The few annotations that matter. Others can be long (the last applied configuration), and are skipped unread.

use std::{collections::BTreeMap, fmt};

use maar_api::names::ANNOTATION_VOLCANO_GROUP;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};

use crate::adapter::translate::SELECTED_NODE;

/// Annotations that are kept: Maar's own, those of lent nodes, the group of a Volcano Pod, and the node of a claim.
fn matters(key: &str) -> bool {
    key.starts_with("maar.io/")
        || key.starts_with("kubeocean.io/")
        || [ANNOTATION_VOLCANO_GROUP, SELECTED_NODE].contains(&key)
}

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Annotations(BTreeMap<String, String>);

impl Annotations {
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

impl<'de> Deserialize<'de> for Annotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Annotations;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("annotations")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Annotations, A::Error> {
                let mut kept = BTreeMap::new();
                while let Some(key) = map.next_key::<String>()? {
                    if matters(&key) {
                        kept.insert(key, map.next_value()?);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Annotations(kept))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_matters_is_kept() {
        let text = r#"{"kubectl.kubernetes.io/last-applied-configuration": "{}", "maar.io/cards": "nvidia.com/gpu=1"}"#;
        let read: Annotations = serde_json::from_str(text).unwrap();
        assert_eq!(read.get("maar.io/cards"), Some("nvidia.com/gpu=1"));
        assert_eq!(read.0.len(), 1);
    }
}
