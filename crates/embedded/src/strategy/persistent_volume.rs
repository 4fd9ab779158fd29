//! PersistentVolumes.

use maar_machinery::error::{FieldError, Path};
use maar_quantities::Quantity;
use serde_json::{Value, json};

use super::check::{self, Errors};
use super::value::{
    child, differs, entries, fill, fill_text, is_set, items, make_root_child, restore, set_status, text,
};
use super::{Strategy, name, persistent_volume_claim, pod_spec, resources};
use crate::world::World;

/// The fields of the specification that are not the volume itself.
const COMMON: [&str; 9] = [
    "capacity",
    "accessModes",
    "claimRef",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "mountOptions",
    "volumeMode",
    "nodeAffinity",
    "volumeAttributesClassName",
];

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

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        let spec = &object["spec"];
        let modes = &spec["accessModes"];
        check::given(&mut errors, &path.field("accessModes"), modes);
        persistent_volume_claim::validate_modes(&mut errors, &path.field("accessModes"), items(modes));
        capacity(&mut errors, &path.field("capacity"), &spec["capacity"]);
        let policies = ["Delete", "Recycle", "Retain"];
        let policy_path = path.field("persistentVolumeReclaimPolicy");
        check::one_of(&mut errors, &policy_path, &spec["persistentVolumeReclaimPolicy"], &policies);
        affinity(&mut errors, &path.field("nodeAffinity"), spec);
        source(&mut errors, &path, spec);
        for field in ["storageClassName", "volumeAttributesClassName"] {
            check::follows(&mut errors, &path.field(field), &spec[field], name::subdomain);
        }
        let volume_modes = ["Block", "Filesystem"];
        check::one_of(&mut errors, &path.field("volumeMode"), &spec["volumeMode"], &volume_modes);
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let (now, before) = (&new["spec"], &old["spec"]);
        let changed = |(field, value): (&str, &Value), other: &Value| {
            !COMMON.contains(&field) && differs(value, &other[field])
        };
        if entries(now).any(|entry| changed(entry, before))
            || entries(before).any(|entry| changed(entry, now))
        {
            let detail = "spec.persistentvolumesource is immutable after creation";
            errors.push(FieldError::forbidden("spec.persistentvolumesource", detail));
        }
        check::immutable(&mut errors, &Path::Text("volumeMode"), &now["volumeMode"], &before["volumeMode"]);
        if is_set(&before["nodeAffinity"]) {
            let path = Path::Text("nodeAffinity");
            check::immutable(&mut errors, &path, &now["nodeAffinity"], &before["nodeAffinity"]);
        }
        errors
    }
}

fn capacity(errors: &mut Errors, path: &Path<'_>, capacity: &Value) {
    check::given(errors, path, capacity);
    if entries(capacity).count() != 1 || capacity.get("storage").is_none() {
        errors.push(FieldError::not_supported(path, capacity.clone(), ["storage"]));
    }
    for (resource, amount) in entries(capacity) {
        let path = path.key(resource);
        resources::validate_amount(errors, &path, resource, amount);
        if Quantity::parse(text(amount)).is_ok_and(Quantity::is_zero) {
            errors.push(FieldError::invalid(path, amount.clone(), "must be greater than zero"));
        }
    }
}

fn affinity(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let affinity = &spec["nodeAffinity"];
    if !affinity.is_null() && affinity["required"].is_null() {
        errors.push(FieldError::required(path.field("required"), "must specify required node constraints"));
    }
    if !affinity["required"].is_null() {
        pod_spec::validate_node_selector(errors, &path.field("required"), &affinity["required"]);
    }
    if affinity.is_null() && !spec["local"].is_null() {
        errors.push(FieldError::required(path, "Local volume requires node affinity"));
    }
}

fn source(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let mut found = false;
    for (kind, source) in entries(spec) {
        if COMMON.contains(&kind) || source.is_null() {
            continue;
        }
        let path = path.field(kind);
        if found {
            errors.push(FieldError::forbidden(path, "may not specify more than 1 volume type"));
            continue;
        }
        found = true;
        match kind {
            "hostPath" => pod_spec::validate_host_path(errors, &path, source),
            "nfs" => pod_spec::validate_nfs(errors, &path, source),
            "local" => {
                check::given(errors, &path.field("path"), &source["path"]);
                check::no_backsteps(errors, &path.field("path"), text(&source["path"]));
            }
            "csi" => {
                pod_spec::validate_driver_name(errors, &path.field("driver"), &source["driver"]);
                check::given(errors, &path.field("volumeHandle"), &source["volumeHandle"]);
            }
            _ => {}
        }
    }
    if !found {
        errors.push(FieldError::required(path, "must specify a volume type"));
    }
}
