//! Volumes, claims, classes, drivers.

use serde_json::Value;

use super::network::default_name;
use super::{NONE, UNSET, flag, items, length, name, phase, text, text_or};
use crate::table::age::Now;

/// Where the class was before it had a field.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

const MODES: [(&str, &str); 4] = [
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
];

fn access_modes(modes: &Value) -> Value {
    let shown = MODES.iter().filter(|(mode, _)| items(modes).iter().any(|other| other == mode));
    shown.map(|(_, short)| *short).collect::<Vec<_>>().join(",").into()
}

fn class_name(object: &Value) -> Value {
    let annotation = text(&object["metadata"]["annotations"][CLASS_ANNOTATION]);
    if annotation.is_empty() { text(&object["spec"]["storageClassName"]).into() } else { annotation.into() }
}

pub(in crate::table) fn volume(object: &Value, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    let claim = &spec["claimRef"];
    let owner = if claim.is_null() {
        String::new()
    } else {
        format!("{}/{}", text(&claim["namespace"]), text(&claim["name"]))
    };
    vec![
        name(object),
        text_or(&spec["capacity"]["storage"], "0"),
        access_modes(&spec["accessModes"]),
        spec["persistentVolumeReclaimPolicy"].clone(),
        phase(object),
        owner.into(),
        class_name(object),
        text_or(&spec["volumeAttributesClassName"], UNSET),
        text(&object["status"]["reason"]).into(),
        now.age(object),
        text_or(&spec["volumeMode"], UNSET),
    ]
}

pub(in crate::table) fn claim(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let volume = text(&spec["volumeName"]);
    let (capacity, modes) = if volume.is_empty() {
        ("".into(), "".into())
    } else {
        (text_or(&status["capacity"]["storage"], "0"), access_modes(&status["accessModes"]))
    };
    vec![
        name(object),
        phase(object),
        volume.into(),
        capacity,
        modes,
        class_name(object),
        text_or(&spec["volumeAttributesClassName"], UNSET),
        now.age(object),
        text_or(&spec["volumeMode"], UNSET),
    ]
}

pub(in crate::table) fn class(object: &Value, now: Now) -> Vec<Value> {
    let annotations = &object["metadata"]["annotations"];
    let is_default =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]
            .iter()
            .any(|annotation| annotations[*annotation] == "true");
    vec![
        default_name(object, is_default),
        object["provisioner"].clone(),
        text_or(&object["reclaimPolicy"], "Delete"),
        text_or(&object["volumeBindingMode"], "Immediate"),
        flag(&object["allowVolumeExpansion"]).into(),
        now.age(object),
    ]
}

pub(in crate::table) fn node(object: &Value, now: Now) -> Vec<Value> {
    vec![name(object), length(&object["spec"]["drivers"]).into(), now.age(object)]
}

pub(in crate::table) fn driver(object: &Value, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    let audiences: Vec<&str> =
        items(&spec["tokenRequests"]).iter().map(|request| text(&request["audience"])).collect();
    let tokens = if spec["tokenRequests"].is_null() { UNSET.into() } else { audiences.join(",").into() };
    let modes: Vec<&str> = items(&spec["volumeLifecycleModes"]).iter().map(text).collect();
    vec![
        name(object),
        spec["attachRequired"].as_bool().unwrap_or(true).into(),
        flag(&spec["podInfoOnMount"]).into(),
        flag(&spec["storageCapacity"]).into(),
        tokens,
        flag(&spec["requiresRepublish"]).into(),
        text_or(&modes.join(",").into(), NONE),
        now.age(object),
    ]
}

pub(in crate::table) fn attachment(object: &Value, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    vec![
        name(object),
        spec["attacher"].clone(),
        text(&spec["source"]["persistentVolumeName"]).into(),
        spec["nodeName"].clone(),
        flag(&object["status"]["attached"]).into(),
        now.age(object),
    ]
}
