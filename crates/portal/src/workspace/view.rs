//! What is shown of a workspace. Pure.

use jiff::Timestamp;
use kube::ResourceExt as _;
use maar_api::{
    ResourceList,
    v1alpha1::{
        CardsSpec, CleanupStatus, ServiceLevel, Workspace, WorkspacePhase, WorkspaceSpec, WorkspaceState,
        WorkspaceType,
    },
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::access::{Kind, Object};

/// A workspace as everyone sees it who may see it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkspaceView {
    pub(crate) namespace: String,
    pub(crate) name: String,
    #[serde(rename = "type")]
    workspace_type: WorkspaceType,
    state: WorkspaceState,
    pub(crate) phase: WorkspacePhase,
    /// Why, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Why, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    image: String,
    account: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    service_level: ServiceLevel,
    resources: ResourceList,
    /// Cards that were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    cards: Option<CardsSpec>,
    /// Cards that were given, such as `nvidia.com/gpu=2,3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    given_cards: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    restarts: i32,
    #[schemars(with = "Option<String>")]
    pub(crate) created: Option<Timestamp>,
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<Timestamp>,
    /// Until then no clean-up policy touches it.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    protected_until: Option<Timestamp>,
    /// What a clean-up policy is about to do with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cleanup: Option<CleanupStatus>,
}

/// A workspace with what its owner put into it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkspaceDetail {
    #[serde(flatten)]
    pub(crate) view: WorkspaceView,
    /// Only for those who may read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) spec: Option<WorkspaceSpec>,
    /// Counts what was wished of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) generation: Option<i64>,
    /// The last wish that its phase takes into account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) observed_generation: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pod: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) service: Option<String>,
}

/// What access to it is decided by.
pub(crate) fn object_of(workspace: &Workspace) -> Object {
    let namespace = workspace.metadata.namespace.as_deref().unwrap_or_default();
    Object::work(Kind::Workspace, namespace, workspace.spec.account.as_deref())
}

pub(crate) fn view(workspace: &Workspace) -> WorkspaceView {
    let (spec, status) = (&workspace.spec, workspace.status.clone().unwrap_or_default());
    WorkspaceView {
        namespace: workspace.namespace().unwrap_or_default(),
        name: workspace.name_any(),
        workspace_type: spec.workspace_type,
        state: spec.state,
        phase: status.phase,
        reason: status.reason,
        message: status.message,
        image: spec.image.clone(),
        account: spec.account().to_owned(),
        user: spec.user.clone(),
        service_level: spec.service_level,
        resources: spec.resources.clone(),
        cards: spec.cards.clone(),
        given_cards: status.cards,
        node: status.node,
        restarts: status.restarts,
        created: workspace.creation_timestamp().map(|time| time.0),
        started: status.start_time.map(|time| time.0),
        protected_until: spec.protected_until.as_ref().map(|time| time.0),
        cleanup: status.cleanup,
    }
}

pub(crate) fn detail(workspace: &Workspace, readable: bool) -> WorkspaceDetail {
    let status = workspace.status.clone().unwrap_or_default();
    WorkspaceDetail {
        view: view(workspace),
        spec: readable.then(|| workspace.spec.clone()),
        generation: workspace.metadata.generation,
        observed_generation: status.observed_generation,
        pod: status.pod,
        service: status.service,
    }
}
