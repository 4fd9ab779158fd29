//! CSIDrivers.

use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};

use super::value::{fill, items, make_root_child, text};
use super::{Strategy, check};

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

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        let spec = &object["spec"];
        let policies = ["File", "None", "ReadWriteOnceWithFSType"];
        check::one_of(&mut errors, &path.field("fsGroupPolicy"), &spec["fsGroupPolicy"], &policies);
        for mode in items(&spec["volumeLifecycleModes"]) {
            let modes = ["Ephemeral", "Persistent"];
            check::one_of(&mut errors, &path.field("volumeLifecycleModes"), mode, &modes);
        }
        let requests = items(&spec["tokenRequests"]);
        let list = path.field("tokenRequests");
        for (index, request) in requests.iter().enumerate() {
            let path = list.index(index);
            if requests[..index].iter().any(|other| text(&other["audience"]) == text(&request["audience"])) {
                errors.push(FieldError::duplicate(path.field("audience"), request["audience"].clone()));
            }
            check::at_least(
                &mut errors,
                &path.field("expirationSeconds"),
                &request["expirationSeconds"],
                600,
            );
        }
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        for field in ["attachRequired", "volumeLifecycleModes"] {
            check::immutable(&mut errors, &path.field(field), &new["spec"][field], &old["spec"][field]);
        }
        errors
    }
}
