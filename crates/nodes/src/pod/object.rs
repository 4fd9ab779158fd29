//! Pods as the API sends them, with `spec` and `status` left as JSON.
//!
//! The typed Pod of `k8s-openapi` costs several kilobytes even when empty; this one is parsed, looked at and dropped.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One Pod of a list or a watch.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct PodObject {
    #[serde(default)]
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: Value,
    #[serde(default)]
    pub(crate) status: Value,
}

impl PodObject {
    pub(crate) fn node_name(&self) -> Option<&str> {
        self.spec.get("nodeName").and_then(Value::as_str).filter(|name| !name.is_empty())
    }

    pub(crate) fn annotation(&self, name: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(name).map(String::as_str)
    }

    /// Status of the condition `kind`, as the API shows it.
    pub(crate) fn condition(&self, kind: &str) -> Option<&str> {
        let conditions = self.status.get("conditions")?.as_array()?;
        conditions.iter().find(|condition| condition["type"] == kind)?["status"].as_str()
    }
}

impl kube::Resource for PodObject {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "Pod".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "pods".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
