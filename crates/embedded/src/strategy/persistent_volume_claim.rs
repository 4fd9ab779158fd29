//! PersistentVolumeClaims.

use maar_machinery::error::{FieldError, Path};
use maar_quantities::Quantity;
use serde_json::{Value, json};

use super::check::{self, Errors};
use super::value::{
    Object, differs, entries, fill_text, is_set, items, make_root_child, restore, set_status, text,
};
use super::{Strategy, name, pod_spec, resources, selector};
use crate::resource::Subresource;
use crate::world::World;

/// The strategy of PersistentVolumeClaims.
#[derive(Debug)]
pub(crate) struct PersistentVolumeClaim;

impl Strategy for PersistentVolumeClaim {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = make_root_child(object, "spec") {
            pod_spec::default_claim_spec(spec);
        }
        if let Some(status) = make_root_child(object, "status") {
            fill_text(status, "phase", "Pending");
            resources::normalize(status.get_mut("capacity"));
            resources::normalize(status.get_mut("allocatedResources"));
        }
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(object, json!({"phase": "Pending"}));
        if let Some(spec) = make_root_child(object, "spec") {
            mirror_data_source(spec);
        }
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
        if let Some(spec) = make_root_child(new, "spec") {
            mirror_data_source(spec);
        }
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        validate_spec(&mut errors, &Path::Text("spec"), &object["spec"]);
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let (now, before) = (&new["spec"], &old["spec"]);
        if !changed_fields(now, before, new["status"]["phase"] == "Bound").is_empty() {
            let detail = "spec is immutable after creation except resources.requests and \
                volumeAttributesClassName for bound claims";
            errors.push(FieldError::forbidden("spec", detail));
        }
        let size = |object: &Value| Quantity::parse(text(&object["resources"]["requests"]["storage"])).ok();
        let capacity = Quantity::parse(text(&old["status"]["capacity"]["storage"])).unwrap_or_default();
        if let (Some(new_size), Some(old_size)) = (size(now), size(before))
            && new_size < old_size
            && new_size <= capacity
        {
            let detail = "field can not be less than status.capacity";
            errors.push(FieldError::forbidden("spec.resources.requests.storage", detail));
        }
        check::immutable(&mut errors, &Path::Text("volumeMode"), &now["volumeMode"], &before["volumeMode"]);
        errors
    }

    fn validate_subresource(&self, _subresource: Subresource, new: &Value, _old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("status");
        let status = &new["status"];
        validate_modes(&mut errors, &path.field("accessModes"), items(&status["accessModes"]));
        for list in ["capacity", "allocatedResources"] {
            let path = path.field(list);
            for (resource, amount) in entries(&status[list]) {
                resources::validate_amount(&mut errors, &path.key(resource), resource, amount);
            }
        }
        errors
    }
}

/// What a claim is filled from has an old and a new field; both say the same where the old one can say it. Anything
/// else in the old one is ignored, as it always was.
fn mirror_data_source(spec: &mut Object) {
    let is_old = |source: &Value| match text(&source["apiGroup"]) {
        "" => source["kind"] == "PersistentVolumeClaim",
        group => group == "snapshot.storage.k8s.io" && source["kind"] == "VolumeSnapshot",
    };
    if spec.get("dataSourceRef").is_none_or(Value::is_null) && !spec.get("dataSource").is_some_and(is_old) {
        spec.remove("dataSource");
    }
    let source = spec.get("dataSource").filter(|source| source.is_object()).cloned();
    let reference = spec.get("dataSourceRef").filter(|reference| reference.is_object()).cloned();
    match (source, reference) {
        (Some(source), None) => {
            spec.insert("dataSourceRef".to_owned(), source);
        }
        (None, Some(reference)) if text(&reference["namespace"]).is_empty() => {
            spec.insert("dataSource".to_owned(), reference);
        }
        _ => {}
    }
}

/// The names of the fields that changed and may not have.
fn changed_fields<'a>(new: &'a Value, old: &'a Value, bound: bool) -> Vec<&'a str> {
    let may_change = |field: &str| match field {
        "volumeName" | "storageClassName" => !is_set(&old[field]),
        "volumeAttributesClassName" => bound,
        "resources" => {
            let rest = |spec: &Value| {
                let mut resources = spec["resources"].clone();
                if let Some(requests) = resources.get_mut("requests").and_then(Value::as_object_mut) {
                    requests.remove("storage");
                }
                resources
            };
            bound && rest(new) == rest(old)
        }
        _ => false,
    };
    entries(new)
        .chain(entries(old))
        .map(|(field, _)| field)
        .filter(|field| differs(&new[*field], &old[*field]) && !may_change(field))
        .collect()
}

/// Checks the specification of a volume claim, whether it is a claim's own or a template's.
pub(super) fn validate_spec(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let modes = path.field("accessModes");
    if items(&spec["accessModes"]).is_empty() {
        errors.push(FieldError::required(modes, "at least 1 access mode is required"));
    }
    selector::validate(errors, &path.field("selector"), &spec["selector"]);
    validate_modes(errors, &modes, items(&spec["accessModes"]));
    let amounts = path.field("resources");
    let size = amounts.key("storage");
    let storage = &spec["resources"]["requests"]["storage"];
    if storage.is_null() {
        errors.push(FieldError::required(size, ""));
    } else if Quantity::parse(text(storage)).is_ok_and(|size| size <= Quantity::ZERO) {
        errors.push(FieldError::invalid(size, storage.clone(), "must be greater than zero"));
    } else {
        resources::validate_amount(errors, &size, "storage", storage);
    }
    for class in ["storageClassName", "volumeAttributesClassName"] {
        check::follows(errors, &path.field(class), &spec[class], name::subdomain);
    }
    check::one_of(errors, &path.field("volumeMode"), &spec["volumeMode"], &["Block", "Filesystem"]);
    for field in ["dataSource", "dataSourceRef"] {
        if !spec[field].is_null() {
            data_source(errors, &path.field(field), &spec[field]);
        }
    }
}

/// Checks how a volume may be mounted; the strictest way excludes all others.
pub(super) fn validate_modes(errors: &mut Errors, path: &Path<'_>, modes: &[Value]) {
    let known = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
    for mode in modes {
        check::one_of(errors, path, mode, &known);
    }
    if modes.iter().any(|mode| mode == "ReadWriteOncePod")
        && modes.iter().any(|mode| mode != "ReadWriteOncePod")
    {
        errors.push(FieldError::forbidden(path, "may not use ReadWriteOncePod with other access modes"));
    }
}

fn data_source(errors: &mut Errors, path: &Path<'_>, source: &Value) {
    check::given(errors, &path.field("name"), &source["name"]);
    check::given(errors, &path.field("kind"), &source["kind"]);
    check::follows(errors, &path.field("apiGroup"), &source["apiGroup"], name::subdomain);
    if !is_set(&source["apiGroup"]) && source["kind"] != "PersistentVolumeClaim" {
        let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.push(FieldError::invalid(path, source["kind"].clone(), detail));
    }
}
