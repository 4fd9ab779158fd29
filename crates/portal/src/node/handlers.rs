//! Routes of nodes.

use schemars::JsonSchema;
use serde::Deserialize;

use super::overview::{Holder, NodeView};
use crate::{
    access::{Kind, Object, Verb},
    error::ApiError,
    job::matches_search,
    page::{Page, PageQuery, page},
    route::{Answer, Call, Method::Get, Route, Target},
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::at_once(Get, "/nodes", "listNodes", (Verb::See, Target::Cluster(Kind::Node)), list)
            .says("Nodes with their cards and who is on them")
            .query::<NodeQuery>()
            .query::<PageQuery>()
            .answers::<Page<NodeView>>(),
    ]
}

/// Which nodes.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct NodeQuery {
    /// A part of the name.
    search: Option<String>,
    /// Only nodes of this pool.
    pool: Option<String>,
    /// Only nodes that have this resource.
    resource: Option<String>,
}

impl NodeQuery {
    fn wants(&self, node: &NodeView) -> bool {
        self.search.as_deref().is_none_or(|search| matches_search(search, &[&node.name]))
            && self.pool.as_ref().is_none_or(|pool| node.pool.as_ref() == Some(pool))
            && self.resource.as_ref().is_none_or(|resource| !node.allocatable.get(resource).is_zero())
    }
}

fn list(call: &Call) -> Result<Answer, ApiError> {
    let query: NodeQuery = call.query()?;
    let all = call.portal.overview.get(&call.portal.live);
    let wanted: Vec<&NodeView> = all.iter().filter(|node| query.wants(node)).collect();
    let found = page(wanted, &call.query::<PageQuery>()?, |node| node.name.clone())?;
    Answer::json(&found.map(|node| for_asker(call, node.clone())))
}

/// Without what the asker may not know.
fn for_asker(call: &Call, mut node: NodeView) -> NodeView {
    for holder in node.cards.iter_mut().flat_map(|kind| &mut kind.cards).flat_map(|card| &mut card.holders) {
        if !may_see(call, holder) {
            let user = holder.user.take().filter(|_| !call.portal.settings.hide_names);
            *holder = Holder {
                kind: None,
                namespace: None,
                name: None,
                account: None,
                user,
                share: holder.share.take(),
            };
        }
    }
    node
}

fn may_see(call: &Call, holder: &Holder) -> bool {
    let kind = if holder.kind == Some("job") { Kind::Job } else { Kind::Workspace };
    let namespace = holder.namespace.as_deref().unwrap_or_default();
    call.may(Verb::See, &Object::work(kind, namespace, holder.account.as_deref()))
}
