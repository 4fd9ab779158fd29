use std::{collections::BTreeSet, sync::Arc};

use proptest::prelude::*;

use super::*;
use crate::{
    model::{
        CardKind, Effect, LabelSelector, Node, Operator, PodAffinityTerm, PodPreference, PreferredTerm,
        Requirement, ResourceId, Resources, Taint, Term, Window,
    },
    testing::{node, pod, shape},
};

fn ledger() -> Ledger {
    let mut resources = Resources::default();
    let resource = resources.card("example.com/card");
    Ledger::new(vec![CardKind { resource, memory_label: None, sharers: 8 }], resources)
}

fn card_node(ledger: &Ledger, name: &str, cards: i64) -> Node {
    let mut node = node(name, &[("name", name)]);
    node.allocatable.set(ledger.kinds()[0].resource, cards * 1000);
    node
}

fn name_of(ledger: &Ledger, placed: &Result<Placement, Refusal>) -> String {
    placed.as_ref().map_or("nowhere".to_owned(), |placed| ledger.node(placed.node).unwrap().node.name.clone())
}

fn best(ledger: &Ledger, pod: &Pod, scope: &Scope) -> String {
    name_of(ledger, &Placer::default().best(ledger, pod, scope))
}

fn anywhere() -> Scope {
    Scope::default()
}

#[test]
fn a_share_goes_to_a_card_that_is_in_use() {
    let mut ledger = ledger();
    ledger.upsert_node(card_node(&ledger, "idle", 8));
    let busy = ledger.upsert_node(card_node(&ledger, "busy", 8));
    let first = ledger.upsert_pod(pod("first").shape(shape().share(400).build()).build());
    let cards = CardsTaken { kind: Some(crate::model::CardKindId(0)), indices: vec![5], milli: 400 };
    ledger.place(first, busy, cards, 0).unwrap();
    for number in 0..6 {
        let whole = shape().cpu(1000).cards(if number < 3 { 8 } else { 1 }).build();
        ledger.upsert_pod(pod(&format!("expected-{number}")).shape(whole).build());
    }
    let second = pod("second").shape(shape().share(600).build()).build();
    ledger.upsert_pod(second.clone());
    let placed = Placer::default().best(&ledger, &second, &anywhere()).unwrap();
    assert_eq!((placed.node, placed.cards.indices), (busy, vec![5]));
}

#[test]
fn cards_that_some_insist_on_are_left_to_them() {
    let mut ledger = ledger();
    ledger.upsert_node(card_node(&ledger, "wanted", 8));
    ledger.upsert_node(card_node(&ledger, "other", 8));
    let insisting = |shape: &mut Shape| {
        shape.node_selector.insert("name".to_owned(), "wanted".to_owned());
    };
    for number in 0..4 {
        let shape = shape().cards(1).with(insisting).build();
        ledger.upsert_pod(pod(&format!("insisting-{number}")).shape(shape).build());
    }
    let easy = pod("easy").shape(shape().cards(1).build()).build();
    ledger.upsert_pod(easy.clone());
    assert_eq!(best(&ledger, &easy, &anywhere()), "other");
}

#[test]
fn a_node_with_many_cards_is_filled_before_the_next() {
    let mut ledger = ledger();
    ledger.upsert_node(card_node(&ledger, "first", 56));
    ledger.upsert_node(card_node(&ledger, "second", 56));
    let mut placer = Placer::default();
    for number in 0..56 {
        let one = pod(&format!("pod-{number}")).shape(shape().cards(1).build()).build();
        let id = ledger.upsert_pod(one.clone());
        let found = placer.best(&ledger, &one, &anywhere());
        assert_eq!(name_of(&ledger, &found), "first", "Pod {number}");
        let found = found.unwrap();
        ledger.place(id, found.node, found.cards, 0).unwrap();
    }
}

#[test]
fn pods_without_cards_stay_off_card_nodes_while_others_fit() {
    let mut ledger = ledger();
    ledger.upsert_node(card_node(&ledger, "cards", 8));
    ledger.upsert_node(node("plain", &[]));
    let small = pod("small").shape(shape().cpu(64_000).build()).build();
    let id = ledger.upsert_pod(small.clone());
    assert_eq!(best(&ledger, &small, &anywhere()), "plain");
    let plain = ledger.find_node("plain").unwrap();
    ledger.place(id, plain, CardsTaken::default(), 0).unwrap();
    assert_eq!(best(&ledger, &pod("next").shape(shape().cpu(1).build()).build(), &anywhere()), "cards");
}

#[test]
fn wishes_for_nodes_count_before_packing() {
    let mut ledger = ledger();
    ledger.upsert_node(node("a", &[("disk", "slow")]));
    ledger.upsert_node(node("b", &[("disk", "fast")]));
    let term = Term {
        labels: vec![Requirement {
            key: "disk".to_owned(),
            operator: Operator::In,
            values: vec!["fast".to_owned()],
        }],
        names: Vec::new(),
    };
    let wishing = shape().cpu(1).with(|shape| shape.preferred_nodes.push(PreferredTerm { weight: 1, term }));
    let wishing = pod("wishing").shape(wishing.build()).build();
    assert_eq!(best(&ledger, &wishing, &anywhere()), "b");
    let mut disliked = node("b", &[("disk", "fast")]);
    disliked.taints.push(Taint {
        key: "old".to_owned(),
        value: String::new(),
        effect: Effect::PreferNoSchedule,
    });
    ledger.upsert_node(disliked);
    assert_eq!(best(&ledger, &wishing, &anywhere()), "a", "a node that would rather not comes last");
}

/// Pods labelled with this app, near by the label `name`, which every node has for itself.
fn near_app(app: &str) -> PodAffinityTerm {
    let requirement =
        Requirement { key: "app".to_owned(), operator: Operator::In, values: vec![app.to_owned()] };
    PodAffinityTerm {
        selector: LabelSelector(Some(vec![requirement])),
        namespaces: Some(vec!["default".to_owned()]),
        topology_key: "name".to_owned(),
    }
}

fn liking(weight: i32, app: &str) -> PodPreference {
    PodPreference { weight, term: near_app(app) }
}

#[test]
fn wishes_about_pods_choose_among_nodes_and_give_way_to_room() {
    let mut ledger = ledger();
    for name in ["a", "b", "c"] {
        ledger.upsert_node(node(name, &[("name", name)]));
    }
    let home = ledger.find_node("b").unwrap();
    ledger.upsert_pod(pod("cache").label("app", "cache").on(home).build());
    let shape_of = |weight| shape().cpu(1).with(|shape| shape.preferred_pods.push(liking(weight, "cache")));
    let wishing = |weight| pod("web").shape(shape_of(weight).build()).build();
    assert_eq!(best(&ledger, &wishing(1), &anywhere()), "b", "one that likes it goes there");
    assert_eq!(best(&ledger, &wishing(-1), &anywhere()), "a", "one that does not goes elsewhere");
    let indifferent = pod("other").label("app", "web").shape(shape().cpu(1).build()).build();
    assert_eq!(best(&ledger, &indifferent, &anywhere()), "a");
    let full = pod("full").shape(shape().cpu(64_000).build()).on(home).build();
    ledger.upsert_pod(full);
    assert_eq!(best(&ledger, &wishing(100), &anywhere()), "a", "a wish is no reason to wait");
}

#[test]
fn wishes_of_those_there_attract_and_repel() {
    let mut ledger = ledger();
    for name in ["a", "b", "c"] {
        ledger.upsert_node(node(name, &[("name", name)]));
    }
    let resident = |name: &str, weight| {
        pod(name).shape(shape().with(|shape| shape.preferred_pods.push(liking(weight, "web"))).build())
    };
    let [a, b, _] = ["a", "b", "c"].map(|name| ledger.find_node(name).unwrap());
    ledger.upsert_pod(resident("shy", -1).on(a).build());
    let coming = pod("web").label("app", "web").shape(shape().cpu(1).build()).build();
    assert_eq!(best(&ledger, &coming, &anywhere()), "b", "not where it is not liked");
    ledger.upsert_pod(resident("fan", 1).on(b).build());
    ledger.remove_pod("uid-shy");
    assert_eq!(best(&ledger, &coming, &anywhere()), "b", "where it is liked");
}

#[test]
fn wishes_of_all_kinds_are_weighed_against_each_other() {
    let mut ledger = ledger();
    let dislikes = |name: &str| {
        let mut node = node(name, &[("name", name)]);
        node.taints.push(Taint {
            key: "old".to_owned(),
            value: String::new(),
            effect: Effect::PreferNoSchedule,
        });
        node
    };
    ledger.upsert_node(dislikes("liked-and-tainted"));
    ledger.upsert_node(node("plain", &[("name", "plain")]));
    let home = ledger.find_node("liked-and-tainted").unwrap();
    ledger.upsert_pod(pod("cache").label("app", "cache").on(home).build());
    let wishing = shape().cpu(1).with(|shape| shape.preferred_pods.push(liking(100, "cache")));
    let one = pod("one").shape(wishing.build()).build();
    assert_eq!(best(&ledger, &one, &anywhere()), "plain", "a taint weighs three, Pods two");
    let term = Term {
        labels: vec![Requirement {
            key: "name".to_owned(),
            operator: Operator::In,
            values: vec!["liked-and-tainted".to_owned()],
        }],
        names: Vec::new(),
    };
    let wishing = shape().cpu(1).with(|shape| {
        shape.preferred_pods.push(liking(100, "cache"));
        shape.preferred_nodes.push(PreferredTerm { weight: 1, term });
    });
    let two = pod("two").shape(wishing.build()).build();
    assert_eq!(best(&ledger, &two, &anywhere()), "liked-and-tainted", "Pods and the node itself weigh four");
}

#[test]
fn a_refusal_counts_every_node_once() {
    let mut ledger = ledger();
    for number in 0..3 {
        ledger.upsert_node(card_node(&ledger, &format!("small-{number}"), 2));
    }
    ledger.upsert_node(Node { unschedulable: true, ..node("cordoned", &[]) });
    ledger.upsert_node(Node { lent: Some(Window { closes: None }), ..node("lent", &[]) });
    let mut tiny = node("tiny", &[]);
    tiny.allocatable.set(ResourceId::CPU, 1);
    ledger.upsert_node(tiny);
    let large = pod("large").shape(shape().cpu(2).cards(4).build()).build();
    let refusal = Placer::default().best(&ledger, &large, &anywhere()).unwrap_err();
    assert_eq!(
        refusal.sentence(&ledger),
        "of 6 nodes 3 have no cards of the size asked for left, 1 is lent, and it did not ask for lent nodes, \
         1 is cordoned, 1 has too little cpu left"
    );
}

#[test]
fn a_lent_node_takes_only_work_that_ends_before_it_closes() {
    let mut ledger = ledger();
    ledger.upsert_node(Node { lent: Some(Window { closes: Some(100) }), ..node("lent", &[]) });
    let some = pod("some").shape(shape().cpu(1).build()).build();
    let scope = |lent_nodes, ends| Scope { lent_nodes, ends, ..Scope::default() };
    assert_eq!(best(&ledger, &some, &scope(true, Some(100))), "lent");
    assert_eq!(best(&ledger, &some, &scope(true, Some(101))), "nowhere");
    assert_eq!(best(&ledger, &some, &scope(true, None)), "nowhere", "who knows how long it runs");
    assert_eq!(best(&ledger, &some, &scope(false, Some(1))), "nowhere");
    ledger.upsert_node(node("own", &[]));
    assert_eq!(best(&ledger, &some, &scope(true, Some(1))), "own", "lent nodes come last");
}

#[test]
fn a_held_node_takes_only_work_that_ends_before_it_is_wanted() {
    let mut ledger = ledger();
    let held = ledger.upsert_node(node("held", &[]));
    let some = pod("some").shape(shape().cpu(1).build()).build();
    let scope = |ends| Scope { ends, held: Arc::new([(held, 50)].into()), ..Scope::default() };
    assert_eq!(best(&ledger, &some, &scope(Some(50))), "held");
    let refusal = Placer::default().best(&ledger, &some, &scope(Some(51))).unwrap_err();
    assert_eq!(refusal.removed, [(Reason::Held, 1)].into());
}

#[test]
fn pools_limit_where_to_look() {
    let mut ledger = ledger();
    ledger.upsert_node(Node { pool: Some("theirs".to_owned()), ..node("a", &[]) });
    ledger.upsert_node(node("b", &[]));
    let some = pod("some").shape(shape().cpu(1).build()).build();
    let pools = Arc::new(BTreeSet::from(["theirs".to_owned()]));
    let scope = |pools| Scope { pools, ..Scope::default() };
    assert_eq!(best(&ledger, &some, &scope(Pools::Except(Arc::clone(&pools)))), "b");
    assert_eq!(best(&ledger, &some, &scope(Pools::Only(pools))), "a");
}

#[test]
fn a_gang_is_kept_in_the_domains_preferred() {
    let mut ledger = ledger();
    for (name, rack) in [("a", "1"), ("b", "2"), ("c", "3")] {
        ledger.upsert_node(node(name, &[("rack", rack)]));
    }
    let some = pod("some").shape(shape().cpu(32_000).build()).build();
    let near = Near { label: "rack".to_owned(), values: vec!["3".to_owned(), "2".to_owned()] };
    let scope = Scope { near: Some(near.into()), ..Scope::default() };
    let mut placer = Placer::default();
    let mut chosen = Vec::new();
    for number in 0..6 {
        let one = pod(&format!("pod-{number}")).shape((*some.shape).clone()).build();
        let id = ledger.upsert_pod(one.clone());
        let found = placer.best(&ledger, &one, &scope).unwrap();
        chosen.push(name_of(&ledger, &Ok(found.clone())));
        ledger.place(id, found.node, found.cards, 0).unwrap();
    }
    assert_eq!(chosen, ["c", "c", "b", "b", "a", "a"]);
    ledger.remove_pod("uid-pod-0");
    let rooms = placer.room_by_domain(&ledger, &some, &scope, "rack");
    assert_eq!(rooms, [("3".to_owned(), 1)].into());
}

#[test]
fn a_promised_node_is_taken_if_it_is_good() {
    let mut ledger = ledger();
    ledger.upsert_node(node("a", &[]));
    let promised = ledger.upsert_node(node("b", &[]));
    let mut some = pod("some").shape(shape().cpu(1).build()).build();
    some.nominated = Some(promised);
    assert_eq!(best(&ledger, &some, &anywhere()), "b");
    ledger.upsert_node(Node { unschedulable: true, ..node("b", &[]) });
    assert_eq!(best(&ledger, &some, &anywhere()), "a");
}

#[test]
fn pods_that_keep_apart_go_to_different_nodes() {
    let mut ledger = ledger();
    for name in ["a", "b"] {
        ledger.upsert_node(node(name, &[("host", name)]));
    }
    let term = PodAffinityTerm {
        selector: LabelSelector(Some(Vec::new())),
        namespaces: None,
        topology_key: "host".to_owned(),
    };
    let lonely = shape().cpu(1).with(|shape| shape.anti_affinity.push(term)).build();
    let mut placer = Placer::default();
    let mut chosen = Vec::new();
    for number in 0..3 {
        let one = pod(&format!("pod-{number}")).shape(lonely.clone()).build();
        let id = ledger.upsert_pod(one.clone());
        let found = placer.best(&ledger, &one, &anywhere());
        chosen.push(name_of(&ledger, &found));
        if let Ok(found) = found {
            ledger.place(id, found.node, found.cards, 0).unwrap();
        }
    }
    assert_eq!(chosen, ["a", "b", "nowhere"]);
}

/// Shapes that the property tests draw from.
fn some_shape(number: u8) -> Shape {
    let base = shape().cpu(i64::from(number % 4 + 1) * 4000);
    match number % 6 {
        0 => base,
        1 => base.cards(1),
        2 => base.cards(3),
        3 => base.share(300),
        4 => base.share(500),
        _ => base.share(700),
    }
    .build()
}

proptest! {
    /// A placer that follows changes decides as one that looks for the first time; what it decides is always accepted;
    /// it refuses only if a plain scan finds no node.
    #[test]
    fn following_equals_looking_anew(steps in proptest::collection::vec((0..30u8, any::<bool>(), 0..12u8), 1..80)) {
        let mut ledger = ledger();
        for (name, cards, rack) in [("a", 4, "1"), ("b", 2, "2"), ("c", 0, "2"), ("d", 4, "1"), ("e", 1, "3")] {
            let mut node = card_node(&ledger, name, cards);
            node.labels.insert("rack".to_owned(), rack.to_owned());
            ledger.upsert_node(node);
        }
        let near = Near { label: "rack".to_owned(), values: vec!["2".to_owned(), "1".to_owned()] };
        let near = Scope { near: Some(near.into()), ..anywhere() };
        let expected: Vec<Shape> = (0..6).map(some_shape).collect();
        let fresh = || Placer::expecting(1, expected.iter().map(|shape| (shape, 1.0)));
        let mut placer = fresh();
        for (name, remove, kind) in steps {
            let name = format!("pod-{name}");
            if remove {
                ledger.remove_pod(&format!("uid-{name}"));
                continue;
            }
            let one = pod(&name).shape(some_shape(kind)).build();
            let id = ledger.upsert_pod(one.clone());
            let one = ledger.pod(id).unwrap().pod.clone();
            let scope = if kind < 6 { &anywhere() } else { &near };
            let found = placer.best(&ledger, &one, scope);
            prop_assert_eq!(&found, &fresh().best(&ledger, &one, scope));
            match found {
                Ok(placed) if one.phase == crate::model::PodPhase::Pending => {
                    prop_assert_eq!(ledger.place(id, placed.node, placed.cards, 0), Ok(()));
                }
                Ok(_) => {}
                Err(refusal) => {
                    prop_assert!(ledger.nodes().all(|state| judge_room(&ledger, &one.shape, state).is_some()));
                    prop_assert_eq!(refusal.removed.values().sum::<usize>(), 5);
                }
            }
        }
    }
}
