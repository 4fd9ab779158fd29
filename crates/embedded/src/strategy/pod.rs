//! Pods.

mod parts;
mod prepare;
mod quality;
mod status;
mod update;

use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};

use super::check::Errors;
use super::value::{
    Object, child, fill, flag, is_set, items, items_mut, make_root_child, restore, set_status, text,
};
use super::{Strategy, pod_spec};
use crate::resource::Subresource;
use crate::world::World;

/// The strategy of Pods.
#[derive(Debug)]
pub(crate) struct Pod;

impl Strategy for Pod {
    fn default(&self, object: &mut Value) {
        if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
            status::default(status);
        }
        let Some(spec) = make_root_child(object, "spec") else { return };
        pod_spec::default_pod_spec(spec);
        for list in ["containers", "initContainers"] {
            for container in items_mut(spec, list) {
                requests_from_limits(container);
            }
        }
        prepare::default_pod_level_resources(spec);
        fill(spec, "enableServiceLinks", true);
        if spec.get("hostNetwork").is_some_and(flag) {
            default_host_ports(spec);
        }
    }

    fn prepare_create(&self, object: &mut Value, world: &World) {
        let mut status = json!({"phase": "Pending", "qosClass": quality::class(&object["spec"])});
        if let Some(condition) = prepare::gated_condition(&object["spec"], world) {
            status["conditions"] = json!([condition]);
        }
        set_status(object, status);
        prepare::apply_label_keys(object);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _world: &World) {
        if let Some(metadata) = new.get_mut("metadata") {
            restore(metadata, &old["metadata"], "ownerReferences");
        }
        if text(&new["status"]["qosClass"]).is_empty()
            && let Some(status) = make_root_child(new, "status")
        {
            status.insert("qosClass".to_owned(), old["status"]["qosClass"].clone());
            status.retain(|_, value| !value.is_null());
        }
    }

    fn prepare_part(&self, part: Subresource, new: &mut Value, old: &Value) {
        match part {
            Subresource::EphemeralContainers => parts::keep_ephemeral_containers(new, old),
            Subresource::Resize => parts::keep_resources(new, old),
            _ => {}
        }
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        let owner = pod_spec::Owner::Pod(text(&object["metadata"]["name"]));
        pod_spec::validate(&mut errors, &path, &object["spec"], owner);
        if !is_set(&object["spec"]["serviceAccountName"]) {
            tokens_need_account(&mut errors, &path, &object["spec"]);
        }
        errors
    }

    fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let spec = &object["spec"];
        if is_set(&spec["ephemeralContainers"]) {
            errors.push(FieldError::forbidden("spec.ephemeralContainers", "cannot be set on create"));
        }
        if is_set(&spec["nodeName"]) && is_set(&spec["schedulingGates"]) {
            let detail = "cannot be set until all schedulingGates have been cleared";
            errors.push(FieldError::forbidden("spec.nodeName", detail));
        }
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        update::validate(&mut errors, &new["spec"], &old["spec"]);
        errors
    }

    fn validate_subresource(&self, subresource: Subresource, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        match subresource {
            Subresource::Status => status::validate(&mut errors, new, old),
            Subresource::EphemeralContainers => {
                parts::validate_ephemeral_containers(&mut errors, new, old);
                errors.extend(self.validate(new));
            }
            Subresource::Resize => {
                parts::validate_resize(&mut errors, new, old);
                errors.extend(self.validate(new));
            }
            _ => {}
        }
        errors
    }
}

/// Without an account there is nobody a token could be for.
fn tokens_need_account(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let list = path.field("volumes");
    for (index, volume) in items(&spec["volumes"]).iter().enumerate() {
        for (source_index, source) in items(&volume["projected"]["sources"]).iter().enumerate() {
            if !source["serviceAccountToken"].is_null() {
                let item = list.index(index);
                let projected = item.field("projected");
                let sources = projected.field("sources");
                let path = sources.index(source_index);
                let detail = "must not be specified when serviceAccountName is not set";
                errors.push(FieldError::forbidden(path.field("serviceAccountToken"), detail));
            }
        }
    }
}

/// A limit without a request is a request of the same amount; only in Pods, never in templates.
fn requests_from_limits(container: &mut Object) {
    let Some(resources) = child(container, "resources") else { return };
    let Some(Value::Object(limits)) = resources.get("limits") else { return };
    let limits = limits.clone();
    if resources.get("requests").is_none_or(Value::is_null) && !limits.is_empty() {
        resources.insert("requests".to_owned(), limits.into());
    } else if let Some(requests) = child(resources, "requests") {
        for (name, amount) in limits {
            requests.entry(name).or_insert(amount);
        }
    }
}

/// In the node's network a container's port is the node's port.
fn default_host_ports(spec: &mut Object) {
    for list in ["containers", "initContainers"] {
        for container in items_mut(spec, list) {
            for port in items_mut(container, "ports") {
                if let Some(number) = port.get("containerPort").and_then(Value::as_i64) {
                    super::value::fill_number(port, "hostPort", number);
                }
            }
        }
    }
}
