//! Where containers see volumes: mounts and block devices.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::super::check::{self, Errors};
use super::super::value::{flag, is_set, items, text};
use super::volume::Volumes;

pub(super) fn validate(errors: &mut Errors, path: &Path<'_>, container: &Value, volumes: &Volumes<'_>) {
    let mounts = items(&container["volumeMounts"]);
    let devices = items(&container["volumeDevices"]);
    if mounts.is_empty() && devices.is_empty() {
        return;
    }
    let list = path.field("volumeMounts");
    for (index, mount) in mounts.iter().enumerate() {
        validate_mount(errors, &list, index, mounts, devices, volumes);
        sub_paths(errors, &list, index, mount);
        propagation(errors, &list, mount, container);
    }
    let list = path.field("volumeDevices");
    for index in 0..devices.len() {
        validate_device(errors, &list.index(index), index, devices, mounts, volumes);
    }
}

fn validate_mount(
    errors: &mut Errors,
    list: &Path<'_>,
    index: usize,
    mounts: &[Value],
    devices: &[Value],
    volumes: &Volumes<'_>,
) {
    let path = list.index(index);
    let (name, target) = (&mounts[index]["name"], &mounts[index]["mountPath"]);
    check::given(errors, &path.field("name"), name);
    if volumes.find(text(name)).is_none() {
        errors.push(FieldError::not_found(path.field("name"), text(name)));
    }
    check::given(errors, &path.field("mountPath"), target);
    if mounts[..index].iter().any(|other| other["mountPath"] == *target) {
        errors.push(FieldError::invalid(path.field("mountPath"), target.clone(), "must be unique"));
    }
    if devices.iter().any(|device| device["name"] == *name) {
        let detail = "must not already exist in volumeDevices";
        errors.push(FieldError::invalid(path.field("name"), name.clone(), detail));
    }
    if devices.iter().any(|device| device["devicePath"] == *target) {
        let detail = "must not already exist as a path in volumeDevices";
        errors.push(FieldError::invalid(path.field("mountPath"), target.clone(), detail));
    }
}

fn sub_paths(errors: &mut Errors, list: &Path<'_>, index: usize, mount: &Value) {
    for field in ["subPath", "subPathExpr"] {
        check::descending_path(errors, &list.field(field), text(&mount[field]));
    }
    if is_set(&mount["subPath"]) && is_set(&mount["subPathExpr"]) {
        let path = list.index(index);
        errors.push(FieldError::invalid(
            path.field("subPathExpr"),
            mount["subPathExpr"].clone(),
            "subPathExpr and subPath are mutually exclusive",
        ));
    }
}

fn propagation(errors: &mut Errors, list: &Path<'_>, mount: &Value, container: &Value) {
    let path = list.field("mountPropagation");
    let propagation = &mount["mountPropagation"];
    check::one_of(errors, &path, propagation, &["Bidirectional", "HostToContainer", "None"]);
    if propagation == "Bidirectional" && !flag(&container["securityContext"]["privileged"]) {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        errors.push(FieldError::forbidden(path, detail));
    }
    let recursive = &mount["recursiveReadOnly"];
    let path = list.field("recursiveReadOnly");
    check::one_of(errors, &path, recursive, &["Disabled", "Enabled", "IfPossible"]);
    if recursive == "Enabled" || recursive == "IfPossible" {
        if !flag(&mount["readOnly"]) {
            errors.push(FieldError::forbidden(path, "may only be specified when readOnly is true"));
        }
        if !propagation.is_null() && propagation != "None" {
            let detail = "may only be specified when mountPropagation is None or not specified";
            errors.push(FieldError::forbidden(path, detail));
        }
    }
}

fn validate_device(
    errors: &mut Errors,
    path: &Path<'_>,
    index: usize,
    devices: &[Value],
    mounts: &[Value],
    volumes: &Volumes<'_>,
) {
    let (name, target) = (&devices[index]["name"], &devices[index]["devicePath"]);
    check::given(errors, &path.field("name"), name);
    match volumes.find(text(name)) {
        None => errors.push(FieldError::not_found(path.field("name"), text(name))),
        Some(volume) if volume["persistentVolumeClaim"].is_null() && volume["ephemeral"].is_null() => {
            let detail =
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
            errors.push(FieldError::invalid(path.field("name"), name.clone(), detail));
        }
        Some(_) => {}
    }
    check::given(errors, &path.field("devicePath"), target);
    check::no_backsteps(errors, &path.field("devicePath"), text(target));
    for (field, value) in [("name", name), ("devicePath", target)] {
        if devices[..index].iter().any(|other| other[field] == *value) {
            errors.push(FieldError::invalid(path.field(field), value.clone(), "must be unique"));
        }
    }
    if mounts.iter().any(|mount| mount["name"] == *name) {
        let detail = "must not already exist in volumeMounts";
        errors.push(FieldError::invalid(path.field("name"), name.clone(), detail));
    }
    if mounts.iter().any(|mount| mount["mountPath"] == *target) {
        let detail = "must not already exist as a path in volumeMounts";
        errors.push(FieldError::invalid(path.field("devicePath"), target.clone(), detail));
    }
}
