//! The replica count of any kind, in one shape.

use std::sync::Arc;

use axum::response::Response;
use http::Method;
use maar_machinery::crd::{FieldPath, Scale};
use maar_machinery::error::FieldError;
use maar_machinery::selector::LabelSelector;
use serde_json::{Value, json};

use crate::admission::{Action, Attributes};
use crate::hooks::from_storage;
use crate::request::{self, WriteOptions};
use crate::resource::{Origin, Resource, Subresource};
use crate::server::{Call, Server, content_type};
use crate::status::ApiError;
use crate::verbs::{Changed, PatchBody, decode_body};

/// Makes the Scale that is wanted from the one there is.
type Wanted = Box<dyn Fn(&Value) -> Result<Value, ApiError> + Send + Sync>;

/// Where a kind keeps its replica counts and selector.
fn paths(resource: &Resource) -> Scale {
    if let Origin::Custom(version) = &resource.origin
        && let Some(scale) = &version.scale
    {
        return scale.clone();
    }
    Scale {
        spec_replicas: FieldPath::new(".spec.replicas"),
        status_replicas: FieldPath::new(".status.replicas"),
        label_selector: Some(FieldPath::new(".spec.selector")),
    }
}

impl Server {
    pub(super) async fn on_scale(
        self: &Arc<Self>,
        call: &Call<'_>,
        body: &[u8],
    ) -> Result<Response, ApiError> {
        let resource = &call.resource;
        let paths = paths(resource);
        let renderer = self.renderer(call, request::accepted_form(&call.parts.headers, false)?)?;
        let shown = |entry: Value| {
            let mut scale = scale_of(&entry, &paths);
            // None are not mentioned.
            if scale["spec"]["replicas"] == 0 {
                scale["spec"] = json!({});
            }
            renderer.scale(resource, &scale)
        };
        let key = call.key();
        let wanted: Wanted = match call.parts.method {
            Method::GET => {
                let object = from_storage(resource, self.get(resource, &key)?.value());
                return Ok(shown(object));
            }
            Method::PUT => {
                let given = decode_body(body)?;
                check_scale(&given, key.name())?;
                Box::new(move |_| Ok(given.clone()))
            }
            Method::PATCH => {
                let patch = PatchBody::decode(content_type(call.parts), body)?;
                Box::new(move |scale| patch_scale(scale, &patch))
            }
            _ => return Err(ApiError::method_not_allowed()),
        };
        let options = WriteOptions::parse(call.query)?;
        let before = scale_of(&from_storage(resource, self.get(resource, &key)?.value()), &paths);
        let mut asked = wanted(&before)?;
        let attributes = Attributes::of_call(call, Subresource::Scale, Action::Update)?;
        self.admit_part(&attributes, Some(&mut asked), Some(&before)).await?;
        let replicas = asked["spec"]["replicas"].clone();
        let applied = call.parts.method == Method::PATCH && is_apply(content_type(call.parts));
        let part = Some(Subresource::Scale);
        let change = |old: &Value| {
            let mut scale = wanted(&scale_of(old, &paths))?;
            // As the webhooks left it.
            if scale["spec"].is_object() {
                scale["spec"]["replicas"] = replicas.clone();
            }
            let mut changed = scaled(resource, old, &scale, &paths)?;
            if applied {
                let count = replicas_alone(resource, &changed.object, &paths);
                changed.object = self.merge_applied(resource, Some(old), &count, part, &options)?;
                changed.fields_settled = true;
            } else if paths.spec_replicas.get(&changed.object).is_some_and(|count| *count == 0) {
                self.own_fields(call.caller, resource, Some(old), &mut changed.object, part, &options);
                disown_replicas(&mut changed.object);
                changed.fields_settled = true;
            }
            Ok(changed)
        };
        let written = self.modify(call.caller, resource, &key, part, &change, &options).await?;
        Ok(shown(from_storage(resource, written.entry.value())))
    }
}

fn is_apply(content_type: &str) -> bool {
    content_type.starts_with("application/apply-patch")
}

/// A Scale does not mention zero replicas, so that whoever scales to zero does not own them. They are all that is ever
/// owned through a Scale.
fn disown_replicas(object: &mut Value) {
    if let Some(entries) = object["metadata"]["managedFields"].as_array_mut() {
        entries.retain(|entry| entry["subresource"] != "scale" || entry["operation"] != "Update");
    }
}

/// What applying a Scale says about the object: its type, its name and the count.
fn replicas_alone(resource: &Resource, object: &Value, paths: &Scale) -> Value {
    let mut applied = json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": {"name": object["metadata"]["name"]},
    });
    if let Some(count) = paths.spec_replicas.get(object) {
        paths.spec_replicas.set(&mut applied, count.clone());
    }
    applied
}

/// A Scale in the name of the object in the path.
fn check_scale(given: &Value, name: &str) -> Result<(), ApiError> {
    let kind = given["kind"].as_str().unwrap_or("Scale");
    if kind != "Scale" {
        return Err(ApiError::bad_request(format!("a Scale is needed here, not a {kind}")));
    }
    let named = given["metadata"]["name"].as_str().unwrap_or_default();
    if named != name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({named}) does not match the name on the URL ({name})"
        )));
    }
    Ok(())
}

fn patch_scale(scale: &Value, patch: &PatchBody) -> Result<Value, ApiError> {
    use maar_machinery::patch::{json, merge};
    let result = match patch {
        PatchBody::Json(patch) => json::apply(scale.clone(), patch),
        // A Scale has no lists to merge; whose replicas they are is settled on the object.
        PatchBody::Merge(patch) | PatchBody::Strategic(patch) | PatchBody::Apply(patch) => {
            merge::apply(scale.clone(), patch)
        }
    };
    result.map_err(|error| ApiError::new(error.code(), "BadRequest", error.to_string()))
}

fn scaled(resource: &Resource, old: &Value, scale: &Value, paths: &Scale) -> Result<Changed, ApiError> {
    let name = old["metadata"]["name"].as_str().unwrap_or_default();
    let replicas = match &scale["spec"]["replicas"] {
        Value::Null => 0,
        given => {
            given.as_i64().filter(|count| (0..=i64::from(i32::MAX)).contains(count)).ok_or_else(|| {
                // Custom kinds are blamed themselves, at the path they keep the count.
                let detail = "must be a whole number, zero or more";
                if resource.is_custom() {
                    let path = paths.spec_replicas.to_string();
                    ApiError::invalid(resource, name, &[FieldError::invalid(path, given.clone(), detail)])
                } else {
                    let error = FieldError::invalid("spec.replicas", given.clone(), detail);
                    ApiError::invalid_question("autoscaling", "Scale", name, &error)
                }
            })?
        }
    };
    let mut object = old.clone();
    paths.spec_replicas.set(&mut object, json!(replicas));
    object["metadata"]["resourceVersion"] = scale["metadata"]["resourceVersion"].clone();
    Ok(Changed { object, warnings: Vec::new(), fields_settled: false })
}

fn scale_of(object: &Value, paths: &Scale) -> Value {
    let metadata = &object["metadata"];
    let mut kept = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = metadata.get(field) {
            kept[field] = value.clone();
        }
    }
    let count = |path: &FieldPath| path.get(object).and_then(Value::as_i64).unwrap_or(0);
    let mut status = json!({"replicas": count(&paths.status_replicas)});
    if let Some(selector) = paths.label_selector.as_ref().and_then(|path| path.get(object)) {
        let text = match selector {
            Value::String(text) => text.clone(),
            other => LabelSelector::from_object(other).map(|parsed| parsed.to_string()).unwrap_or_default(),
        };
        status["selector"] = json!(text);
    }
    let mut spec = json!({});
    if count(&paths.spec_replicas) != 0 {
        spec["replicas"] = json!(count(&paths.spec_replicas));
    }
    json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": kept, "spec": spec, "status": status})
}
