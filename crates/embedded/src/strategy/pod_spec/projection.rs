//! Volumes whose files are parts of other objects.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::super::check::{self, Errors};
use super::super::value::{integer, is_set, items, text};
use super::environment::{field_reference, resource_reference};

const SOURCES: [&str; 6] =
    ["secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"];

const FILE_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

pub(super) fn validate(errors: &mut Errors, path: &Path<'_>, projected: &Value) {
    mode(errors, &path.field("defaultMode"), &projected["defaultMode"]);
    let list = path.field("sources");
    let mut taken: Vec<&str> = Vec::new();
    for (index, source) in items(&projected["sources"]).iter().enumerate() {
        let item = list.index(index);
        if SOURCES.iter().filter(|kind| !source[**kind].is_null()).count() > 1 {
            errors.push(FieldError::forbidden(item, "may not specify more than 1 volume type per source"));
        }
        validate_source(errors, &item, source);
        for file in files(source) {
            if taken.contains(&file) {
                errors.push(FieldError::invalid(path, file, "conflicting duplicate paths"));
            }
            taken.push(file);
        }
        if !source["serviceAccountToken"].is_null() {
            let token_path = item.field("serviceAccountToken");
            validate_token(errors, path, &token_path, &source["serviceAccountToken"]);
        }
    }
}

fn validate_source(errors: &mut Errors, path: &Path<'_>, source: &Value) {
    for kind in ["secret", "configMap"] {
        if !source[kind].is_null() {
            let path = path.field(kind);
            check::given(errors, &path.field("name"), &source[kind]["name"]);
            keys(errors, &path.field("items"), items(&source[kind]["items"]));
        }
    }
    for file in items(&source["downwardAPI"]["items"]) {
        downward_file(errors, &path.field("downwardAPI"), file);
    }
    let bundle = &source["clusterTrustBundle"];
    if !bundle.is_null() {
        let path = path.field("clusterTrustBundle");
        match (bundle["name"].is_null(), bundle["signerName"].is_null()) {
            (false, false) => {
                errors.push(FieldError::invalid(
                    path,
                    bundle.clone(),
                    "only one of name and signerName may be used",
                ));
            }
            (true, true) => {
                errors.push(FieldError::required(path, "either name or signerName must be specified"));
            }
            _ => {}
        }
        if check::given(errors, &path.field("path"), &bundle["path"]) {
            unreserved_path(errors, &path.field("path"), text(&bundle["path"]));
        }
    }
}

/// The files that a source makes.
fn files(source: &Value) -> impl Iterator<Item = &str> {
    ["secret", "configMap", "downwardAPI"]
        .into_iter()
        .flat_map(|kind| items(&source[kind]["items"]))
        .map(|item| text(&item["path"]))
        .chain([text(&source["clusterTrustBundle"]["path"])])
        .filter(|path| !path.is_empty())
}

fn validate_token(errors: &mut Errors, volume: &Path<'_>, path: &Path<'_>, token: &Value) {
    let seconds = integer(&token["expirationSeconds"]).unwrap_or_default();
    let seconds_path = path.field("expirationSeconds");
    if seconds < 600 {
        errors.push(FieldError::invalid(
            seconds_path,
            seconds,
            "may not specify a duration less than 10 minutes",
        ));
    }
    if seconds > 1 << 32 {
        let detail = "may not specify a duration larger than 2^32 seconds";
        errors.push(FieldError::invalid(seconds_path, seconds, detail));
    }
    if check::given(errors, &volume.field("path"), &token["path"]) {
        unreserved_path(errors, &volume.field("path"), text(&token["path"]));
    }
}

/// The bits of a file's mode.
pub(super) fn mode(errors: &mut Errors, path: &Path<'_>, mode: &Value) {
    if integer(mode).is_some_and(|mode| !(0..=0o777).contains(&mode)) {
        let detail = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.push(FieldError::invalid(path, mode.clone(), detail));
    }
}

/// Which keys become which files.
pub(super) fn keys(errors: &mut Errors, path: &Path<'_>, keys: &[Value]) {
    for (index, item) in keys.iter().enumerate() {
        let path = path.index(index);
        check::given(errors, &path.field("key"), &item["key"]);
        check::given(errors, &path.field("path"), &item["path"]);
        unreserved_path(errors, &path.field("path"), text(&item["path"]));
        mode(errors, &path.field("mode"), &item["mode"]);
    }
}

/// A file that tells a container about its own Pod.
pub(super) fn downward_file(errors: &mut Errors, path: &Path<'_>, file: &Value) {
    check::given(errors, &path.field("path"), &file["path"]);
    unreserved_path(errors, &path.field("path"), text(&file["path"]));
    match (is_set(&file["fieldRef"]), is_set(&file["resourceFieldRef"])) {
        (false, false) => {
            errors.push(FieldError::required(path, "one of fieldRef and resourceFieldRef is required"));
        }
        (true, other) => {
            field_reference(errors, &path.field("fieldRef"), &file["fieldRef"], &FILE_FIELDS);
            if other {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(FieldError::invalid(path, "resource", detail));
            }
        }
        (false, true) => {
            resource_reference(errors, &path.field("resourceFieldRef"), &file["resourceFieldRef"], true);
        }
    }
    mode(errors, &path.field("mode"), &file["mode"]);
}

/// Names that start with two dots are for the kubelet.
fn unreserved_path(errors: &mut Errors, path: &Path<'_>, target: &str) {
    check::descending_path(errors, path, target);
    if target.starts_with("..") && !target.starts_with("../") && target != ".." {
        errors.push(FieldError::invalid(path, target, "must not start with '..'"));
    }
}
