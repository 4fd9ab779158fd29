//! Random histories against a recount from nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proptest::prelude::*;

use super::*;
use crate::model::{
    Account, CardShare, Group, GroupId, Node, NodeId, Pod, PodId, PodPhase, ResourceId, ServiceLevel,
};

const CARD: CardKindId = CardKindId(0);
const SHARERS: u16 = 3;

#[derive(Debug, Clone)]
enum Op {
    Node { node: u8, cards: u8, cpu: i64, withheld: Option<u16> },
    RemoveNode(u8),
    Group { group: u8, account: u8, user: u8, best_effort: bool },
    RemoveGroup(u8),
    Account { account: u8, parent: Option<u8> },
    RemoveAccount(u8),
    Pod { pod: u8, view: View, shape: u8, ours: bool },
    RemovePod(u8),
    Place { pod: u8, node: u8, cards: BTreeSet<u16> },
    Unplace(u8),
    Trial(u8),
}

#[derive(Debug, Clone)]
enum View {
    Pending,
    Gated,
    Placed { node: u8, cards: Option<BTreeSet<u16>> },
    Ended,
    Failed,
}

fn cards() -> impl Strategy<Value = BTreeSet<u16>> {
    proptest::collection::btree_set(0..5u16, 0..3)
}

fn view(facts: bool) -> BoxedStrategy<View> {
    let waits = prop_oneof![4 => Just(View::Pending), 1 => Just(View::Gated), 1 => Just(View::Ended), 1 => Just(View::Failed)];
    if !facts {
        return waits.boxed();
    }
    let placed =
        (0..4u8, proptest::option::of(cards())).prop_map(|(node, cards)| View::Placed { node, cards });
    prop_oneof![2 => waits, 1 => placed].boxed()
}

fn op(facts: bool) -> impl Strategy<Value = Op> {
    let node = (0..4u8, 0..5u8, 0..9i64, proptest::option::of(0..4u16))
        .prop_map(|(node, cards, cpu, withheld)| Op::Node { node, cards, cpu, withheld });
    let group = (0..3u8, 0..4u8, 0..2u8, any::<bool>())
        .prop_map(|(group, account, user, best_effort)| Op::Group { group, account, user, best_effort });
    let pod = (0..12u8, view(facts), 0..5u8, any::<bool>()).prop_map(move |(pod, view, shape, ours)| {
        // What a Pod asks for does not change once it has a place; only hostile views say so.
        let shape = if facts { shape } else { pod % 5 };
        Op::Pod { pod, view, shape, ours: ours || !facts }
    });
    prop_oneof![
        3 => node,
        1 => (0..4u8).prop_map(Op::RemoveNode),
        2 => group,
        1 => (0..3u8).prop_map(Op::RemoveGroup),
        2 => (0..4u8, proptest::option::of(0..4u8)).prop_map(|(account, parent)| Op::Account { account, parent }),
        1 => (0..4u8).prop_map(Op::RemoveAccount),
        6 => pod,
        2 => (0..12u8).prop_map(Op::RemovePod),
        9 => (0..12u8, 0..4u8, cards()).prop_map(|(pod, node, cards)| Op::Place { pod, node, cards }),
        2 => (0..12u8).prop_map(Op::Unplace),
        1 => (0..12u8).prop_map(Op::Trial),
    ]
}

fn ledger() -> Ledger {
    let mut resources = Resources::default();
    let resource = resources.card("example.com/card");
    Ledger::new(vec![CardKind { resource, memory_label: None, sharers: SHARERS }], resources)
}

fn shape(number: u8) -> Arc<Shape> {
    let mut shape = Shape::default();
    shape.requests.set(ResourceId::CPU, i64::from(number) % 3 + 1);
    shape.cards = match number {
        0 => CardRequest::None,
        1 => CardRequest::whole(CARD, 1),
        2 => CardRequest::whole(CARD, 2),
        3 => CardRequest::Share { kind: CARD, share: CardShare::Milli(300), index: None },
        _ => CardRequest::Share { kind: CARD, share: CardShare::Memory(4), index: Some(1) },
    };
    Arc::new(shape)
}

fn taken(shape: &Shape, indices: &BTreeSet<u16>) -> CardsTaken {
    let Some(kind) = shape.cards.kind() else { return CardsTaken::default() };
    let milli = shape.cards.milli(Some(10)).unwrap();
    CardsTaken { kind: Some(kind), indices: indices.iter().copied().collect(), milli }
}

fn account(name: String, parent: Option<String>) -> Account {
    Account { name, parent, ..Account::default() }
}

fn group(number: u8, account: u8, user: u8, level: ServiceLevel) -> Group {
    Group {
        name: format!("group-{number}"),
        account: format!("account-{account}"),
        user: format!("user-{user}"),
        level,
        minimum: 1,
        ..Group::default()
    }
}

fn node(ledger: &Ledger, number: u8, cards: u8, cpu: i64, withheld: Option<u16>) -> Node {
    let mut node = Node { name: format!("node-{number}"), ..Node::default() };
    node.allocatable.set(ResourceId::CPU, cpu);
    node.allocatable.set(ledger.kinds()[0].resource, i64::from(cards) * 1000);
    node.card_memory.push((CARD, 10));
    node.withheld_cards = withheld.map(|index| (CARD, index)).into_iter().collect();
    node
}

fn pod(ledger: &mut Ledger, number: u8, view: &View, shape_number: u8, ours: bool) -> Pod {
    let shape = shape(shape_number);
    let group_name = format!("group-{}", number % 3);
    let group = ledger
        .find_group(&group_name)
        .unwrap_or_else(|| ledger.upsert_group(group(number % 3, number % 4, 0, ServiceLevel::Guaranteed)));
    let phase = match view {
        View::Pending => PodPhase::Pending,
        View::Gated => PodPhase::Gated,
        View::Ended => PodPhase::Ended,
        View::Failed => PodPhase::Failed,
        View::Placed { node, cards } => PodPhase::Placed {
            node: ledger.node_id(&format!("node-{node}")),
            cards: cards.as_ref().map(|indices| taken(&shape, indices)).unwrap_or_default(),
            since: 5,
        },
    };
    Pod {
        namespace: "default".into(),
        name: format!("pod-{number}").into(),
        uid: format!("uid-{number}").into(),
        labels: Arc::default(),
        shape,
        volumes: Arc::default(),
        group,
        task: format!("task-{}", number % 2).into(),
        priority: 0,
        created: 0,
        terminating: false,
        ours,
        phase,
        nominated: None,
    }
}

fn run(ledger: &mut Ledger, op: &Op) {
    let find = |ledger: &Ledger, pod: u8| ledger.find_pod(&format!("uid-{pod}")).unwrap_or(PodId(u32::MAX));
    match op {
        Op::Node { node: number, cards, cpu, withheld } => {
            let node = node(ledger, *number, *cards, *cpu, *withheld);
            ledger.upsert_node(node);
        }
        Op::RemoveNode(node) => ledger.remove_node(&format!("node-{node}")),
        Op::Group { group: number, account, user, best_effort } => {
            let level = if *best_effort { ServiceLevel::BestEffort } else { ServiceLevel::Guaranteed };
            ledger.upsert_group(group(*number, *account, *user, level));
        }
        Op::RemoveGroup(group) => ledger.remove_group(&format!("group-{group}")),
        Op::Account { account: name, parent } => {
            let parent = parent.map(|parent| format!("account-{parent}"));
            ledger.upsert_account(account(format!("account-{name}"), parent));
        }
        Op::RemoveAccount(account) => ledger.remove_account(&format!("account-{account}")),
        Op::Pod { pod: number, view, shape, ours } => {
            let before = ledger.pod(find(ledger, *number)).map(|state| state.pod.phase.clone());
            let pod = pod(ledger, *number, view, *shape, *ours);
            let id = ledger.upsert_pod(pod);
            let after = &ledger.pod(id).unwrap().pod.phase;
            match (before, view) {
                (Some(over @ (PodPhase::Ended | PodPhase::Failed)), _) => assert_eq!(*after, over),
                (Some(PodPhase::Placed { node, .. }), View::Pending | View::Gated) => {
                    assert!(matches!(after, PodPhase::Placed { node: still, .. } if *still == node));
                }
                _ => {}
            }
        }
        Op::RemovePod(pod) => ledger.remove_pod(&format!("uid-{pod}")),
        Op::Place { pod, node, cards } => place(ledger, find(ledger, *pod), *node, cards),
        Op::Unplace(pod) => {
            ledger.unplace(find(ledger, *pod));
        }
        Op::Trial(pod) => {
            if let Some(lifted) = ledger.lift(find(ledger, *pod)) {
                check(ledger);
                ledger.put_back(lifted);
            }
        }
    }
}

/// Places a Pod, on as many of the cards named as it asks for; what is given must have been free before.
fn place(ledger: &mut Ledger, pod: PodId, node: u8, cards: &BTreeSet<u16>) {
    let Some(state) = ledger.pod(pod) else { return };
    let shape = Arc::clone(&state.pod.shape);
    let node = ledger.node_id(&format!("node-{node}"));
    if ledger.place(pod, node, taken(&shape, cards), 7).is_ok() {
        let state = ledger.node(node).unwrap();
        assert!(state.used.get(ResourceId::CPU) <= state.node.allocatable.get(ResourceId::CPU));
        for index in cards.iter().filter(|_| shape.cards.kind().is_some()) {
            let card = state.cards.of_kind(CARD)[usize::from(*index)];
            assert!(card.taken <= 1000 && card.sharers <= SHARERS && !card.withheld, "{card:?}");
        }
    }
}

/// Counts everything again from the Pods and compares.
fn check(ledger: &Ledger) {
    let mut used: BTreeMap<NodeId, Amounts> = BTreeMap::new();
    let mut cards: BTreeMap<(NodeId, u16), (u32, u16)> = BTreeMap::new();
    let mut by_account: BTreeMap<String, Amounts> = BTreeMap::new();
    let mut by_user: BTreeMap<(String, String), Amounts> = BTreeMap::new();
    let mut pending: BTreeMap<GroupId, BTreeSet<PodId>> = BTreeMap::new();
    for (id, state) in ledger.pods() {
        let group = ledger.group(state.pod.group);
        if state.pod.phase == PodPhase::Pending && group.is_some() {
            pending.entry(state.pod.group).or_default().insert(id);
        }
        let PodPhase::Placed { node, cards: held, .. } = &state.pod.phase else { continue };
        let amounts = ledger.amounts(&state.pod.shape, held);
        *used.entry(*node).or_default() += &amounts;
        for index in &held.indices {
            let card = cards.entry((*node, *index)).or_default();
            card.0 += u32::from(held.milli);
            card.1 += 1;
        }
        if let Some(group) = group {
            for account in &ledger.account(group.account).unwrap().chain {
                *by_account.entry(ledger.account(*account).unwrap().name.clone()).or_default() += &amounts;
            }
            let key = (group.group.account.clone(), group.group.user.clone());
            *by_user.entry(key).or_default() += &amounts;
        }
    }
    for (node, amounts) in &used {
        assert_eq!(ledger.node(*node).expect("kept while it has Pods").used, *amounts);
    }
    for state in ledger.nodes() {
        assert_eq!(state.used, used.get(&state.id).cloned().unwrap_or_default(), "{}", state.node.name);
        for (index, card) in (0..).zip(state.cards.of_kind(CARD)) {
            let counted = cards.get(&(state.id, index)).copied().unwrap_or_default();
            assert_eq!((card.taken, card.sharers), counted, "{} card {index}", state.node.name);
        }
    }
    for state in ledger.accounts() {
        assert_eq!(
            state.usage.total(),
            by_account.get(&state.name).cloned().unwrap_or_default(),
            "{}",
            state.name
        );
        for (user, usage) in &state.users {
            assert_eq!(usage.total(), by_user[&(state.name.clone(), user.clone())]);
        }
    }
    let listed: BTreeMap<_, _> =
        ledger.groups_pending().map(|group| (group.id, group.pending.clone())).collect();
    assert_eq!(listed, pending);
}

/// The totals of pools are the sums over nodes.
fn check_pools(ledger: &Ledger) {
    let mut total = Amounts::default();
    for node in ledger.nodes() {
        total += &node.usable(ledger.kinds());
    }
    assert_eq!(ledger.total(), total);
}

proptest! {
    #[test]
    fn counts_equal_a_recount_after_any_history(ops in proptest::collection::vec(op(true), 1..120)) {
        let mut ledger = ledger();
        for op in &ops {
            let before = ledger.clone();
            run(&mut ledger, op);
            check(&ledger);
            check_pools(&ledger);
            let changed: BTreeSet<NodeId> = ledger.changed_since(before.generation()).unwrap().collect();
            for state in before.nodes().filter(|state| !changed.contains(&state.id)) {
                let now = ledger.node(state.id).expect("a node does not go unnoticed");
                assert_eq!((&state.used, &state.cards, &state.pods), (&now.used, &now.cards, &now.pods));
                assert_eq!(state.generation, now.generation);
            }
        }
    }

    #[test]
    fn no_card_is_handed_out_twice(ops in proptest::collection::vec(op(false), 1..150)) {
        let mut ledger = ledger();
        for op in &ops {
            run(&mut ledger, op);
            for state in ledger.nodes() {
                for card in state.cards.of_kind(CARD) {
                    assert!(card.taken <= 1000 && card.sharers <= SHARERS, "{card:?}");
                }
            }
        }
    }
}

#[test]
fn a_pod_seen_before_its_node_gets_its_cards_when_the_node_comes() {
    let mut ledger = ledger();
    let early = pod(&mut ledger, 0, &View::Placed { node: 0, cards: None }, 2, true);
    let id = ledger.upsert_pod(early);
    let node = node(&ledger, 0, 4, 8, None);
    ledger.upsert_node(node);
    let PodPhase::Placed { cards, .. } = &ledger.pod(id).unwrap().pod.phase else { panic!("has a place") };
    assert_eq!(cards.indices, [0, 1]);
    check(&ledger);
}

#[test]
fn seeing_a_bind_confirmed_changes_no_node() {
    let mut ledger = ledger();
    let node = node(&ledger, 0, 4, 8, None);
    let node = ledger.upsert_node(node);
    let waiting = pod(&mut ledger, 0, &View::Pending, 1, true);
    let id = ledger.upsert_pod(waiting);
    ledger.place(id, node, taken(&shape(1), &BTreeSet::from([3])), 0).unwrap();
    let generation = ledger.generation();
    let bound = pod(&mut ledger, 0, &View::Placed { node: 0, cards: None }, 1, true);
    ledger.upsert_pod(bound);
    assert_eq!(ledger.generation(), generation);
    assert!(!ledger.unplace(id), "a bind that was seen is not taken back");
}

#[test]
fn a_follower_that_is_too_far_behind_is_told_so() {
    let mut ledger = ledger();
    for round in 0..2000 {
        let node = node(&ledger, 0, 4, round, None);
        ledger.upsert_node(node);
    }
    assert!(ledger.changed_since(0).is_none());
    assert_eq!(ledger.changed_since(ledger.generation() - 3).unwrap().count(), 3);
}

#[test]
fn shares_by_memory_are_foreseen_on_the_smallest_card() {
    let mut ledger = ledger();
    for (name, memory) in [(0, 10), (1, 40)] {
        let mut node = node(&ledger, name, 1, 8, None);
        node.card_memory = vec![(CARD, memory)];
        ledger.upsert_node(node);
    }
    assert_eq!(ledger.demand(&shape(4)).get(ledger.kinds()[0].resource), 400);
}
