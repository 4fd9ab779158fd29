//! Placing a Pod on a node.

use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::admission::{Action, Attributes, Options};
use crate::request::WriteOptions;
use crate::resource::{Resource, Subresource};
use crate::server::{Call, Caller, Server, respond_value};
use crate::status::ApiError;
use crate::store::{self, CommitError, Expect, Key};
use crate::strategy;
use crate::verbs::{ATTEMPTS, decode_body};

/// Where a Pod goes.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Binding {
    #[serde(default)]
    pub(crate) metadata: BindingMeta,
    pub(crate) target: Target,
}

/// What a binding hands on to the Pod.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct BindingMeta {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uid: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) annotations: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) labels: Map<String, Value>,
}

/// The node.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Target {
    #[serde(default)]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) name: String,
}

impl Server {
    pub(super) async fn on_binding(&self, call: &Call<'_>, body: &[u8]) -> Result<Response, ApiError> {
        let binding = parse(body)?;
        self.bind(call.caller, &call.key(), &binding, &WriteOptions::parse(call.query)?).await?;
        Ok(bound())
    }

    /// `POST …/bindings`, where the body names the Pod.
    pub(crate) async fn on_bindings(
        &self,
        caller: &Caller,
        namespace: &str,
        options: &WriteOptions,
        body: &[u8],
    ) -> Result<Response, ApiError> {
        let binding = parse(body)?;
        let pods = self.resource("", "v1", "pods")?;
        let key = Key::new(&pods.table, namespace, &binding.metadata.name);
        self.bind(caller, &key, &binding, options).await?;
        Ok(bound())
    }

    /// Sets the node of a Pod that has none.
    pub(crate) async fn bind(
        &self,
        caller: &Caller,
        key: &Key,
        binding: &Binding,
        options: &WriteOptions,
    ) -> Result<(), ApiError> {
        let pods = self.resource("", "v1", "pods")?;
        check(binding, key)?;
        let binding = &self.admit_binding(caller, &pods, key, binding, options).await?;
        // Not by `modify`: a bind changes so little of a Pod, and comes so often, that defaults, field owners and
        // the rules of the spec need no second look.
        for _ in 0..ATTEMPTS {
            let current = self.store.get(key).ok_or_else(|| ApiError::not_found(&pods, key.name()))?;
            let mut pod = current.value();
            check_free(&pods, key, binding, &pod)?;
            place(&mut pod, binding, &self.world.now_text());
            check_metadata(&pods, key, &pod)?;
            if options.dry_run {
                return Ok(());
            }
            let expect = Expect::Revision(current.revision);
            let put = store::put(key.clone(), &pod, pods.fields_of(&pod), expect);
            match self.commit(&pods, vec![put]) {
                Ok(_) => return Ok(()),
                Err(CommitError::Stale(_)) => {}
                Err(error @ CommitError::Disk(_)) => return Err(ApiError::internal(error)),
            }
        }
        Err(ApiError::modified(&pods, key.name()))
    }
}

/// A Pod can be placed once, and only while it is to stay.
fn check_free(pods: &Resource, key: &Key, binding: &Binding, pod: &Value) -> Result<(), ApiError> {
    let name = key.name();
    let conflict = |why: String| Err(ApiError::conflict_of_part(pods, "binding", name, why));
    if binding.metadata.uid.as_deref().is_some_and(|uid| pod["metadata"]["uid"] != uid) {
        return Err(ApiError::conflict(pods, name, "Precondition failed: the Pod has another UID"));
    }
    if pod["metadata"]["deletionTimestamp"].is_string() {
        return conflict(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    if let Some(node) = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty()) {
        return conflict(format!("pod {name} is already assigned to node {node:?}"));
    }
    if pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
        return conflict(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    Ok(())
}

/// Labels and annotations of a binding become the Pod's.
fn check_metadata(pods: &Resource, key: &Key, pod: &Value) -> Result<(), ApiError> {
    let errors = strategy::metadata::validate(pod, pods.namespaced, pods.strategy());
    if errors.is_empty() { Ok(()) } else { Err(ApiError::invalid(pods, key.name(), &errors)) }
}

impl Server {
    /// Lets the webhooks at a binding, and adds where the node is.
    async fn admit_binding(
        &self,
        caller: &Caller,
        pods: &Resource,
        key: &Key,
        binding: &Binding,
        options: &WriteOptions,
    ) -> Result<Binding, ApiError> {
        let mut binding = binding.clone();
        binding.metadata.labels.extend(self.topology_labels(&binding.target.name));
        if !self.has_webhooks() {
            return Ok(binding);
        }
        let attributes = Attributes {
            caller,
            resource: pods,
            namespace: key.namespace(),
            name: key.name(),
            subresource: Some(Subresource::Binding),
            action: Action::Create,
            dry_run: options.dry_run,
            options: Options::Write(options),
            generated: false,
        };
        let mut shown = json!(binding);
        shown["kind"] = json!("Binding");
        shown["apiVersion"] = json!("v1");
        shown["metadata"]["name"] = json!(key.name());
        shown["metadata"]["namespace"] = json!(key.namespace());
        self.admit_part(&attributes, Some(&mut shown), None).await?;
        serde_json::from_value(shown).map_err(ApiError::internal)
    }
}

fn place(pod: &mut Value, binding: &Binding, now: &str) {
    pod["spec"]["nodeName"] = json!(binding.target.name);
    for (field, values) in
        [("annotations", &binding.metadata.annotations), ("labels", &binding.metadata.labels)]
    {
        for (key, value) in values {
            pod["metadata"][field][key] = value.clone();
        }
    }
    let condition =
        json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now});
    if !pod["status"]["conditions"].is_array() {
        pod["status"]["conditions"] = json!([]);
    }
    if let Some(conditions) = pod["status"]["conditions"].as_array_mut() {
        conditions.retain(|condition| condition["type"] != "PodScheduled");
        conditions.push(condition);
    }
}

fn parse(body: &[u8]) -> Result<Binding, ApiError> {
    let binding: Binding = serde_json::from_value(decode_body(body)?)
        .map_err(|error| ApiError::bad_request(format!("the binding cannot be read: {error}")))?;
    Ok(binding)
}

/// The real server calls a bad target an error without a reason.
fn check(binding: &Binding, key: &Key) -> Result<(), ApiError> {
    let Binding { metadata, target } = binding;
    if !metadata.name.is_empty() && metadata.name != key.name() {
        return Err(ApiError::bad_request(format!(
            "the name of the binding ({}) does not match the name on the URL ({})",
            metadata.name,
            key.name()
        )));
    }
    if !matches!(target.kind.as_str(), "" | "Node") {
        return Err(ApiError::unclassified(format!(
            "target.kind: {:?} is not supported; use Node",
            target.kind
        )));
    }
    if target.name.is_empty() {
        return Err(ApiError::unclassified("target.name: the name of a node is needed"));
    }
    Ok(())
}

fn bound() -> Response {
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    respond_value(StatusCode::CREATED, &status)
}
