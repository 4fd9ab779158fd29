//! Objects that cannot be read: people are told which field is wrong, and nothing else happens to them.

use jiff::Timestamp;
use kube::{
    Api,
    api::{DynamicObject, Patch, PatchParams},
    core::ApiResource,
};
use maar_api::v1alpha1::reasons;
use maar_controller::{
    Context, Error,
    events::{News, Severity},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    field::culprit,
    index::Key,
    status::{bounded, whole},
};

/// How an object of a kind is told that it is malformed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    pub(crate) manager: &'static str,
    /// The phase of what could never be read.
    pub(crate) phase: &'static str,
    /// The condition that does not hold then.
    pub(crate) condition: &'static str,
    /// All conditions that the manager looks after.
    pub(crate) conditions: &'static [&'static str],
    /// Parts of the status that others look after.
    pub(crate) of_others: &'static [&'static str],
}

/// Says so in the object that it cannot be read. Its type is not to be trusted, so it is handled as plain JSON.
pub(crate) async fn tell<K>(context: &Context, key: &Key, problem: &str, told: Told) -> Result<(), Error>
where
    K: kube::Resource<DynamicType = ()> + DeserializeOwned,
{
    let resource = ApiResource::erase::<K>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(context.client.clone(), &key.namespace, &resource);
    let failed = |source| Error::in_step(format!("tell that {} {key} is malformed", resource.kind), source);
    let Some(seen) = api.get_opt(&key.name).await.map_err(failed)? else { return Ok(()) };
    let raw = serde_json::to_value(&seen).unwrap_or(Value::Null);
    let message = match culprit::<K>(&raw) {
        Some((field, complaint)) => bounded(&format!("{field}: {complaint}")),
        None => bounded(problem),
    };
    if seen.data["status"]["message"] == message.as_str() {
        return Ok(());
    }
    let now = whole(context.environment.clock.now());
    let body = json!({
        "apiVersion": resource.api_version, "kind": resource.kind,
        "metadata": {
            "name": key.name, "uid": seen.metadata.uid, "resourceVersion": seen.metadata.resource_version,
        },
        "status": status(&seen.data["status"], &message, now, told),
    });
    let params = PatchParams::apply(told.manager).force();
    api.patch_status(&key.name, &params, &Patch::Apply(&body)).await.map_err(failed)?;
    let news =
        News { severity: Severity::Warning, reason: reasons::MALFORMED, action: "Reading", note: message };
    context.recorder.record_about(kube::Resource::object_ref(&seen, &resource), news);
    Ok(())
}

/// The status with the complaint. What else it says stays: the attempt and the retries of a job are known nowhere else,
/// and its Pods run on.
fn status(before: &Value, message: &str, now: Timestamp, told: Told) -> Value {
    let mut status = before.as_object().cloned().unwrap_or_default();
    for theirs in told.of_others {
        status.remove(*theirs);
    }
    let mut conditions = before["conditions"].as_array().cloned().unwrap_or_default();
    conditions.retain(|one| {
        let kind = one["type"].as_str().unwrap_or_default();
        told.conditions.contains(&kind) && kind != told.condition
    });
    conditions.push(json!({
        "type": told.condition, "status": "False", "reason": reasons::MALFORMED, "message": message,
        "lastTransitionTime": now.to_string(),
    }));
    status.entry("phase").or_insert(json!(told.phase));
    status.insert("reason".to_owned(), json!(reasons::MALFORMED));
    status.insert("message".to_owned(), json!(message));
    status.insert("conditions".to_owned(), json!(conditions));
    Value::Object(status)
}
