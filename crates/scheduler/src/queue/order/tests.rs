use std::cmp::Reverse;

use crate::{
    model::{Account, Amounts, ResourceId},
    queue::{Excess, Limit, Payer},
};

use super::*;

fn cpu(amount: i64) -> Amounts {
    let mut all = Amounts::default();
    all.set(ResourceId::CPU, amount);
    all
}

fn setup(accounts: &[(&str, Option<&str>, i64)]) -> Tree {
    let mut tree = Tree::default();
    for (name, parent, deserved) in accounts {
        tree.upsert(Account {
            name: (*name).to_owned(),
            parent: parent.map(str::to_owned),
            deserved: cpu(*deserved),
            weight: 1,
            ..Account::default()
        });
    }
    tree.set_total(cpu(100));
    tree.settle();
    tree
}

fn key(tree: &mut Tree, account: &str, class: u32) -> LaneKey {
    let (seat, user, space) = (tree.seat(account), tree.user(""), tree.space(""));
    let payer = Payer { seat, user, space, level: ServiceLevel::Guaranteed };
    LaneKey { payer, class }
}

fn rank(group: u32, priority: i32, created: i64) -> Rank {
    let deadline = i64::MAX;
    Rank { begun: Reverse(false), priority: Reverse(priority), deadline, created, group: GroupId(group) }
}

fn next(order: &Order, tree: &Tree) -> Option<u32> {
    order.next(tree, ServiceLevel::Guaranteed).map(|(_, rank)| rank.group.0)
}

/// Takes groups in their turn, charging ten for each.
fn drain(order: &mut Order, tree: &mut Tree) -> Vec<u32> {
    let mut all = Vec::new();
    while let Some((lane, rank)) = order.next(tree, ServiceLevel::Guaranteed) {
        let payer = order.key(lane).unwrap().payer;
        order.remove(tree, rank.group);
        tree.charge(payer, &cpu(10));
        order.shares_changed(tree, payer.seat);
        all.push(rank.group.0);
    }
    all
}

#[test]
fn accounts_take_turns_by_share_and_groups_by_priority_and_age() {
    let mut tree = setup(&[("a", None, 60), ("b", None, 20)]);
    let mut order = Order::default();
    let (a, b) = (key(&mut tree, "a", 0), key(&mut tree, "b", 0));
    for (group, priority, created) in [(1, 0, 5), (2, 0, 1), (3, 7, 9), (4, 0, 7)] {
        order.insert(&tree, a, rank(group, priority, created));
    }
    for (group, created) in [(11, 1), (12, 2)] {
        order.insert(&tree, b, rank(group, 0, created));
    }
    // a: 0, b: 0, a: 1/6, 2/6, then both have a half.
    assert_eq!(drain(&mut order, &mut tree), [3, 11, 2, 1, 4, 12]);
    assert_eq!(order.waiting(), 0);
}

#[test]
fn a_subtree_has_one_turn_and_divides_it() {
    let mut tree = setup(&[("a", None, 40), ("b", None, 40), ("x", Some("a"), 20), ("y", Some("a"), 20)]);
    let mut order = Order::default();
    for (account, first) in [("x", 1), ("y", 4), ("b", 7)] {
        let key = key(&mut tree, account, 0);
        for group in first..first + 3 {
            order.insert(&tree, key, rank(group, 0, i64::from(group)));
        }
    }
    assert_eq!(drain(&mut order, &mut tree), [1, 7, 4, 8, 2, 9, 5, 3, 6]);
}

#[test]
fn a_blocked_lane_is_passed_over_until_its_reason_goes() {
    let mut tree = setup(&[("a", None, 50)]);
    let mut order = Order::default();
    let (large, small) = (key(&mut tree, "a", 0), key(&mut tree, "a", 1));
    order.insert(&tree, large, rank(1, 5, 0));
    order.insert(&tree, large, rank(2, 5, 1));
    order.insert(&tree, small, rank(3, 0, 2));
    let (lane, _) = order.next(&tree, ServiceLevel::Guaranteed).unwrap();
    order.block(&tree, lane, Blocked::Room);
    assert_eq!(next(&order, &tree), Some(3));
    order.more_room(&tree);
    assert_eq!(next(&order, &tree), Some(1));

    order.block(&tree, lane, Blocked::Never);
    order.more_room(&tree);
    assert_eq!(next(&order, &tree), Some(3), "more room does not help those that fit nowhere");
    order.other_nodes(&tree);
    assert_eq!(next(&order, &tree), Some(1));

    let excess = Excess { resource: ResourceId::CPU, used: 0, asked: 0, cap: 0 };
    order.block(&tree, lane, Blocked::Limit(Limit::Capability { account: large.payer.seat, excess }));
    order.other_nodes(&tree);
    assert_eq!(next(&order, &tree), Some(3));
    order.less_used(&tree, large.payer.seat);
    assert_eq!(next(&order, &tree), Some(1));
}

#[test]
fn a_group_that_leaves_a_blocked_lane_leaves_nothing_behind() {
    let mut tree = setup(&[("a", None, 50)]);
    let mut order = Order::default();
    let lane_key = key(&mut tree, "a", 0);
    order.insert(&tree, lane_key, rank(1, 0, 0));
    let (lane, _) = order.next(&tree, ServiceLevel::Guaranteed).unwrap();
    order.block(&tree, lane, Blocked::Room);
    order.remove(&tree, GroupId(1));
    order.insert(&tree, lane_key, rank(2, 0, 0));
    assert_eq!(next(&order, &tree), Some(2), "the new one has not been asked yet");
    order.more_room(&tree);
    assert_eq!(drain(&mut order, &mut tree), [2]);
}
