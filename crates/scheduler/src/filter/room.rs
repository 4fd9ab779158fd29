//! Questions about what is left on a node.

use super::{Reason, volumes::judge_volumes};
use crate::{
    ledger::{Card, Ledger, NodeState},
    model::{CardRequest, Pod, Shape},
};

/// Every address of the host.
const ANY_ADDRESS: &str = "0.0.0.0";

/// Why a Pod of this shape does not fit beside what runs there.
pub fn judge_room(ledger: &Ledger, shape: &Shape, state: &NodeState) -> Option<Reason> {
    for (resource, amount) in shape.requests.iter() {
        if amount > state.node.allocatable.get(resource) - state.used.get(resource) {
            return Some(Reason::Resource(resource));
        }
    }
    if !room_for_cards(ledger, &shape.cards, state) {
        return Some(Reason::Cards);
    }
    if !shape.host_ports.iter().all(|port| port_is_free(port, state)) {
        return Some(Reason::HostPort);
    }
    None
}

/// Why a Pod does not fit beside those who were promised room there and have not come yet.
pub fn judge_promises(ledger: &Ledger, pod: &Pod, state: &NodeState) -> Option<Reason> {
    let later = ledger.with_promised(state, pod.priority)?;
    let reason = judge_room(ledger, &pod.shape, &later).or_else(|| judge_volumes(ledger, pod, &later));
    reason.map(|_| Reason::Promised)
}

/// Whether the cards asked for are free.
pub fn room_for_cards(ledger: &Ledger, request: &CardRequest, state: &NodeState) -> bool {
    let Some(kind) = request.kind() else { return true };
    let Some(milli) = request.milli(state.card_memory(kind)) else { return false };
    let (cards, limit) = (state.cards.of_kind(kind), ledger.sharers(request));
    let fitting =
        (0..).zip(cards).filter(|(index, card)| request.allows(*index) && card.left_for(limit) >= milli);
    fitting.count() >= usize::from(request.count())
}

/// How many Pods of this shape fit beside what runs there, as far as resources and cards go.
pub fn pods_that_fit(ledger: &Ledger, shape: &Shape, state: &NodeState) -> u32 {
    if judge_room(ledger, shape, state).is_some() {
        return 0;
    }
    let by_resources =
        shape.requests.iter().filter(|(_, amount)| *amount > 0).map(|(resource, amount)| {
            (state.node.allocatable.get(resource) - state.used.get(resource)) / amount
        });
    let most = by_resources.min().unwrap_or(i64::MAX).min(cards_for(ledger, &shape.cards, state));
    let most = if shape.host_ports.is_empty() { most } else { most.min(1) };
    u32::try_from(most).unwrap_or(u32::MAX)
}

/// How many such requests the free cards satisfy.
fn cards_for(ledger: &Ledger, request: &CardRequest, state: &NodeState) -> i64 {
    let Some(kind) = request.kind() else { return i64::MAX };
    let Some(milli) = request.milli(state.card_memory(kind)).filter(|milli| *milli > 0) else { return 0 };
    let limit = ledger.sharers(request);
    let cards = (0..).zip(state.cards.of_kind(kind));
    let cards = cards.filter(|(index, _)| request.allows(*index)).map(|(_, card)| card);
    let sharers = |card: &Card| i64::from((card.left() / milli).min(limit.saturating_sub(card.sharers)));
    if let CardRequest::Share { .. } = request {
        return cards.map(sharers).sum();
    }
    let free = cards.filter(|card| card.left_for(limit) >= milli).count();
    i64::try_from(free).unwrap_or(0) / i64::from(request.count().max(1))
}

fn port_is_free(port: &(String, String, u16), state: &NodeState) -> bool {
    !state.ports.keys().any(|taken| ports_clash(port, taken))
}

/// A port is taken by the same address or by all of them.
pub(super) fn ports_clash(one: &(String, String, u16), other: &(String, String, u16)) -> bool {
    let every = |address: &str| address.is_empty() || address == ANY_ADDRESS;
    (&one.1, one.2) == (&other.1, other.2) && (every(&one.0) || every(&other.0) || one.0 == other.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ledger::Ledger,
        model::{
            CardKind, CardKindId, CardSet, CardShare, CardsTaken, Node, PodPhase, ResourceId, Resources,
            Shape,
        },
        testing::{pod, shape},
    };

    const CARD: CardKindId = CardKindId(0);

    /// One node with 4 cores and two cards of 16 GiB, on which one Pod of `resident` runs.
    fn one_node(resident: Shape, cards: &[u16], milli: u16) -> Ledger {
        let mut resources = Resources::default();
        let card = resources.card("example.com/card");
        let kind = CardKind { resource: card, memory_label: None, sharers: 2 };
        let mut ledger = Ledger::new(vec![kind], resources);
        let mut node = Node { name: "one".to_owned(), ..Node::default() };
        node.allocatable.set(ResourceId::CPU, 4000);
        node.allocatable.set(card, 2000);
        node.card_memory.push((CARD, 16384));
        let id = ledger.upsert_node(node);
        let taken = (!cards.is_empty()).then_some(CARD);
        let cards = CardsTaken { kind: taken, indices: cards.to_vec(), milli };
        ledger.upsert_pod(
            pod("resident").shape(resident).phase(PodPhase::Placed { node: id, cards, since: 0 }).build(),
        );
        ledger
    }

    fn share(share: CardShare, index: Option<u16>) -> Shape {
        Shape { cards: CardRequest::Share { kind: CARD, share, index }, ..Shape::default() }
    }

    fn port(address: &str, protocol: &str) -> Shape {
        Shape { host_ports: vec![(address.to_owned(), protocol.to_owned(), 80)], ..Shape::default() }
    }

    fn verdict(ledger: &Ledger, shape: &Shape) -> Option<Reason> {
        ledger.nodes().find_map(|state| judge_room(ledger, shape, state))
    }

    #[test]
    fn resources_are_compared_with_what_is_left_and_named() {
        let ledger = one_node(shape().cpu(3000).build(), &[], 0);
        assert_eq!(verdict(&ledger, &shape().cpu(1000).build()), None);
        assert_eq!(verdict(&ledger, &shape().cpu(1001).build()), Some(Reason::Resource(ResourceId::CPU)));
        assert_eq!(verdict(&ledger, &shape().memory(1).build()), Some(Reason::Resource(ResourceId::MEMORY)));
    }

    #[test]
    fn cards_are_looked_at_one_by_one() {
        let asked = |cards| Shape { cards, ..Shape::default() };
        let whole = |count| asked(CardRequest::whole(CARD, count));
        let these = |indices: &[u16]| {
            let (count, only) = (u16::try_from(indices.len()).unwrap(), CardSet::of(indices).unwrap());
            asked(CardRequest::Whole { kind: CARD, count, only })
        };
        let ledger = one_node(share(CardShare::Milli(600), None), &[0], 600);
        for (sentence, asked, want) in [
            ("one whole card is left", whole(1), None),
            ("two are not", whole(2), Some(Reason::Cards)),
            ("the one that is free may be insisted on", these(&[1]), None),
            ("the other one may not be had", these(&[0]), Some(Reason::Cards)),
            ("nor both", these(&[0, 1]), Some(Reason::Cards)),
            ("nor one that is not there", these(&[5]), Some(Reason::Cards)),
            ("a small share fits either card", share(CardShare::Milli(400), Some(0)), None),
            (
                "a larger one does not fit the card insisted on",
                share(CardShare::Milli(401), Some(0)),
                Some(Reason::Cards),
            ),
            ("but the other one", share(CardShare::Milli(401), None), None),
            ("memory becomes a share", share(CardShare::Memory(8192), Some(0)), Some(Reason::Cards)),
            ("memory of a whole card is a whole card", share(CardShare::Memory(16384), None), None),
            (
                "more memory than a card has fits nowhere",
                share(CardShare::Memory(16385), None),
                Some(Reason::Cards),
            ),
            ("a card that is not there", share(CardShare::Milli(1), Some(7)), Some(Reason::Cards)),
        ] {
            assert_eq!(verdict(&ledger, &asked), want, "{sentence}");
        }
    }

    #[test]
    fn a_card_takes_no_more_sharers_than_its_kind_allows() {
        let mut ledger = one_node(share(CardShare::Milli(100), None), &[0], 100);
        let id = ledger.nodes().next().unwrap().id;
        let cards = CardsTaken { kind: Some(CARD), indices: vec![0], milli: 100 };
        let second = pod("second").shape(share(CardShare::Milli(100), None));
        ledger.upsert_pod(second.phase(PodPhase::Placed { node: id, cards, since: 0 }).build());
        assert_eq!(verdict(&ledger, &share(CardShare::Milli(100), Some(0))), Some(Reason::Cards));
        assert_eq!(verdict(&ledger, &share(CardShare::Milli(100), Some(1))), None);
    }

    #[test]
    fn room_promised_to_pods_of_others_is_kept_from_those_of_no_higher_priority() {
        let mut ledger = one_node(shape().cpu(1000).build(), &[], 0);
        let id = ledger.nodes().next().unwrap().id;
        let coming = pod("coming").shape(shape().cpu(1000).cards(1).build()).priority(5).promised(id);
        ledger.upsert_pod(coming.build());
        let verdict = |ledger: &Ledger, priority: i32, shape: Shape| {
            let asking = pod("asking").shape(shape).priority(priority).build();
            ledger.nodes().find_map(|state| judge_promises(ledger, &asking, state))
        };
        let (little, much) = (shape().cpu(2000).cards(1).build(), shape().cpu(3000).build());
        assert_eq!(verdict(&ledger, 5, little), None, "beside it there is room");
        assert_eq!(verdict(&ledger, 4, much.clone()), Some(Reason::Promised));
        assert_eq!(verdict(&ledger, 5, much.clone()), Some(Reason::Promised));
        assert_eq!(verdict(&ledger, 6, much.clone()), None, "who is more important does not wait for it");
        assert_eq!(verdict(&ledger, 5, shape().cards(2).build()), Some(Reason::Promised), "cards, too");
        ledger.remove_pod("uid-coming");
        assert_eq!(verdict(&ledger, 5, much), None);
    }

    #[test]
    fn ports_conflict_by_protocol_and_address() {
        for (sentence, taken, asked, want) in [
            ("the same", port("10.0.0.1", "TCP"), port("10.0.0.1", "TCP"), Some(Reason::HostPort)),
            ("another address", port("10.0.0.1", "TCP"), port("10.0.0.2", "TCP"), None),
            ("another protocol", port("10.0.0.1", "TCP"), port("10.0.0.1", "UDP"), None),
            (
                "all addresses are taken",
                port("0.0.0.0", "TCP"),
                port("10.0.0.1", "TCP"),
                Some(Reason::HostPort),
            ),
            ("all addresses are asked for", port("10.0.0.1", "TCP"), port("", "TCP"), Some(Reason::HostPort)),
        ] {
            assert_eq!(verdict(&one_node(taken, &[], 0), &asked), want, "{sentence}");
        }
    }
}
