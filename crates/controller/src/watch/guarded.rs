//! An object that may be malformed.

use std::borrow::Cow;

use kube::{
    Resource,
    api::{ObjectMeta, PartialObjectMeta},
    core::error_boundary::InvalidObject,
};
use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error as _};
use serde_json::value::RawValue;

/// An object as it came off the wire, or its metadata and what is wrong with the rest.
///
/// kube's own `DeserializeGuard` does the same by way of two trees of values, which was a third of the time of a role
/// that watches much; this one takes the text as it is and looks at it again only if the object does not fit.
#[derive(Debug, Clone)]
pub struct Guarded<K>(pub Result<K, InvalidObject>);

impl<'de, K> Deserialize<'de> for Guarded<K>
where
    K: Resource + DeserializeOwned,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        match serde_json::from_str::<K>(text.get()) {
            Ok(object) => Ok(Self(Ok(object))),
            Err(error) => {
                let partial: PartialObjectMeta<K> =
                    serde_json::from_str(text.get()).map_err(D::Error::custom)?;
                Ok(Self(Err(InvalidObject { error: error.to_string(), metadata: partial.metadata })))
            }
        }
    }
}

impl<K: Resource> Resource for Guarded<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(dynamic)
    }

    fn group(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::group(dynamic)
    }

    fn version(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::version(dynamic)
    }

    fn plural(dynamic: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(dynamic)
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.as_ref().map_or_else(|invalid| &invalid.metadata, K::meta)
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.as_mut().map_or_else(|invalid| &mut invalid.metadata, K::meta_mut)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use kube::ResourceExt as _;

    use super::*;

    #[test]
    fn what_fits_is_read_and_what_does_not_keeps_its_name() {
        let fits: Guarded<Pod> =
            serde_json::from_str(r#"{"metadata":{"name":"a"},"spec":{"containers":[]}}"#).unwrap();
        assert_eq!(fits.0.unwrap().name_any(), "a");
        let wrong: Guarded<Pod> =
            serde_json::from_str(r#"{"metadata":{"name":"b"},"spec":{"containers":"none"}}"#).unwrap();
        assert_eq!(wrong.name_any(), "b");
        assert!(wrong.0.unwrap_err().error.contains("expected a sequence"));
    }

    #[test]
    fn without_metadata_there_is_nothing_to_keep() {
        serde_json::from_str::<Guarded<Pod>>(r#"{"metadata":7,"spec":{"containers":"none"}}"#).unwrap_err();
    }
}
