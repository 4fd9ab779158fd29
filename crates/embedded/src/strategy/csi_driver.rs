//! CSIDrivers.

use serde_json::{Value, json};

use super::Strategy;
use super::value::{fill, items, make_root_child};

/// The strategy of CSIDrivers.
#[derive(Debug)]
pub(crate) struct CsiDriver;

impl Strategy for CsiDriver {
    fn default(&self, object: &mut Value) {
        let Some(spec) = make_root_child(object, "spec") else { return };
        fill(spec, "attachRequired", true);
        fill(spec, "podInfoOnMount", false);
        fill(spec, "storageCapacity", false);
        fill(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
        fill(spec, "requiresRepublish", false);
        fill(spec, "seLinuxMount", false);
        if spec.get("volumeLifecycleModes").is_none_or(|modes| items(modes).is_empty()) {
            spec.insert("volumeLifecycleModes".to_owned(), json!(["Persistent"]));
        }
    }
}
