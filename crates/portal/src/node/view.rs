//! What is shown of a node. Pure.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt as _;
use maar_api::{ResourceList, names};
use schemars::JsonSchema;
use serde::Serialize;

use super::kinds::CardKinds;
use crate::{
    access::{Kind, Object},
    cards::{CardKey, Reading},
    live::{PodFacts, Work},
};

/// Who is on a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Holder {
    /// `workspace`, `job` or `pod`; hidden as the rest from those who may not see the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Whose it is, unless the portal hides names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<String>,
    /// The part of the card, such as `0.5`; the whole card if it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) share: Option<String>,
}

impl Holder {
    /// What access to it is decided by.
    pub(super) fn object(&self) -> Object {
        let kind = match self.kind {
            Some("job") => Kind::Job,
            Some("pod") => Kind::Pod,
            _ => Kind::Workspace,
        };
        work_of(kind, self.namespace.as_deref().unwrap_or_default(), self.account.as_deref())
    }

    /// For those who may not see the work.
    pub(super) fn hide(&mut self, names_too: bool) {
        let user = self.user.take().filter(|_| !names_too);
        *self =
            Self { kind: None, namespace: None, name: None, account: None, user, share: self.share.take() };
    }
}

/// What access to what runs on a node is decided by. What no account pays for, such as a Pod of the cluster itself, is not
/// the work of the account of everyone.
pub(super) fn work_of(kind: Kind, namespace: &str, account: Option<&str>) -> Object {
    Object { account: account.map(str::to_owned), ..Object::work(kind, namespace, None) }
}

/// One card.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CardView {
    /// Its number on the node.
    pub(crate) index: u32,
    /// All who are on it.
    pub(crate) holders: Vec<Holder>,
    /// One has it whole.
    pub(crate) exclusive: bool,
    /// When it will be free, if everybody on it has an end that is known: a longest run, a notice, a clean-up.
    #[schemars(with = "Option<String>")]
    pub(crate) free_at: Option<Timestamp>,
    /// In percent.
    pub(crate) utilisation: Option<u8>,
    /// In bytes.
    pub(crate) memory_used: Option<u64>,
    /// In bytes.
    pub(crate) memory_total: Option<u64>,
    /// In degrees Celsius.
    pub(crate) temperature: Option<i16>,
}

/// Cards of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CardsView {
    /// The resource that counts them.
    pub(crate) resource: String,
    /// So many of those that show nobody are held all the same: others have placed these Pods, and only the node knows
    /// which cards they have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) held_unknown: Option<usize>,
    pub(crate) cards: Vec<CardView>,
}

impl CardsView {
    /// How many somebody is on, whether it is known which or not.
    pub(super) fn held(&self) -> usize {
        let shown = self.cards.iter().filter(|card| !card.holders.is_empty()).count();
        (shown + self.held_unknown.unwrap_or_default()).min(self.cards.len())
    }
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeView {
    pub(crate) name: String,
    pub(crate) ready: bool,
    /// New Pods may come.
    pub(crate) schedulable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<String>,
    /// What its cards are called by their maker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// It belongs to another cluster.
    pub(crate) lent: bool,
    pub(crate) allocatable: ResourceList,
    /// What Pods on it ask for together.
    pub(crate) requested: ResourceList,
    /// How many Pods are on it.
    pub(crate) pods: usize,
    /// How many by what they are: `system`, `user-job` or `external`.
    pub(crate) pod_kinds: BTreeMap<&'static str, usize>,
    pub(crate) cards: Vec<CardsView>,
}

impl NodeView {
    pub(super) fn holders(&self) -> impl Iterator<Item = &Holder> {
        self.cards.iter().flat_map(|kind| &kind.cards).flat_map(|card| &card.holders)
    }

    /// Without the work that the asker may not see, and without names where they are hidden.
    pub(super) fn hide(&mut self, names_too: bool, seen: impl Fn(&Holder) -> bool) {
        let cards = self.cards.iter_mut().flat_map(|kind| &mut kind.cards);
        for holder in cards.flat_map(|card| &mut card.holders).filter(|holder| !seen(holder)) {
            holder.hide(names_too);
        }
    }
}

/// What is known of a node besides what it says itself.
pub(super) struct Around<'a> {
    /// Pods that hold something of it, each with its end.
    pub(super) pods: &'a [(&'a PodFacts, Option<Timestamp>)],
    /// Readings of its cards.
    pub(super) readings: Option<&'a BTreeMap<CardKey, Reading>>,
    /// Which resources are cards.
    pub(super) kinds: &'a CardKinds,
}

pub(super) fn view(node: &Node, around: &Around<'_>) -> NodeView {
    let (spec, status) = (node.spec.as_ref(), node.status.as_ref());
    let allocatable = status.and_then(|status| status.allocatable.as_ref());
    let allocatable = allocatable.and_then(|all| ResourceList::from_text(all).ok()).unwrap_or_default();
    let mut requested = ResourceList::default();
    let mut pod_kinds = BTreeMap::new();
    for (pod, _) in around.pods {
        requested += &pod.requests;
        *pod_kinds.entry(pod.kind.as_str()).or_default() += 1;
    }
    let label = |name: &str| node.labels().get(name).cloned();
    NodeView {
        name: node.name_any(),
        ready: is_ready(node),
        schedulable: !spec.and_then(|spec| spec.unschedulable).unwrap_or_default(),
        pool: label(names::LABEL_POOL),
        model: label("nvidia.com/gpu.product").or_else(|| label("accelerator")),
        lent: node.labels().get(names::LABEL_LENT).is_some_and(|by| by == names::LENT_BY),
        cards: cards(&allocatable, around),
        allocatable,
        requested,
        pods: around.pods.len(),
        pod_kinds,
    }
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
}

fn cards(allocatable: &ResourceList, around: &Around<'_>) -> Vec<CardsView> {
    let kinds = allocatable.iter().filter(|(name, amount)| around.kinds.hold(name) && !amount.is_zero());
    kinds
        .map(|(resource, amount)| {
            let count = u32::try_from(amount.value()).unwrap_or_default().min(1024);
            CardsView {
                resource: resource.clone(),
                held_unknown: Some(held_unknown(resource, around)).filter(|count| *count > 0),
                cards: (0..count).map(|index| card(resource, index, around)).collect(),
            }
        })
        .collect()
}

/// How many cards of a kind Pods hold without saying which: those that others have placed.
fn held_unknown(resource: &str, around: &Around<'_>) -> usize {
    let silent = around.pods.iter().map(|(pod, _)| *pod).filter(|pod| {
        let text = pod.cards.as_deref().unwrap_or_default();
        given(text, resource).is_empty()
    });
    let asked: i64 = silent.map(|pod| pod.requests.get(resource).value()).sum();
    usize::try_from(asked).unwrap_or_default()
}

fn card(resource: &str, index: u32, around: &Around<'_>) -> CardView {
    let (mut holders, mut ends) = (Vec::new(), BTreeSet::new());
    for (pod, end) in around.pods {
        let given = given(pod.cards.as_deref().unwrap_or_default(), resource);
        if let Some((_, share)) = given.into_iter().find(|(one, _)| *one == index) {
            holders.push(holder(pod, share));
            ends.insert(*end);
        }
    }
    let reading = around.readings.and_then(|all| all.get(&CardKey::new(resource, index))).copied();
    let reading = reading.unwrap_or_default();
    CardView {
        index,
        exclusive: matches!(&holders[..], [only] if only.share.is_none()),
        // None is before every time: it is the first where somebody's end is not known.
        free_at: if ends.contains(&None) { None } else { ends.last().copied().flatten() },
        holders,
        utilisation: reading.utilisation.map(crate::cards::percent),
        memory_used: reading.memory_used.map(bytes),
        memory_total: reading.memory_total().map(bytes),
        temperature: reading.temperature.map(degrees),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "floats of MiB, not below 0; casts saturate"
)]
fn bytes(mebibytes: f64) -> u64 {
    (mebibytes * 1_048_576.0) as u64
}

#[expect(clippy::cast_possible_truncation, reason = "casts of floats saturate")]
fn degrees(value: f64) -> i16 {
    value.round() as i16
}

/// Whether a node has accelerators.
pub(crate) fn has_cards(node: &Node, kinds: &CardKinds) -> bool {
    let all = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    all.into_iter().flatten().any(|(name, amount)| kinds.hold(name) && amount.0 != "0")
}

/// Numbers and shares of the cards of a kind in an annotation such as `nvidia.com/gpu=2,3` or `nvidia.com/gpu=2:0.5`.
pub(crate) fn given(text: &str, resource: &str) -> Vec<(u32, Option<String>)> {
    let of_kind = text.split(';').find_map(|part| part.trim().strip_prefix(resource)?.strip_prefix('='));
    let one = |part: &str| {
        let (index, share) =
            part.split_once(':').map_or((part, None), |(index, share)| (index, Some(share.to_owned())));
        Some((index.trim().parse().ok()?, share))
    };
    of_kind.unwrap_or_default().split(',').filter_map(one).collect()
}

fn holder(pod: &PodFacts, share: Option<String>) -> Holder {
    let (kind, name) = match &pod.work {
        Work::Workspace(name) => ("workspace", name),
        Work::Job(name) => ("job", name),
        Work::Other => ("pod", &pod.name),
    };
    Holder {
        kind: Some(kind),
        namespace: Some(pod.namespace.clone()),
        name: Some(name.clone()),
        user: pod.user.clone(),
        account: pod.account.clone(),
        share,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    use super::*;

    fn pod(name: &str, cards: &str) -> PodFacts {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {
                "name": name, "namespace": "user-ada", "annotations": { "maar.io/cards": cards },
                "labels": { "maar.io/workspace": name, "maar.io/user": "ada", "maar.io/account": "lab" },
            },
            "spec": { "nodeName": "gpu-1", "containers": [{ "name": "c", "resources": { "requests": { "cpu": "2" } } }] },
            "status": { "phase": "Running" },
        }))
        .unwrap();
        PodFacts::of(&pod, &maar_jobs::PodKinds::default())
    }

    fn node() -> Node {
        serde_json::from_value(json!({
            "metadata": { "name": "gpu-1", "labels": { "maar.io/pool": "a100" } },
            "status": {
                "allocatable": { "cpu": "64", "nvidia.com/gpu": "4", "rdma/hca": "2" },
                "conditions": [{ "type": "Ready", "status": "True" }],
            },
        }))
        .unwrap()
    }

    #[test]
    fn a_holder_that_no_account_pays_for_is_not_of_the_account_of_everyone() {
        let foreign: Pod =
            serde_json::from_value(json!({ "metadata": { "name": "exporter", "namespace": "monitoring" } }))
                .unwrap();
        let holder = holder(&PodFacts::of(&foreign, &maar_jobs::PodKinds::default()), None);
        assert_eq!((holder.object().kind, holder.object().account), (Kind::Pod, None));
    }

    static KINDS: std::sync::LazyLock<CardKinds> = std::sync::LazyLock::new(CardKinds::default);

    fn around<'a>(
        pods: &'a [(&'a PodFacts, Option<Timestamp>)],
        readings: Option<&'a BTreeMap<CardKey, Reading>>,
    ) -> Around<'a> {
        Around { pods, readings, kinds: &KINDS }
    }

    #[test]
    fn cards_of_pods_that_others_placed_are_held_and_nobody_knows_which() {
        let foreign: Pod = serde_json::from_value(json!({
            "metadata": { "name": "x", "namespace": "lab" },
            "spec": { "nodeName": "gpu-1", "containers": [
                { "name": "c", "resources": { "requests": { "nvidia.com/gpu": "2" }, "limits": { "nvidia.com/gpu": "2" } } }] },
            "status": { "phase": "Running" },
        }))
        .unwrap();
        let (ours, foreign) =
            (pod("one", "nvidia.com/gpu=0"), PodFacts::of(&foreign, &maar_jobs::PodKinds::default()));
        let shown = view(&node(), &around(&[(&ours, None), (&foreign, None)], None));
        let cards = &shown.cards[0];
        assert_eq!((cards.held_unknown, cards.held()), (Some(2), 3));
        let alone = view(&node(), &around(&[(&ours, None)], None));
        assert_eq!((alone.cards[0].held_unknown, alone.cards[0].held()), (None, 1));
    }

    #[test]
    fn a_pod_of_several_cards_is_on_all_of_them() {
        let pods = [
            pod("two", "nvidia.com/gpu=0,2"),
            pod("half", "nvidia.com/gpu=3:0.5"),
            pod("other", "nvidia.com/gpu=3:0.25"),
            pod("odd", "nvidia.com/gpu=9,x"),
        ];
        let soon = Timestamp::from_second(1_767_225_600).unwrap();
        let pods: Vec<_> = pods.iter().zip([Some(soon), Some(soon), None, None]).collect();
        let reading = Reading {
            utilisation: Some(84.6),
            memory_used: Some(1024.0),
            memory_free: Some(1024.0),
            temperature: Some(61.4),
            ..Reading::default()
        };
        let readings = BTreeMap::from([(CardKey::new("nvidia.com/gpu", 0), reading)]);
        let mut shown = view(&node(), &around(&pods, Some(&readings)));
        insta::assert_json_snapshot!(shown);
        let cards = &shown.cards[0].cards;
        assert_eq!((cards[0].free_at, cards[3].free_at), (Some(soon), None), "one on the last has no end");
        assert_eq!((cards[0].exclusive, cards[3].exclusive, cards[1].exclusive), (true, false, false));
        shown.hide(true, |holder| holder.name.as_deref() == Some("two"));
        let text = serde_json::to_string(&shown.cards).unwrap();
        assert!(text.contains("two") && !text.contains("half") && text.contains("0.25"), "{text}");
        assert_eq!(text.matches("ada").count(), 4, "namespace and user of the one that is seen: {text}");
    }
}
