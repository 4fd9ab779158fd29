//! VolumeAttachments.

use serde_json::{Value, json};

use super::Strategy;
use super::value::{fill, make_root_child, restore, set_status};
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
}
