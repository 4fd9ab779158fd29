//! StorageClasses.

use serde_json::Value;

use super::Strategy;
use super::value::fill;

/// The strategy of StorageClasses.
#[derive(Debug)]
pub(crate) struct StorageClass;

impl Strategy for StorageClass {
    fn default(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else { return };
        fill(object, "reclaimPolicy", "Delete");
        fill(object, "volumeBindingMode", "Immediate");
    }
}
