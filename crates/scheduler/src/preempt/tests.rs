//! Small cases by hand, and every small case against trying all sets.

use proptest::prelude::*;

use super::*;
use crate::model::{Amounts, CardKindId, CardRequest, CardSet, CardsTaken, NodeId, PodId, ResourceId};

const KIND: CardKindId = CardKindId(0);

fn cpu(amount: i64) -> Amounts {
    let mut all = Amounts::default();
    all.set(ResourceId::CPU, amount);
    all
}

fn claim(cards: u16) -> Claim {
    Claim { requests: cpu(1), cards: CardRequest::whole(KIND, cards), sharers: 10, one_per_node: false }
}

/// A board of full nodes: each list is the sizes (in cards) of the Pods on one node, with the gang each is of.
fn board(each: u16, nodes: &[Vec<(u16, usize)>]) -> Board {
    let mut board = Board { claim: claim(each), ..Board::default() };
    let mut gangs: std::collections::BTreeMap<usize, Unit> = std::collections::BTreeMap::new();
    for (spot, pods) in nodes.iter().enumerate() {
        let mut taken = Vec::new();
        for (size, gang) in pods {
            let from = u16::try_from(taken.len()).unwrap();
            taken.extend(std::iter::repeat_n(1000, usize::from(*size)));
            let pod = PodId(u32::try_from(spot * 100 + taken.len()).unwrap());
            let cards = CardsTaken { kind: Some(KIND), indices: (from..from + size).collect(), milli: 1000 };
            let cost = Cost { cards: u64::from(*size) * 1000, pods: 1, untold: 1, age: u64::from(pod.0) };
            let victim = Victim { pod, requests: cpu(1), cards, cost, in_the_way: false };
            if *gang == 0 {
                board.units.push(Unit { victims: vec![(spot, victim)], ..Unit::default() });
            } else {
                gangs.entry(*gang).or_default().victims.push((spot, victim));
            }
        }
        let room = Room::with_cards(cpu(2), KIND, &taken);
        board.spots.push(Spot { node: NodeId(u32::try_from(spot).unwrap()), room, in_the_way: 0 });
    }
    board.units.extend(gangs.into_values());
    board
}

fn alone(sizes: &[u16]) -> Vec<(u16, usize)> {
    sizes.iter().map(|size| (*size, 0)).collect()
}

#[test]
fn the_node_with_the_closest_match_gives_way() {
    let board = board(3, &[alone(&[2, 2]), alone(&[4]), alone(&[3, 1])]);
    let plan = choose(&board, 1, 1).unwrap();
    assert_eq!(plan.cost.cards, 3000);
    assert_eq!(plan.places, [(NodeId(2), 1)]);
}

#[test]
fn who_is_in_the_way_goes_and_where_one_stays_nobody_comes() {
    // There is room on each node; on the first somebody is in the way who may be asked, on the second one who may not.
    let mut board = board(1, &[alone(&[1]), alone(&[1])]);
    for (spot, (cards, in_the_way)) in board.spots.iter_mut().zip([(&[1000, 0], 1), (&[1000, 0], 2)]) {
        spot.room = Room::with_cards(cpu(2), KIND, cards);
        spot.in_the_way = in_the_way;
    }
    board.units.iter_mut().for_each(|unit| unit.victims[0].1.in_the_way = true);
    let plan = choose(&board, 1, 2).unwrap();
    assert_eq!((plan.units.as_slice(), plan.places.as_slice()), (&[0][..], &[(NodeId(0), 2)][..]));
    board.claim.one_per_node = true;
    assert_eq!(choose(&board, 1, 2).unwrap().placed(), 1);
}

#[test]
fn a_gang_counts_whole() {
    // One card is wanted: the gang's Pods have one each, but all four would go.
    let nodes = [vec![(1, 1), (1, 1)], vec![(1, 1), (1, 1)], alone(&[2])];
    let plan = choose(&board(1, &nodes), 1, 1).unwrap();
    assert_eq!(plan.cost.cards, 2000);
    assert_eq!(plan.places, [(NodeId(2), 1)]);
    // Where four are wanted, the gang is just right.
    let plan = choose(&board(1, &nodes), 4, 4).unwrap();
    assert_eq!(plan.cost.cards, 4000);
}

#[test]
fn all_of_a_gang_or_nobody_goes() {
    let board = board(2, &[alone(&[2]), alone(&[1])]);
    assert_eq!(choose(&board, 2, 2), None);
    assert_eq!(choose(&board, 1, 2).unwrap().placed(), 1);
}

#[test]
fn shared_cards_are_emptied_or_partly_emptied() {
    let share = |milli: u16, pod: u32, card: u16| {
        let cards = CardsTaken { kind: Some(KIND), indices: vec![card], milli };
        let cost = Cost { cards: u64::from(milli), pods: 1, untold: 1, age: 0 };
        Unit {
            victims: vec![(0, Victim { pod: PodId(pod), requests: cpu(0), cards, cost, in_the_way: false })],
            ..Unit::default()
        }
    };
    let units = vec![share(600, 1, 0), share(400, 2, 0), share(300, 3, 1)];
    let room = Room::with_cards(cpu(9), KIND, &[1000, 300]);
    let spots = vec![Spot { node: NodeId(0), room, in_the_way: 0 }];
    let whole = Board { claim: claim(1), spots: spots.clone(), units: units.clone() };
    assert_eq!(choose(&whole, 1, 1).unwrap().units, [2]);
    let whole = Board { claim: claim(2), ..whole };
    assert_eq!(choose(&whole, 1, 1).unwrap().units, [0, 1, 2]);
}

#[test]
fn only_who_holds_the_cards_that_are_insisted_on_goes() {
    let mut board = board(1, &[alone(&[1, 1, 2])]);
    board.claim.cards = CardRequest::Whole { kind: KIND, count: 1, only: CardSet::of(&[1]).unwrap() };
    let plan = choose(&board, 1, 1).unwrap();
    assert_eq!(plan.units, [1]);
    board.claim.cards = CardRequest::Whole { kind: KIND, count: 1, only: CardSet::of(&[9]).unwrap() };
    assert_eq!(choose(&board, 1, 1), None, "nobody goes for a card that is not there");
}

#[test]
fn what_is_short_besides_cards_counts_too() {
    // The Pod with one card frees the card, but not the processor time.
    let mut board = board(1, &[alone(&[1, 2])]);
    board.claim.requests = cpu(8);
    board.units[1].victims[0].1.requests = cpu(8);
    let plan = choose(&board, 1, 1).unwrap();
    assert_eq!(plan.units, [1]);
}

/// The least cost of all sets of units that make room for `most`, or as many as possible.
fn brute(board: &Board, most: u32) -> Option<(u32, u64)> {
    let tried = (0u32..1 << board.units.len()).map(|set| {
        let mut rooms: Vec<Room> = board.spots.iter().map(|spot| spot.room.clone()).collect();
        let mut cost = Cost::default();
        for (_, unit) in board.units.iter().enumerate().filter(|(index, _)| set >> index & 1 == 1) {
            cost = cost.plus(unit.cost());
            for (spot, victim) in &unit.victims {
                rooms[*spot].give_back(&victim.requests, &victim.cards);
            }
        }
        let placed: u32 = rooms.iter().map(|room| room.fits(&board.claim)).sum();
        (placed.min(most), cost.cards)
    });
    tried.max_by_key(|(placed, cards)| (*placed, std::cmp::Reverse(*cards))).filter(|(placed, _)| *placed > 0)
}

/// That the plan does what it says, and no unit of it could have stayed.
fn holds(board: &Board, plan: &Plan) -> bool {
    let placed = |units: &[usize]| -> u32 {
        let mut rooms: Vec<Room> = board.spots.iter().map(|spot| spot.room.clone()).collect();
        for (spot, victim) in units.iter().flat_map(|unit| &board.units[*unit].victims) {
            rooms[*spot].give_back(&victim.requests, &victim.cards);
        }
        rooms.iter().map(|room| room.fits(&board.claim)).sum()
    };
    let needless = (0..plan.units.len()).any(|left_out| {
        let mut others = plan.units.clone();
        others.remove(left_out);
        placed(&others) >= plan.placed()
    });
    placed(&plan.units) >= plan.placed() && !needless
}

proptest! {
    #[test]
    fn nobody_finds_fewer_cards(
        nodes in prop::collection::vec(prop::collection::vec(1u16..5, 0..4), 1..4),
        each in 1u16..5,
        most in 1u32..5,
    ) {
        let nodes: Vec<_> = nodes.iter().map(|sizes| alone(sizes)).collect();
        let board = board(each, &nodes);
        let plan = choose(&board, 1, most);
        prop_assert_eq!(plan.as_ref().map(|plan| (plan.placed(), plan.cost.cards)), brute(&board, most));
        prop_assert!(plan.is_none_or(|plan| holds(&board, &plan)));
    }

    #[test]
    fn with_gangs_nobody_goes_in_vain(
        nodes in prop::collection::vec(prop::collection::vec((1u16..4, 0usize..3), 0..4), 1..4),
        each in 1u16..4,
        most in 1u32..4,
    ) {
        let board = board(each, &nodes);
        let plan = choose(&board, 1, most);
        let brute = brute(&board, most);
        prop_assert_eq!(plan.as_ref().map(Plan::placed), brute.map(|(placed, _)| placed));
        prop_assert!(plan.is_none_or(|plan| holds(&board, &plan)));
    }
}
