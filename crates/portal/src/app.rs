//! Applications that people make with kubectl in their namespace: the portal shows them, and does no more.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    access::{Kind, Verb},
    error::ApiError,
    live::AppFacts,
    page::{Page, PageQuery, page},
    route::{Answer, Call, Method::Get, Route, Target},
};

pub(crate) fn routes() -> Vec<Route> {
    let own = Target::Asker(Kind::Workspace);
    vec![
        Route::at_once(Get, "/apps", "listApps", (Verb::See, own), list)
            .says("Deployments and StatefulSets of the own namespace")
            .query::<PageQuery>()
            .answers::<Page<AppView>>(),
    ]
}

/// A Deployment or a StatefulSet.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AppView {
    kind: &'static str,
    namespace: String,
    name: String,
    /// Pods that are ready.
    ready: i32,
    /// Pods that shall be.
    wanted: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<String>,
    #[schemars(with = "Option<String>")]
    created: Option<Timestamp>,
}

fn view(kind: &'static str, facts: &AppFacts) -> AppView {
    AppView {
        kind,
        namespace: facts.namespace.clone(),
        name: facts.name.clone(),
        ready: facts.ready,
        wanted: facts.wanted,
        image: facts.image.clone(),
        created: facts.created,
    }
}

fn list(call: &Call) -> Result<Answer, ApiError> {
    let (namespace, live) = (&call.person()?.namespace, &call.portal.live);
    let deployments = live.deployments.list(Some(namespace));
    let stateful = live.stateful_sets.list(Some(namespace));
    let mut all: Vec<AppView> = deployments.iter().map(|one| view("Deployment", one)).collect();
    all.extend(stateful.iter().map(|one| view("StatefulSet", one)));
    let place = |one: &AppView| (one.name.clone(), one.kind.to_owned());
    all.sort_by_cached_key(place);
    Answer::json(&page(all, &call.query::<PageQuery>()?, place)?)
}
