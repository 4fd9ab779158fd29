//! Writing objects so that it is safe to run twice, late, or beside somebody else.
//!
//! * [`Writer::apply`] says what the object shall look like (server-side apply under one constant field manager).
//! * [`Writer::apply_over`] and [`Writer::apply_status`] do so only on top of the version that was looked at.
//! * [`Writer::delete`] deletes the object that was looked at, and no namesake.
//! * [`Writer::modify`] is for the rest: read, change, write on top of what was read, again on conflict.
//!
//! Every write that follows from a read carries what was read as a precondition. That, and not the lease, keeps a
//! process that slept through its own replacement from undoing the work of its successor.

use std::fmt::Debug;

use kube::{
    Api, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    backoff::{Backoff, Dice},
    error::{Categorized, Category, Error},
};

/// How often [`Writer::modify`] tries before it leaves a conflict to the caller's back-off.
const MODIFY_ATTEMPTS: u32 = 5;

/// What a Kubernetes type must be able to do to be written here.
pub trait Object: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned {}
impl<K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned> Object for K {}

/// What a write came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Written<K> {
    /// The object as the server has it now.
    Changed(K),
    /// There was nothing to do, and nothing was sent.
    Unchanged,
}

/// Writes under the name of one controller.
#[derive(Debug, Clone, Copy)]
pub struct Writer {
    manager: &'static str,
}

impl Writer {
    /// `manager` is the field manager: constant for a controller, for ever, because it owns what it applied.
    pub const fn new(manager: &'static str) -> Self {
        Self { manager }
    }

    /// Makes the fields in `object` so, creating it if need be, and drops fields that earlier calls set and this one
    /// does not. Takes fields over from others: a controller's word about its own children is final.
    pub async fn apply<K: Object>(&self, api: &Api<K>, object: &K) -> Result<K, Error> {
        let name = name_of("apply", object)?;
        let body = document("apply", object, None)?;
        let result = api.patch(name, &self.params(), &Patch::Apply(&body)).await;
        result.map_err(|source| Error::in_step(step("apply", object), source))
    }

    /// As [`Self::apply`], but only if the object is still the `seen` one in the same version; else a conflict.
    pub async fn apply_over<K: Object>(&self, api: &Api<K>, seen: &K, object: &K) -> Result<K, Error> {
        let name = name_of("apply", object)?;
        let body = document("apply", object, Some(seen))?;
        let result = api.patch(name, &self.params(), &Patch::Apply(&body)).await;
        result.map_err(|source| Error::in_step(step("apply", object), source))
    }

    /// Sets the whole status that this controller owns, if it differs from the one in `seen`, and only on top of it.
    pub async fn apply_status<K: Object>(
        &self,
        api: &Api<K>,
        seen: &K,
        status: &impl Serialize,
    ) -> Result<Written<K>, Error> {
        let name = name_of("apply the status of", seen)?;
        let status = to_json("apply the status of", seen, status)?;
        let before = to_json("apply the status of", seen, seen)?;
        if covers(before.get("status").unwrap_or(&Value::Null), &status) {
            return Ok(Written::Unchanged);
        }
        let mut body = json!({
            "apiVersion": K::api_version(&()),
            "kind": K::kind(&()),
            "metadata": { "name": name },
            "status": status,
        });
        pin(&mut body, seen);
        let result = api.patch_status(name, &self.params(), &Patch::Apply(&body)).await;
        result
            .map(Written::Changed)
            .map_err(|source| Error::in_step(step("apply the status of", seen), source))
    }

    /// Creates `object` unless there is one of that name, and returns what is there.
    pub async fn ensure<K: Object>(&self, api: &Api<K>, object: &K) -> Result<K, Error> {
        let name = name_of("create", object)?;
        let failed = |source| Error::in_step(step("create", object), source);
        match api.create(&self.post_params(), object).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                api.get(name).await.map_err(failed)
            }
            result => result.map_err(failed),
        }
    }

    /// Deletes the object that was seen, in the version that was seen. One that is gone already is fine; a changed one
    /// is a conflict, because what was seen is no longer a reason to delete it.
    pub async fn delete<K: Object>(&self, api: &Api<K>, seen: &K, params: DeleteParams) -> Result<(), Error> {
        let preconditions = Preconditions { uid: seen.uid(), resource_version: seen.resource_version() };
        self.delete_if(api, seen, params.preconditions(preconditions)).await
    }

    /// Deletes the object that was seen, whatever has become of it since, but no other one of the same name.
    pub async fn delete_any_version<K: Object>(
        &self,
        api: &Api<K>,
        seen: &K,
        params: DeleteParams,
    ) -> Result<(), Error> {
        let preconditions = Preconditions { uid: seen.uid(), resource_version: None };
        self.delete_if(api, seen, params.preconditions(preconditions)).await
    }

    async fn delete_if<K: Object>(&self, api: &Api<K>, seen: &K, params: DeleteParams) -> Result<(), Error> {
        let name = name_of("delete", seen)?;
        if seen.uid().is_none() {
            return Err(Error::Incomplete { step: step("delete", seen), field: "uid" });
        }
        match api.delete(name, &params).await {
            Ok(_) => Ok(()),
            Err(error) if error.category() == Category::Missing => Ok(()),
            Err(source) => Err(Error::in_step(step("delete", seen), source)),
        }
    }

    /// Reads `name`, lets `change` change it, and writes it back on top of what was read; on conflict again from the
    /// start. `change` returns whether there is anything to write.
    pub async fn modify<K: Object>(
        &self,
        api: &Api<K>,
        name: &str,
        dice: &Dice,
        mut change: impl FnMut(&mut K) -> bool,
    ) -> Result<Written<K>, Error> {
        let failed = |source| Error::in_step(format!("modify {} {name}", K::kind(&())), source);
        let mut conflicts = 0;
        loop {
            let mut object = api.get(name).await.map_err(failed)?;
            if !change(&mut object) {
                return Ok(Written::Unchanged);
            }
            match api.replace(name, &self.post_params(), &object).await {
                Err(error) if error.category() == Category::Conflict && conflicts + 1 < MODIFY_ATTEMPTS => {
                    conflicts += 1;
                    sleep(Backoff::QUICK.delay(conflicts, dice)).await;
                }
                result => return result.map(Written::Changed).map_err(failed),
            }
        }
    }

    fn params(&self) -> PatchParams {
        PatchParams::apply(self.manager).force()
    }

    fn post_params(&self) -> PostParams {
        PostParams { field_manager: Some(self.manager.to_owned()), ..PostParams::default() }
    }
}

/// Whether `before` already says everything that `wanted` says. Fields only in `before` belong to others.
fn covers(before: &Value, wanted: &Value) -> bool {
    match (before, wanted) {
        (Value::Object(before), Value::Object(wanted)) => {
            wanted.iter().all(|(field, value)| match before.get(field) {
                Some(old) => covers(old, value),
                None => value.is_null(),
            })
        }
        (before, wanted) => before == wanted,
    }
}

fn name_of<'a, K: Object>(verb: &str, object: &'a K) -> Result<&'a str, Error> {
    let name = object.meta().name.as_deref();
    name.ok_or_else(|| Error::Incomplete { step: step(verb, object), field: "name" })
}

/// The object as a complete apply document: with type, without what the server fills in.
fn document<K: Object>(verb: &str, object: &K, seen: Option<&K>) -> Result<Value, Error> {
    let mut body = to_json(verb, object, object)?;
    body["apiVersion"] = K::api_version(&()).into();
    body["kind"] = K::kind(&()).into();
    if let Some(metadata) = body["metadata"].as_object_mut() {
        for field in ["managedFields", "resourceVersion", "uid", "generation", "creationTimestamp"] {
            metadata.remove(field);
        }
    }
    if let Some(seen) = seen {
        pin(&mut body, seen);
    }
    Ok(body)
}

/// Ties a document to one object in one version.
fn pin<K: Object>(body: &mut Value, seen: &K) {
    body["metadata"]["uid"] = json!(seen.uid());
    body["metadata"]["resourceVersion"] = json!(seen.resource_version());
}

fn to_json<K: Object>(verb: &str, object: &K, part: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(part)
        .map_err(|source| Error::in_step(step(verb, object), kube::Error::SerdeError(source)))
}

fn step<K: Object>(verb: &str, object: &K) -> String {
    let namespace = object.namespace().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    format!("{verb} {} {namespace}{}", K::kind(&()), object.name_any())
}

#[cfg(test)]
mod tests;
