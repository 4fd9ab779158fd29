//! Routes of nodes, for everybody.

use std::collections::BTreeMap;

use bytes::{BufMut as _, Bytes, BytesMut};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;
use kube::ResourceExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    admin, drain,
    kinds::CardKinds,
    occupy,
    overview::{Entry, Made},
    summary::{FirstPage, Message, Mine},
    usage::{self, Usage, UsageQuery},
    view::{CardsView, NodeView, given, work_of},
};
use crate::{
    access::{Audience, Kind, Object, Verb},
    cards::{CardKey, STEP, STEPS},
    error::ApiError,
    job::matches_search,
    live::{PodFacts, Work},
    page::{Page, PageQuery, page},
    pod,
    route::{Answer, Call, Method::Get, Route, Target},
};

pub(crate) fn routes() -> Vec<Route> {
    let nodes = (Verb::See, Target::Cluster(Kind::Node));
    let mut all = vec![
        Route::at_once(Get, "/nodes", "listNodes", nodes, list)
            .says("Nodes with their cards, how much these are used, and who is on them")
            .query::<NodeQuery>()
            .query::<PageQuery>()
            .answers::<Page<NodeView>>(),
        Route::at_once(Get, "/nodes/history", "getCardHistory", nodes, history)
            .says("How much each card was used, in steps of a quarter of an hour")
            .query::<HistoryQuery>()
            .answers::<Strips>(),
        Route::at_once(Get, "/nodes/{name}", "getNode", (Verb::See, Target::Node), get)
            .says("One node with its labels, taints, conditions and Pods")
            .answers::<NodeDetail>(),
        Route::at_once(Get, "/nodes/{name}/usage", "getNodeUsage", (Verb::See, Target::Node), usage::of_node)
            .says("What each card of a node did in the last hour, by the minute")
            .query::<UsageQuery>()
            .answers::<Usage>(),
        Route::at_once(Get, "/overview", "getOverview", nodes, overview)
            .says("The cluster in a few numbers, and what concerns the asker")
            .answers::<FirstPage>(),
    ];
    all.extend(admin::routes());
    all.extend(occupy::routes());
    all.extend(drain::routes());
    all
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
    /// Only nodes with cards of this model.
    model: Option<String>,
    /// Only nodes that take work and have a card that nobody is on.
    #[serde(default)]
    free: bool,
}

impl NodeQuery {
    fn wants(&self, node: &NodeView) -> bool {
        let is_free = || {
            let left = node.cards.iter().any(|kind| kind.held() < kind.cards.len());
            node.ready && node.schedulable && left
        };
        self.search.as_deref().is_none_or(|search| matches_search(search, &[&node.name]))
            && self.pool.as_ref().is_none_or(|pool| node.pool.as_ref() == Some(pool))
            && self.model.as_ref().is_none_or(|model| node.model.as_ref() == Some(model))
            && self.resource.as_ref().is_none_or(|resource| !node.allocatable.get(resource).is_zero())
            && (!self.free || is_free())
    }
}

pub(super) fn made(call: &Call) -> std::sync::Arc<Made> {
    let portal = &call.portal;
    portal.overview.get(&portal.live, &portal.cards, portal.settings.hide_names)
}

/// `GET /nodes`.
fn list(call: &Call) -> Result<Answer, ApiError> {
    let (made, audience) = (made(call), Audience::of(call.person()?));
    let all = audience.is_all();
    let question = (audience, format!("nodes?{}", call.query_text()));
    let bytes = call.portal.overview.answer(&made, question, || {
        let query: NodeQuery = call.query()?;
        let wanted: Vec<&Entry> =
            made.nodes.iter().map(|entry| &**entry).filter(|entry| query.wants(&entry.view)).collect();
        let found = page(wanted, &call.query::<PageQuery>()?, |entry| entry.view.name.clone())?;
        let hide_names = call.portal.settings.hide_names;
        let seen = |holder: &super::view::Holder| call.may(Verb::See, &holder.object());
        Ok::<_, ApiError>(joined(&found.map(|entry| entry.bytes(all, hide_names, seen))))
    })?;
    Ok(Answer::json_bytes(bytes))
}

/// A page of parts that are JSON already.
fn joined(page: &Page<Bytes>) -> Bytes {
    let mut text = BytesMut::with_capacity(page.items.iter().map(|item| item.len() + 1).sum::<usize>() + 128);
    text.put_slice(br#"{"items":["#);
    for (at, item) in page.items.iter().enumerate() {
        if at > 0 {
            text.put_u8(b',');
        }
        text.put_slice(item);
    }
    text.put_u8(b']');
    if let Some(next) = &page.next {
        text.put_slice(br#","next":"#);
        // A cursor is letters, digits, dashes and underscores.
        text.put_slice(format!("\"{next}\"").as_bytes());
    }
    text.put_u8(b'}');
    text.freeze()
}

/// Which history.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct HistoryQuery {
    /// How far back, up to 24; 24 if it is not said.
    hours: Option<usize>,
    /// Only this node.
    node: Option<String>,
}

/// How much cards were used.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Strips {
    /// Seconds of a step.
    step: i64,
    /// When the first step begins, in seconds since 1970.
    begin: i64,
    /// By node, kind of card and number of the card: the mean of each step in percent, where it is known.
    nodes: BTreeMap<String, BTreeMap<String, OfKind>>,
}

/// Strips of the cards of one kind, by their numbers.
type OfKind = BTreeMap<String, Vec<Option<u8>>>;

/// Strips as the cards of a node are shown: two kinds of cards in one node count from zero each.
fn by_kind(kinds: &[CardsView], strips: &BTreeMap<CardKey, Vec<Option<u8>>>) -> BTreeMap<String, OfKind> {
    let strip = |resource: &str, index: u32| {
        strips.get(&CardKey::new(resource, index)).map(|strip| (index.to_string(), strip.clone()))
    };
    kinds
        .iter()
        .map(|kind| {
            let cards = kind.cards.iter().filter_map(|card| strip(&kind.resource, card.index));
            (kind.resource.clone(), cards.collect())
        })
        .collect()
}

/// `GET /nodes/history`.
fn history(call: &Call) -> Result<Answer, ApiError> {
    let query: HistoryQuery = call.query()?;
    let hours = query.hours.unwrap_or(24);
    if !(1..=24).contains(&hours) {
        return Err(ApiError::invalid("hours", "is between 1 and 24"));
    }
    let made = made(call);
    // It is the same for everybody: it says nothing of who is where.
    let question = (Audience::everybody(), format!("history?{hours}&{:?}", query.node));
    let bytes = call.portal.overview.answer(&made, question, || {
        let strips = call.portal.cards.with_history(|history| {
            let steps = (hours * 4).min(STEPS);
            let mut nodes = BTreeMap::new();
            for (node, cards) in history.strips(steps) {
                // A node that is gone is shown nowhere, and its past neither.
                if query.node.as_deref().is_none_or(|wanted| wanted == node)
                    && let Some(entry) = made.node(node)
                {
                    nodes.insert(node.to_owned(), by_kind(&entry.view.cards, &cards.collect()));
                }
            }
            Strips { step: STEP, begin: history.begin(steps), nodes }
        });
        serde_json::to_vec(&strips)
            .map(Bytes::from)
            .map_err(|error| ApiError::unavailable("the history", error))
    })?;
    Ok(Answer::json_bytes(bytes))
}

/// One Pod of a node.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodOnNode {
    /// `system`, `user-job` or `external`.
    kind: &'static str,
    phase: String,
    /// Names only for those who may see the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cards: Option<String>,
    /// When it ends, if that is known.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    ends: Option<Timestamp>,
}

/// What a node says of itself.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeCondition {
    #[serde(rename = "type")]
    condition: String,
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// A taint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaintView {
    pub(super) key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<String>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub(super) effect: String,
}

impl From<&Taint> for TaintView {
    fn from(taint: &Taint) -> Self {
        Self { key: taint.key.clone(), value: taint.value.clone(), effect: taint.effect.clone() }
    }
}

/// A node with everything that is shown of it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeDetail {
    #[serde(flatten)]
    view: NodeView,
    labels: BTreeMap<String, String>,
    taints: Vec<TaintView>,
    conditions: Vec<NodeCondition>,
    /// Pods that hold something of it.
    pod_list: Vec<PodOnNode>,
    /// The account that has it for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
}

/// `GET /nodes/{name}`.
fn get(call: &Call) -> Result<Answer, ApiError> {
    let name = call.node()?.name_any();
    let made = made(call);
    let entry = made.node(&name).ok_or_else(|| ApiError::not_found("this node"))?;
    let mut view = entry.view.clone();
    let hide_names = call.portal.settings.hide_names;
    view.hide(hide_names, |holder| call.may(Verb::See, &holder.object()));
    let node = &entry.node;
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref()).into_iter().flatten();
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref()).into_iter().flatten();
    Answer::json(&NodeDetail {
        view,
        labels: node.labels().clone(),
        taints: taints.map(TaintView::from).collect(),
        conditions: conditions
            .map(|one| NodeCondition {
                condition: one.type_.clone(),
                status: one.status.clone(),
                reason: one.reason.clone(),
                message: one.message.clone(),
            })
            .collect(),
        pod_list: entry.pods.iter().map(|(pod, end)| pod_view(call, pod, *end)).collect(),
        account: occupy::account_of(node, &call.portal.live.accounts.list(None)),
    })
}

/// What access to a Pod on a node is decided by.
fn object_of(pod: &PodFacts) -> Object {
    match pod.work {
        Work::Job(_) => work_of(Kind::Job, &pod.namespace, pod.account.as_deref()),
        Work::Workspace(_) => work_of(Kind::Workspace, &pod.namespace, pod.account.as_deref()),
        Work::Other => pod::object_of(pod),
    }
}

fn pod_view(call: &Call, pod: &PodFacts, ends: Option<Timestamp>) -> PodOnNode {
    let seen = call.may(Verb::See, &object_of(pod));
    let user = pod.user.clone().filter(|_| seen || !call.portal.settings.hide_names);
    PodOnNode {
        kind: pod.kind.as_str(),
        phase: pod.phase.clone(),
        namespace: seen.then(|| pod.namespace.clone()),
        name: seen.then(|| pod.name.clone()),
        user,
        account: pod.account.clone().filter(|_| seen),
        cards: pod.cards.clone(),
        ends,
    }
}

/// `GET /overview`.
fn overview(call: &Call) -> Result<Answer, ApiError> {
    let (portal, namespace) = (&call.portal, &call.person()?.namespace);
    let live = &portal.live;
    let (workspaces, jobs) = (live.workspaces.list(Some(namespace)), live.jobs.list(Some(namespace)));
    let is_over = |phase: maar_api::v1alpha1::JobPhase| phase.is_final();
    let going = jobs.iter().filter(|job| !job.status.as_ref().is_some_and(|status| is_over(status.phase)));
    let desks = workspaces.iter().filter_map(|one| {
        let told = one.status.as_ref()?.cleanup.as_ref().filter(|told| !told.ending)?;
        Some(Message::cleanup("workspace", namespace, one.name_any(), told))
    });
    let runs = going.clone().filter_map(|one| {
        let told = one.status.as_ref()?.cleanup.as_ref().filter(|told| !told.ending)?;
        Some(Message::cleanup("job", namespace, one.name_any(), told))
    });
    let pods = live.pods.list(Some(namespace));
    Answer::json(&FirstPage {
        cluster: made(call).summary.clone(),
        messages: desks.chain(runs).collect(),
        mine: Mine {
            workspaces: workspaces.len(),
            jobs: going.count(),
            cards: pods
                .iter()
                .filter(|pod| pod.holds())
                .map(|pod| cards_of(pod, portal.overview.kinds()))
                .sum(),
        },
    })
}

/// How many cards a Pod is on.
fn cards_of(pod: &PodFacts, kinds: &CardKinds) -> usize {
    let text = pod.cards.as_deref().unwrap_or_default();
    let told = text.split(';').filter_map(|part| part.split_once('=')).map(|(kind, _)| kind.trim());
    let given: usize = told.map(|kind| given(text, kind).len()).sum();
    let cards = pod.requests.iter().filter(|(name, _)| kinds.hold(name));
    let asked = cards.map(|(_, amount)| amount.value()).sum::<i64>();
    given.max(usize::try_from(asked).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use maar_api::names;

    use super::{super::view::CardView, *};
    use crate::{
        access::{AccountRole, may},
        testing::{person, subject},
    };

    #[test]
    fn two_kinds_of_cards_in_one_node_have_a_past_each() {
        let card = |index| CardView {
            index,
            holders: Vec::new(),
            exclusive: false,
            free_at: None,
            utilisation: None,
            memory_used: None,
            memory_total: None,
            temperature: None,
        };
        let kind = |resource: &str| CardsView {
            resource: resource.to_owned(),
            held_unknown: None,
            cards: vec![card(0), card(1)],
        };
        let (gpu, ascend) = ("nvidia.com/gpu", "huawei.com/Ascend910");
        let strips = BTreeMap::from([
            (CardKey::new(gpu, 0), vec![Some(10)]),
            (CardKey::new(ascend, 0), vec![Some(90)]),
            (CardKey::new(ascend, 7), vec![Some(1)]),
        ]);
        let found = serde_json::to_value(by_kind(&[kind(gpu), kind(ascend)], &strips)).unwrap();
        let wanted = serde_json::json!({ gpu: { "0": [10] }, ascend: { "0": [90] } });
        assert_eq!(found, wanted, "each its own, and none for a card that is not there");
    }

    #[test]
    fn pods_that_no_account_pays_for_are_not_those_of_the_account_of_everyone() {
        let facts = |labels: serde_json::Value| {
            let metadata =
                serde_json::json!({ "name": "etcd", "namespace": "kube-system", "labels": labels });
            let pod = serde_json::json!({ "metadata": metadata });
            PodFacts::of(&serde_json::from_value(pod).unwrap(), &maar_jobs::PodKinds::default())
        };
        let mut vic = person("vic");
        vic.accounts.insert(names::DEFAULT_ACCOUNT.to_owned(), AccountRole::Viewer);
        let vic = subject(vic);
        let seen = |labels| may(&vic, Verb::See, &object_of(&facts(labels)));
        assert!(seen(serde_json::json!({ "maar.io/account": "default", "maar.io/workspace": "desk" })));
        for labels in [
            serde_json::json!({}),
            serde_json::json!({ "maar.io/job": "x" }),
            serde_json::json!({ "maar.io/workspace": "x" }),
        ] {
            assert!(!seen(labels.clone()), "{labels}");
        }
    }

    #[test]
    fn pages_of_bytes_are_json() {
        let read = |items: &[&'static str], next: Option<&str>| -> serde_json::Value {
            let items = items.iter().map(|item| Bytes::from_static(item.as_bytes())).collect();
            serde_json::from_slice(&joined(&Page { items, next: next.map(str::to_owned) })).unwrap()
        };
        assert_eq!(read(&[], None), serde_json::json!({ "items": [] }));
        let two = read(&["{\"a\":1}", "2"], Some("IngtIg"));
        assert_eq!(two, serde_json::json!({ "items": [{ "a": 1 }, 2], "next": "IngtIg" }));
    }
}
