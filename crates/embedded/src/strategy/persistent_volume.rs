//! PersistentVolumes.

use serde_json::{Value, json};

use super::value::{child, fill, fill_text, make_root_child, restore, set_status, text};
use super::{Strategy, resources};
use crate::world::World;

/// The strategy of PersistentVolumes.
#[derive(Debug)]
pub(crate) struct PersistentVolume;

impl Strategy for PersistentVolume {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = make_root_child(object, "spec") {
            fill_text(spec, "persistentVolumeReclaimPolicy", "Retain");
            fill(spec, "volumeMode", "Filesystem");
            resources::normalize(spec.get_mut("capacity"));
            if let Some(host_path) = child(spec, "hostPath") {
                fill(host_path, "type", "");
            }
            if let Some(iscsi) = child(spec, "iscsi") {
                fill_text(iscsi, "iscsiInterface", "default");
            }
            if let Some(rbd) = child(spec, "rbd") {
                fill_text(rbd, "pool", "rbd");
                fill_text(rbd, "user", "admin");
                fill_text(rbd, "keyring", "/etc/ceph/keyring");
            }
        }
        if let Some(status) = make_root_child(object, "status") {
            fill_text(status, "phase", "Pending");
        }
    }

    fn prepare_create(&self, object: &mut Value, world: &World) {
        set_status(object, json!({"phase": "Pending", "lastPhaseTransitionTime": world.now_text()}));
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
    }

    /// Says when the phase changed, unless the client does.
    fn prepare_status(&self, new: &mut Value, old: &Value, world: &World) {
        let changed = text(&new["status"]["phase"]) != text(&old["status"]["phase"]);
        let given = &new["status"]["lastPhaseTransitionTime"];
        let before = old["status"]["lastPhaseTransitionTime"].clone();
        let silent = given.is_null() || (changed && *given == before);
        if silent && let Some(status) = make_root_child(new, "status") {
            let time = if changed { world.now_text().into() } else { before };
            status.insert("lastPhaseTransitionTime".to_owned(), time);
            status.retain(|_, value| !value.is_null());
        }
    }
}
