//! Volumes and where they come from.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::super::check::{self, Errors};
use super::super::value::{entries, is_set, items, text};
use super::super::{name, persistent_volume_claim, resources};
use super::projection;
use super::validate::Owner;

/// The volumes that containers may mount.
pub(super) struct Volumes<'a>(Vec<&'a Value>);

impl<'a> Volumes<'a> {
    pub(super) fn find(&self, name: &str) -> Option<&'a Value> {
        self.0.iter().find(|volume| text(&volume["name"]) == name).copied()
    }
}

const HOST_PATH_KINDS: [&str; 8] =
    ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

/// Checks the volumes of a Pod and gives those that are sound enough to be mounted.
pub(super) fn validate<'a>(
    errors: &mut Errors,
    path: &Path<'_>,
    volumes: &'a Value,
    owner: Owner<'_>,
) -> Volumes<'a> {
    let mut sound = Volumes(Vec::new());
    let list = items(volumes);
    for (index, volume) in list.iter().enumerate() {
        let path = path.index(index);
        let before = errors.len();
        source(errors, &path, volume, owner);
        check::requires(errors, &path.field("name"), &volume["name"], name::label);
        if sound.find(text(&volume["name"])).is_some() {
            errors.push(FieldError::duplicate(path.field("name"), volume["name"].clone()));
        }
        if errors.len() == before {
            sound.0.push(volume);
        }
        made_claim(errors, &path, volume, list, owner);
    }
    sound
}

/// A Pod may not also name a claim that is made for one of its ephemeral volumes.
fn made_claim(errors: &mut Errors, path: &Path<'_>, volume: &Value, list: &[Value], owner: Owner<'_>) {
    let Owner::Pod(pod) = owner else { return };
    let claim = text(&volume["persistentVolumeClaim"]["claimName"]);
    let Some(rest) = claim.strip_prefix(pod).and_then(|rest| rest.strip_prefix('-')) else { return };
    if list.iter().any(|other| !other["ephemeral"].is_null() && other["name"] == rest) {
        let path = path.field("persistentVolumeClaim");
        let detail = "must not reference a PVC that gets created for an ephemeral volume";
        errors.push(FieldError::invalid(path.field("claimName"), claim, detail));
    }
}

fn source(errors: &mut Errors, path: &Path<'_>, volume: &Value, owner: Owner<'_>) {
    let mut found = false;
    for (kind, source) in entries(volume) {
        if kind == "name" || source.is_null() {
            continue;
        }
        let path = path.field(kind);
        if found {
            errors.push(FieldError::forbidden(path, "may not specify more than 1 volume type"));
            continue;
        }
        found = true;
        validate_source(errors, &path, kind, source, owner);
    }
    if !found {
        errors.push(FieldError::required(path, "must specify a volume type"));
    }
}

fn validate_source(errors: &mut Errors, path: &Path<'_>, kind: &str, source: &Value, owner: Owner<'_>) {
    match kind {
        "emptyDir" => resources::validate_quantity(errors, &path.field("sizeLimit"), &source["sizeLimit"]),
        "hostPath" => validate_host_path(errors, path, source),
        "secret" | "configMap" => {
            let named = if kind == "secret" { "secretName" } else { "name" };
            check::given(errors, &path.field(named), &source[named]);
            projection::mode(errors, &path.field("defaultMode"), &source["defaultMode"]);
            projection::keys(errors, &path.field("items"), items(&source["items"]));
        }
        "downwardAPI" => {
            projection::mode(errors, &path.field("defaultMode"), &source["defaultMode"]);
            for file in items(&source["items"]) {
                projection::downward_file(errors, path, file);
            }
        }
        "projected" => projection::validate(errors, path, source),
        "persistentVolumeClaim" => {
            check::given(errors, &path.field("claimName"), &source["claimName"]);
        }
        "nfs" => validate_nfs(errors, path, source),
        "csi" => validate_csi(errors, path, source),
        "ephemeral" if source["volumeClaimTemplate"].is_null() => {
            errors.push(FieldError::required(path.field("volumeClaimTemplate"), ""));
        }
        "ephemeral" => {
            let template = path.field("volumeClaimTemplate");
            let spec = &source["volumeClaimTemplate"]["spec"];
            persistent_volume_claim::validate_spec(errors, &template.field("spec"), spec);
        }
        "image" => {
            if owner.is_pod() {
                check::given(errors, &path.field("reference"), &source["reference"]);
            }
            let policies = ["Always", "IfNotPresent", "Never"];
            check::required_one_of(errors, &path.field("pullPolicy"), &source["pullPolicy"], &policies);
        }
        _ => {}
    }
}

/// Checks a path of the node, in a Pod or in a persistent volume.
pub(in super::super) fn validate_host_path(errors: &mut Errors, path: &Path<'_>, source: &Value) {
    if check::given(errors, &path.field("path"), &source["path"]) {
        check::no_backsteps(errors, &path.field("path"), text(&source["path"]));
        check::one_of(errors, &path.field("type"), &source["type"], &HOST_PATH_KINDS);
    }
}

/// Checks a network file system, in a Pod or in a persistent volume.
pub(in super::super) fn validate_nfs(errors: &mut Errors, path: &Path<'_>, source: &Value) {
    check::given(errors, &path.field("server"), &source["server"]);
    check::given(errors, &path.field("path"), &source["path"]);
    if !text(&source["path"]).starts_with('/') {
        errors.push(FieldError::invalid(
            path.field("path"),
            text(&source["path"]),
            "must be an absolute path",
        ));
    }
}

fn validate_csi(errors: &mut Errors, path: &Path<'_>, source: &Value) {
    validate_driver_name(errors, &path.field("driver"), &source["driver"]);
    let secret = &source["nodePublishSecretRef"];
    if !secret.is_null() {
        let path = path.field("nodePublishSecretRef");
        check::requires(errors, &path.field("name"), &secret["name"], name::subdomain);
    }
}

/// Checks the name of a storage driver, which may have capitals.
pub(in super::super) fn validate_driver_name(errors: &mut Errors, path: &Path<'_>, driver: &Value) {
    if !is_set(driver) {
        errors.push(FieldError::required(path, ""));
        return;
    }
    if text(driver).len() > 63 {
        errors.push(FieldError::too_long(path, 63));
    }
    for complaint in name::subdomain(&text(driver).to_ascii_lowercase()) {
        errors.push(FieldError::invalid(path, text(driver), complaint));
    }
}
