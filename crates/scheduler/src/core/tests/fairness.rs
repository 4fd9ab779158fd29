use proptest::prelude::*;

use super::world::{World, job, world};
use crate::{
    core::Config,
    model::{Account, Member, PodPhase, ServiceLevel},
};

#[test]
fn saturated_accounts_have_what_they_deserve() {
    let mut world = world().nodes(2, 8);
    world.account("a", None, 12);
    world.account("b", None, 4);
    for number in 0..20 {
        world.submit(&job(&format!("a{number}"), "a", 1, 1));
        world.submit(&job(&format!("b{number}"), "b", 1, 1));
    }
    world.pass();
    assert_eq!((world.used("a"), world.used("b")), (12, 4));
}

#[test]
fn an_account_borrows_what_is_free_and_no_more_than_it_may() {
    let mut world = world().nodes(2, 8);
    let capped = Account { capability: vec![(world.gpu, 10_000)], ..world.plain("a", None, 4) };
    world.core.upsert_account(capped);
    for number in 0..20 {
        world.submit(&job(&format!("a{number}"), "a", 1, 1));
    }
    world.pass();
    assert_eq!(world.used("a"), 10);
}

#[test]
fn a_member_does_not_exceed_its_cap() {
    let mut world = world().nodes(1, 8);
    let member = Member { user: "ann".to_owned(), capability: vec![(world.gpu, 2000)] };
    let account = Account { members: vec![member], ..world.plain("a", None, 8) };
    world.core.upsert_account(account);
    for number in 0..4 {
        world.submit(&job(&format!("ann{number}"), "a", 1, 1));
        world.submit(&job(&format!("bob{number}"), "a", 1, 1).with(|group| group.user = "bob".to_owned()));
    }
    world.pass();
    assert_eq!(world.used("a"), 6);
    let ann = world.core.ledger().find_group("ann0").unwrap();
    world.end_group(ann);
    world.pass();
    assert_eq!(world.used("a"), 6, "another one of hers follows");
}

#[test]
fn guaranteed_cards_stay_free_for_their_account() {
    let mut world = world().nodes(1, 8);
    let sure = Account { guaranteed: world.cards(3), ..world.plain("sure", None, 0) };
    world.core.upsert_account(sure);
    world.account("other", None, 8);
    for number in 0..10 {
        world.submit(&job(&format!("other{number}"), "other", 1, 1));
        world.submit(&job(&format!("scrap{number}"), "other", 1, 1).best_effort());
    }
    world.pass();
    assert_eq!(world.used("other"), 5);
    world.submit(&job("mine", "sure", 1, 3));
    world.pass();
    assert_eq!(world.used("sure"), 3);
}

#[test]
fn work_without_an_account_runs_on_the_default_one_and_work_on_a_missing_one_waits() {
    let mut world = world().nodes(1, 8);
    let default = world.submit(&job("plain", "", 1, 1));
    let ghost = world.submit(&job("ghost", "nobody", 1, 1));
    world.pass();
    assert_eq!((world.placed(default), world.placed(ghost)), (1, 0));
    world.account("nobody", None, 0);
    world.pass();
    assert_eq!(world.placed(ghost), 1);
}

#[test]
fn owned_pools_are_for_their_owner() {
    let mut world = world();
    let id = world.node("own", 8, &[]);
    let mut node = world.core.ledger().node(id).unwrap().node.clone();
    node.pool = Some("lab".to_owned());
    world.core.upsert_node(node);
    let owner = Account { owned_pools: vec!["lab".to_owned()], ..world.plain("owner", None, 0) };
    world.core.upsert_account(owner);
    world.account("child", Some("owner"), 0);
    world.account("other", None, 8);
    let other = world.submit(&job("other", "other", 1, 1));
    let child = world.submit(&job("child", "child", 1, 1));
    world.pass();
    assert_eq!((world.placed(other), world.placed(child)), (0, 1));
}

#[test]
fn what_cannot_start_is_not_asked_again_in_vain() {
    let mut world = world().nodes(1, 8);
    for number in 0..300 {
        world.submit(&job(&format!("huge{number}"), "", 1, 16));
        world.submit(&job(&format!("one{number}"), "", 1, 1));
    }
    world.pass();
    assert_eq!(world.used_by_all(), 8);
    let asked = world.core.asked();
    assert!(asked < 8 + 5, "two lanes are asked, not 600 groups: {asked}");
    world.pass();
    assert_eq!(world.core.asked(), asked, "nothing has changed");
    let first = *world.pods.keys().nth(1).unwrap();
    world.end(first);
    world.pass();
    assert_eq!(world.used_by_all(), 8);
    assert!(world.core.asked() <= asked + 3);
}

/// Three levels of accounts: what each account at the bottom deserves, by its parent and grandparent.
type Parts = Vec<Vec<Vec<i64>>>;

fn parts() -> impl Strategy<Value = Parts> {
    prop::collection::vec(prop::collection::vec(prop::collection::vec(1i64..5, 1..4), 1..3), 1..4)
}

/// Accounts of three levels on a node with as many cards as they deserve together, and the names of those at the bottom.
fn three_levels(parts: &Parts) -> (World, Vec<(String, i64)>) {
    let total = parts.iter().flatten().flatten().sum();
    let mut world = world().nodes(1, total);
    let mut leaves = Vec::new();
    for (top, below) in parts.iter().enumerate() {
        world.account(&format!("t{top}"), None, below.iter().flatten().sum());
        for (middle, below) in below.iter().enumerate() {
            let name = format!("t{top}m{middle}");
            world.account(&name, Some(&format!("t{top}")), below.iter().sum());
            for (leaf, part) in below.iter().enumerate() {
                let leaf = format!("{name}l{leaf}");
                world.account(&leaf, Some(&name), *part);
                leaves.push((leaf, *part));
            }
        }
    }
    (world, leaves)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Down a tree of three levels: those at the bottom come in any order, the first takes everything, and in the end
    /// each has its part, whether work ends by itself or has to make way.
    #[test]
    fn shares_converge_down_the_tree(
        parts in parts(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 27),
        ends in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        let (mut world, mut leaves) = three_levels(&parts);
        for index in order {
            let leaf = leaves.remove(index.index(leaves.len()));
            leaves.push(leaf);
        }
        for (leaf, _) in &leaves {
            for number in 0..100 {
                world.submit(&job(&format!("{leaf}-{number}"), leaf, 1, 1));
            }
            world.core.set_config(Config { preemption: false, ..Config::default() });
            world.pass();
        }
        for end in ends {
            let running: Vec<_> = world.pods.iter().filter(|(_, pod)| matches!(pod.phase, PodPhase::Placed { .. })).map(|(id, _)| *id).collect();
            world.end(*end.get(&running));
            world.pass();
        }
        world.core.set_config(Config::default());
        for _ in 0..leaves.len() {
            world.pass();
            world.evicted_go();
        }
        world.pass();
        for (leaf, part) in &leaves {
            prop_assert_eq!(world.used(leaf), *part, "{}", leaf);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// However the deserved parts are drawn and in whatever order work ends, with enough waiting everybody has its part
    /// in the end.
    #[test]
    fn shares_converge(cuts in prop::collection::btree_set(1i64..32, 1..5), ends in prop::collection::vec(any::<prop::sample::Index>(), 60)) {
        let mut world = world().nodes(4, 8);
        let mut parts = Vec::new();
        let mut from = 0;
        for cut in cuts.iter().copied().chain([32]) {
            parts.push(cut - from);
            from = cut;
        }
        for (number, part) in parts.iter().enumerate() {
            world.account(&format!("a{number}"), None, *part);
            // Accounts come one after the other: the first takes everything.
            for job_number in 0..100 {
                let name = format!("a{number}-{job_number}");
                world.submit(&job(&name, &format!("a{number}"), 1, 1).with(|group| group.level = ServiceLevel::Guaranteed));
            }
            world.core.set_config(crate::core::Config { preemption: false, ..crate::core::Config::default() });
            world.pass();
        }
        for end in ends {
            let running: Vec<_> = world.pods.iter().filter(|(_, pod)| matches!(pod.phase, crate::model::PodPhase::Placed { .. })).map(|(id, _)| *id).collect();
            world.end(*end.get(&running));
            world.pass();
        }
        world.core.set_config(crate::core::Config::default());
        world.pass();
        world.evicted_go();
        world.pass();
        for (number, part) in parts.iter().enumerate() {
            prop_assert_eq!(world.used(&format!("a{number}")), *part);
        }
    }
}
