//! What cards did in the last hour: those of a node, or those that some work is on.

use jiff::Timestamp;
use kube::ResourceExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::view::given;
use crate::{
    cards::Point,
    error::ApiError,
    live::PodFacts,
    route::{Answer, Call},
};

/// Which part of the last hour.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct UsageQuery {
    /// How many minutes, up to 60; 60 if it is not said.
    minutes: Option<usize>,
}

/// What one card did.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CardUsage {
    /// Its node and number.
    card: String,
    /// Where it is.
    node: String,
    /// Which kind of card: a node may have several, each of which begins with a card 0.
    resource: String,
    index: u32,
    /// Time in seconds since 1970, use in percent, memory in bytes.
    points: Vec<Point>,
}

/// What some cards did.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Usage {
    cards: Vec<CardUsage>,
}

/// One card that somebody asks of.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Asked {
    node: String,
    resource: String,
    index: u32,
    /// What it did before is not told: it was somebody else's.
    since: Option<Timestamp>,
}

/// `GET /nodes/{name}/usage`.
pub(super) fn of_node(call: &Call) -> Result<Answer, ApiError> {
    let (name, made) = (call.node()?.name_any(), super::handlers::made(call));
    let kinds = made.node(&name).into_iter().flat_map(|entry| &entry.view.cards);
    let cards = kinds.flat_map(|kind| kind.cards.iter().map(|card| (kind.resource.clone(), card.index)));
    answer(call, cards.map(|(resource, index)| Asked { node: name.clone(), resource, index, since: None }))
}

/// What the cards did that these Pods are on, while they were on them. Pods that have ended hold none.
pub(crate) fn usage_of<'a>(
    call: &Call,
    pods: impl IntoIterator<Item = &'a PodFacts>,
) -> Result<Answer, ApiError> {
    answer(call, pods.into_iter().flat_map(cards_of))
}

fn answer(call: &Call, cards: impl Iterator<Item = Asked>) -> Result<Answer, ApiError> {
    let minutes = call.query::<UsageQuery>()?.minutes.unwrap_or(60);
    if !(1..=60).contains(&minutes) {
        return Err(ApiError::invalid("minutes", "is between 1 and 60"));
    }
    let cards = cards.map(|one| {
        let mut points = call.portal.cards.usage(&one.node, &one.resource, one.index, minutes);
        points.retain(|(minute, ..)| one.since.is_none_or(|since| minute + 60 > since.as_second()));
        let Asked { node, resource, index, .. } = one;
        CardUsage { card: format!("{node}/{index}"), node, resource, index, points }
    });
    Answer::json(&Usage { cards: cards.collect() })
}

fn cards_of(pod: &PodFacts) -> Vec<Asked> {
    let (Some(node), true) = (&pod.node, pod.holds()) else { return Vec::new() };
    let text = pod.cards.as_deref().unwrap_or_default();
    let kinds = text.split(';').filter_map(|part| part.split_once('=')).map(|(kind, _)| kind.trim());
    let one = |resource: &str, index| Asked {
        node: node.clone(),
        resource: resource.to_owned(),
        index,
        since: pod.started,
    };
    kinds.flat_map(|kind| given(text, kind).into_iter().map(move |(index, _)| one(kind, index))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn work_is_on_the_cards_that_were_given_to_its_pods_while_they_run() {
        let pod = |phase: &str| {
            let pod = json!({
                "metadata": { "annotations": { "maar.io/cards": "nvidia.com/gpu=2,3;huawei.com/Ascend910=1:0.5" } },
                "spec": { "nodeName": "gpu-1", "containers": [] },
                "status": { "phase": phase, "startTime": "2026-01-01T00:00:00Z" },
            });
            PodFacts::of(&serde_json::from_value(pod).unwrap(), &maar_jobs::PodKinds::default())
        };
        let cards: Vec<(String, u32)> =
            cards_of(&pod("Running")).into_iter().map(|card| (card.resource, card.index)).collect();
        let gpu = |index| ("nvidia.com/gpu".to_owned(), index);
        assert_eq!(cards, [gpu(2), gpu(3), ("huawei.com/Ascend910".to_owned(), 1)]);
        assert!(cards_of(&pod("Succeeded")).is_empty(), "its cards are somebody else's now");
    }
}
