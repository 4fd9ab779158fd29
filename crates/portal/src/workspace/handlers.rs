//! Making and showing workspaces.

use std::{cmp::Reverse, sync::Arc};

use axum::body::Body;
use kube::ResourceExt as _;
use maar_api::v1alpha1::{Workspace, WorkspacePhase};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    new::{NewWorkspace, plan},
    view::{detail, object_of, view},
};
use crate::{
    access::Verb,
    account::Room,
    describe::{Subject, describe},
    error::ApiError,
    job::{Why, matches_search},
    node::{self, Holder},
    page::{PageQuery, page},
    pod,
    route::{Answer, Call},
    terminal::{self, Place},
};

/// Which workspaces.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct WorkspaceQuery {
    /// A part of the name, the image or the user.
    search: Option<String>,
    /// Only those that this account pays for.
    account: Option<String>,
    /// Only those in this phase.
    phase: Option<WorkspacePhase>,
    /// Only the own ones.
    #[serde(default)]
    mine: bool,
}

impl WorkspaceQuery {
    fn wants(&self, workspace: &Workspace) -> bool {
        let spec = &workspace.spec;
        let phase = workspace.status.as_ref().map(|status| status.phase).unwrap_or_default();
        let words = [&workspace.name_any(), &spec.image, spec.user.as_deref().unwrap_or_default()];
        self.account.as_deref().is_none_or(|account| account == spec.account())
            && self.phase.is_none_or(|wanted| wanted == phase)
            && self.search.as_deref().is_none_or(|search| matches_search(search, &words))
    }
}

/// Newest first.
pub(crate) fn place(object: &impl kube::Resource<DynamicType = ()>) -> (Reverse<i64>, String, String) {
    let created = object.creation_timestamp().map_or(0, |time| time.0.as_second());
    (Reverse(created), object.namespace().unwrap_or_default(), object.name_any())
}

/// `GET /workspaces`.
pub(super) fn list(call: &Call) -> Result<Answer, ApiError> {
    let (person, known) = (call.person()?, &call.portal.live.workspaces);
    let bytes = call.portal.workspace_lists.get(known.version(), call.question()?, || {
        let query: WorkspaceQuery = call.query()?;
        let only = (query.mine || !person.sees_others()).then_some(person.namespace.as_str());
        let mut found = known.list(only);
        found.retain(|one| query.wants(one) && call.may(Verb::See, &object_of(one)));
        found.sort_by_cached_key(|one| place(&**one));
        let page = page(found, &call.query::<PageQuery>()?, |one| place(&**one))?;
        Answer::text(&page.map(|one| view(&one)))
    })?;
    Ok(Answer::json_bytes(bytes))
}

/// `POST /workspaces`.
pub(super) async fn create(call: Call) -> Result<Answer, ApiError> {
    let asked: NewWorkspace = call.body()?;
    let person = call.person()?;
    let workspace = plan(&asked, person, &call.portal.settings.profiles)?;
    let (portal, namespace) = (&call.portal, &person.namespace);
    let room = Room::take(portal, &call.request_id, (person, &workspace)).await?;
    let what = format!("workspace {}", asked.name);
    let made = room.fill(portal.namespaces.create(person, &what, &workspace)).await?;
    portal.live.workspaces.seen(namespace, &asked.name).await;
    let name = format!("{namespace}/{}", asked.name);
    // Values of the environment are often secrets; the audit log keeps none of them.
    let grant = workspace.annotations().get(maar_jobs::ANNOTATION_GRANT);
    let after = json!({ "image": asked.image, "cards": asked.cards, "resources": workspace.spec.resources, "grant": grant });
    Ok(Answer::created(&view(&made))?.about(name).change(None, Some(after)))
}

/// `GET /workspaces/{namespace}/{name}`.
pub(super) fn get(call: &Call) -> Result<Answer, ApiError> {
    let found = call.workspace()?;
    let readable = call.may(Verb::Read, &object_of(found));
    Answer::json(&detail(found, readable))
}

/// The container of a workspace in its Pod, as the controller of workspaces names it.
pub(crate) const CONTAINER: &str = "workspace";

/// The Pod of a workspace is called as it is.
pub(crate) fn pod_of(workspace: &Workspace) -> String {
    let status = workspace.status.as_ref();
    status.and_then(|status| status.pod.clone()).unwrap_or_else(|| workspace.name_any())
}

/// `GET …/logs`.
pub(super) async fn logs(call: Call) -> Result<Answer, ApiError> {
    let found = Arc::clone(call.workspace()?);
    let namespace = found.namespace().unwrap_or_default();
    pod::logs(&call, &namespace, &pod_of(&found), object_of(&found)).await
}

/// `GET …/terminal`.
pub(super) fn terminal(call: &Call) -> Result<Answer, ApiError> {
    let found = call.workspace()?;
    let namespace = found.namespace().unwrap_or_default();
    let work = ("workspace", format!("{namespace}/{}", found.name_any()));
    let place = Place { pod: pod_of(found), container: None, object: object_of(found), work, namespace };
    terminal::open(call, place)
}

/// `GET …/events`.
pub(super) async fn events(call: Call) -> Result<Answer, ApiError> {
    let found = call.workspace()?;
    let names = [("Workspace", found.name_any()), ("Pod", pod_of(found))];
    pod::events(&call, &found.namespace().unwrap_or_default(), &names).await
}

/// `GET …/describe`.
pub(super) async fn description(call: Call) -> Result<Answer, ApiError> {
    let found = call.workspace()?;
    let (namespace, pod) = (found.namespace().unwrap_or_default(), pod_of(found));
    let names = [("Workspace", found.name_any()), ("Pod", pod.clone())];
    let events = pod::newest_events(&call.portal.client, &namespace, &names).await?;
    let pods = pod::some(&call.portal.client, &namespace, &[pod]).await?;
    let object = serde_json::to_value(&**found).unwrap_or_default();
    let text = describe(&Subject {
        kind: "Workspace",
        object: &object,
        pods: &pods,
        events: &events,
        now: call.now(),
    });
    Ok(Answer::stream("text/plain; charset=utf-8", Body::from(text)))
}

/// Somebody else on a card of the workspace.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Neighbour {
    /// The card: node, kind and number.
    card: String,
    #[serde(flatten)]
    holder: Holder,
}

/// Who else is on the cards of a workspace.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Neighbours {
    items: Vec<Neighbour>,
}

/// `GET …/neighbours`.
pub(super) fn neighbours(call: &Call) -> Result<Answer, ApiError> {
    let found = call.workspace()?;
    let (namespace, name) = (found.namespace(), Some(found.name_any()));
    let own = |holder: &Holder| {
        holder.kind == Some("workspace") && holder.namespace == namespace && holder.name == name
    };
    let found = node::neighbours(call, own).into_iter();
    let items = found.map(|(card, holder)| Neighbour { card, holder }).collect();
    Answer::json(&Neighbours { items })
}

/// `GET …/why`.
pub(super) fn why(call: &Call) -> Result<Answer, ApiError> {
    let found = call.workspace()?;
    let pod = call.portal.live.pods.get(&found.namespace().unwrap_or_default(), &pod_of(found));
    Answer::json(&Why::of_workspace(found, pod.as_deref()))
}

/// `GET …/usage`.
pub(super) fn usage(call: &Call) -> Result<Answer, ApiError> {
    let found = call.workspace()?;
    let pod = call.portal.live.pods.get(&found.namespace().unwrap_or_default(), &pod_of(found));
    node::usage_of(call, pod.as_deref())
}

/// `GET …/yaml`.
pub(super) fn yaml(call: &Call) -> Result<Answer, ApiError> {
    let text = pod::portable(&**call.workspace()?)?;
    Ok(Answer::stream("application/yaml", Body::from(text)))
}
