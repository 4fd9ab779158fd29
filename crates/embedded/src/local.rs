//! The cluster's own client: built-in controllers read the store directly and write through the same verbs as
//! everybody else (validation, admission, managed fields), without HTTP in between.

use std::sync::Arc;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Pod;
use kube::core::Resource as KubeResource;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::faults::Subject;
use crate::request::{FieldValidation, WriteOptions};
use crate::resource::{Resource, Subresource};
use crate::server::{Caller, Server};
use crate::status::ApiError;
use crate::store::{Entry, Key};
use crate::subresources::{Binding, BindingMeta, Target};
use crate::verbs::{Changed, DeleteOptions, PatchBody};

/// A kind as k8s-openapi defines it.
pub(crate) trait Kind: KubeResource<DynamicType = ()> + Serialize + DeserializeOwned {}
impl<K> Kind for K where K: KubeResource<DynamicType = ()> + Serialize + DeserializeOwned {}

/// A client acting as one component.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    server: Arc<Server>,
    caller: Caller,
}

impl Local {
    /// A client for the component of that name, which its changes will carry.
    pub(crate) fn new(server: Arc<Server>, component: &str) -> Self {
        Self { server, caller: Caller::component(component) }
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// The resource that serves a kind.
    pub(crate) fn resource<K: Kind>(&self) -> Arc<Resource> {
        let (group, version, plural) = (K::group(&()), K::version(&()), K::plural(&()));
        self.server.resource(&group, &version, &plural).expect("built-in controllers use built-in kinds")
    }

    /// The key of an object; an empty namespace for cluster-scoped ones.
    pub(crate) fn key<K: Kind>(&self, namespace: &str, name: &str) -> Key {
        Key::new(&self.resource::<K>().table, namespace, name)
    }

    /// The stored object, typed.
    pub(crate) fn get<K: Kind>(&self, namespace: &str, name: &str) -> Option<K> {
        self.entry::<K>(namespace, name)?.typed()
    }

    /// The stored object, as it is stored.
    pub(crate) fn entry<K: Kind>(&self, namespace: &str, name: &str) -> Option<Arc<Entry>> {
        self.server.store.get(&self.key::<K>(namespace, name))
    }

    /// All objects of a kind, or those of a namespace, in key order.
    pub(crate) fn list<K: Kind>(&self, namespace: Option<&str>) -> Vec<K> {
        self.entries::<K>(namespace).iter().filter_map(|entry| entry.typed()).collect()
    }

    /// The same without parsing: labels, owners and fields are in `entry.meta`.
    pub(crate) fn entries<K: Kind>(&self, namespace: Option<&str>) -> Vec<Arc<Entry>> {
        self.server.store.list(&self.resource::<K>().table, namespace).rows
    }

    pub(crate) async fn create<K: Kind>(&self, object: &K) -> Result<K, ApiError> {
        let resource = self.resource::<K>();
        let namespace = object.meta().namespace.clone().unwrap_or_default();
        let value = to_value(object)?;
        let name = object.meta().name.as_ref().or(object.meta().generate_name.as_ref());
        let key = Key::new(&resource.table, &namespace, name.map_or("", String::as_str));
        let options = Self::options();
        let create = self.server.create(&self.caller, &resource, &namespace, value, &options);
        let written = self.write("create", &key, create).await?;
        from_entry(&written.entry)
    }

    /// Changes the stored object with `change`, as often as it takes; nothing is written if nothing changes.
    pub(crate) async fn modify<K: Kind>(
        &self,
        namespace: &str,
        name: &str,
        change: impl Fn(&mut K) + Send + Sync,
    ) -> Result<K, ApiError> {
        self.modify_part(namespace, name, None, change).await
    }

    /// Changes the status of the stored object.
    pub(crate) async fn modify_status<K: Kind>(
        &self,
        namespace: &str,
        name: &str,
        change: impl Fn(&mut K) + Send + Sync,
    ) -> Result<K, ApiError> {
        self.modify_part(namespace, name, Some(Subresource::Status), change).await
    }

    /// Changes the status of just this version of the stored object; a conflict if it has moved on.
    pub(crate) async fn modify_status_at<K: Kind>(
        &self,
        namespace: &str,
        name: &str,
        version: &str,
        change: impl Fn(&mut K) + Send + Sync,
    ) -> Result<K, ApiError> {
        self.modify_version(namespace, name, Some(Subresource::Status), Some(version), change).await
    }

    /// Changes the part of the stored object that a subresource stands for.
    pub(crate) async fn modify_part<K: Kind>(
        &self,
        namespace: &str,
        name: &str,
        part: Option<Subresource>,
        change: impl Fn(&mut K) + Send + Sync,
    ) -> Result<K, ApiError> {
        self.modify_version(namespace, name, part, None, change).await
    }

    async fn modify_version<K: Kind>(
        &self,
        namespace: &str,
        name: &str,
        part: Option<Subresource>,
        version: Option<&str>,
        change: impl Fn(&mut K) + Send + Sync,
    ) -> Result<K, ApiError> {
        let resource = self.resource::<K>();
        let key = Key::new(&resource.table, namespace, name);
        let change = |old: &Value| {
            let mut typed: K = serde_json::from_value(old.clone()).map_err(ApiError::internal)?;
            change(&mut typed);
            // Unless a version is asked for, conflicts are met by doing it again, not by giving up.
            typed.meta_mut().resource_version = version.map(ToOwned::to_owned);
            Ok(Changed { object: to_value(&typed)?, warnings: Vec::new(), fields_settled: false })
        };
        let options = Self::options();
        let modify = self.server.modify(&self.caller, &resource, &key, part, &change, &options);
        let written = self.write("update", &key, modify).await?;
        from_entry(&written.entry)
    }

    /// Changes members of the stored JSON by a merge patch, for kinds where typing would lose something.
    pub(crate) async fn merge(
        &self,
        resource: &Resource,
        key: &Key,
        part: Option<Subresource>,
        patch: Value,
    ) -> Result<Arc<Entry>, ApiError> {
        let body = PatchBody::Merge(patch);
        let options = Self::options();
        let patch = self.server.patch(&self.caller, resource, key, part, &body, &options);
        let written = self.write("patch", key, patch).await?;
        Ok(written.entry)
    }

    /// Puts the Pod of this uid on a node.
    pub(crate) async fn bind(
        &self,
        namespace: &str,
        name: &str,
        uid: &str,
        node: &str,
    ) -> Result<(), ApiError> {
        let key = self.key::<Pod>(namespace, name);
        let binding = Binding {
            metadata: BindingMeta {
                name: name.to_owned(),
                uid: Some(uid.to_owned()),
                ..BindingMeta::default()
            },
            target: Target { kind: "Node".into(), name: node.to_owned() },
        };
        let options = Self::options();
        self.write("create", &key, self.server.bind(&self.caller, &key, &binding, &options)).await
    }

    /// Deletes an object; that it is gone already is not an error.
    pub(crate) async fn delete<K: Kind>(
        &self,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<(), ApiError> {
        let resource = self.resource::<K>();
        let key = Key::new(&resource.table, namespace, name);
        self.delete_key(&resource, &key, options).await
    }

    /// Deletes by key, whatever the kind.
    pub(crate) async fn delete_key(
        &self,
        resource: &Resource,
        key: &Key,
        options: &DeleteOptions,
    ) -> Result<(), ApiError> {
        match self.write("delete", key, self.server.delete(&self.caller, resource, key, options)).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Every write passes here, where faults meet it and the log takes it down if anybody has asked for that.
    fn write<'a, T: 'a>(
        &'a self,
        verb: &'static str,
        key: &'a Key,
        write: impl Future<Output = Result<T, ApiError>> + Send + 'a,
    ) -> BoxFuture<'a, Result<T, ApiError>> {
        // On the heap, because a write with its admission is large, and controllers hold it in many places.
        let Some(plan) = self.server.faults.get() else { return Box::pin(write) };
        let write = Box::pin(write);
        Box::pin(async move {
            let subject = Subject::of_controller(&self.caller.manager, verb, key);
            plan.controller_write(&subject, write).await
        })
    }

    fn options() -> WriteOptions {
        WriteOptions { field_validation: FieldValidation::Ignore, ..WriteOptions::default() }
    }
}

fn to_value<K: Kind>(object: &K) -> Result<Value, ApiError> {
    serde_json::to_value(object).map_err(ApiError::internal)
}

fn from_entry<K: Kind>(entry: &Entry) -> Result<K, ApiError> {
    serde_json::from_slice(&entry.json).map_err(ApiError::internal)
}
