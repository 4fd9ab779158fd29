//! VolumeAttachments.

use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};

use super::value::{fill, make_root_child, restore, set_status, text};
use super::{Strategy, check, name, pod_spec};
use crate::world::World;

/// The strategy of VolumeAttachments.
#[derive(Debug)]
pub(crate) struct VolumeAttachment;

impl Strategy for VolumeAttachment {
    fn default(&self, object: &mut Value) {
        if let Some(status) = make_root_child(object, "status") {
            fill(status, "attached", false);
        }
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(object, json!({"attached": false}));
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        let spec = &object["spec"];
        pod_spec::validate_driver_name(&mut errors, &path.field("attacher"), &spec["attacher"]);
        check::text_follows(&mut errors, &path.field("nodeName"), text(&spec["nodeName"]), name::subdomain);
        let source = &spec["source"];
        match (source["persistentVolumeName"].is_null(), source["inlineVolumeSpec"].is_null()) {
            (true, true) => {
                let detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
                errors.push(FieldError::required(path.field("source"), detail));
            }
            (false, false) => {
                let detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
                errors.push(FieldError::forbidden(path.field("source"), detail));
            }
            _ => {}
        }
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        check::immutable(&mut errors, &Path::Text("spec"), &new["spec"], &old["spec"]);
        errors
    }
}
