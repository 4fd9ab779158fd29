use super::world::{Job, World, binds, evictions, job, world};
use crate::{
    core::{Action, Config, DisruptionBudget, Reason},
    model::{
        Account, Effect, GroupId, LabelSelector, Member, Node, Operator, PodId, PodPhase, Requirement,
        ResourceId, Taint,
    },
};

/// What is evicted, from which groups and why.
fn evicted(world: &World, actions: &[Action]) -> Vec<(String, Reason)> {
    let all = actions.iter().filter_map(|action| match action {
        Action::Evict { pod, reason, .. } => {
            let group = world.pods[pod].group;
            Some((world.core.ledger().group(group).unwrap().group.name.clone(), *reason))
        }
        _ => None,
    });
    let mut all: Vec<_> = all.collect();
    all.sort();
    all
}

fn named(list: &[(&str, Reason)]) -> Vec<(String, Reason)> {
    list.iter().map(|(name, reason)| ((*name).to_owned(), *reason)).collect()
}

fn full_of_scrap() -> World {
    let mut world = world().nodes(2, 8);
    for (number, cards) in [(0, 4), (1, 4), (2, 2), (3, 6)] {
        world.now = number;
        world.submit(&job(&format!("scrap{number}"), "", 1, cards).best_effort());
        world.pass();
    }
    world
}

#[test]
fn best_effort_work_gives_way_and_the_claimant_is_bound_when_it_has_gone() {
    let mut world = full_of_scrap();
    let sure = world.submit(&job("sure", "", 1, 2));
    let actions = world.pass();
    assert_eq!(evicted(&world, &actions), named(&[("scrap2", Reason::BestEffort)]));
    assert_eq!(binds(&actions), 0);
    assert_eq!(world.pass(), [], "nobody else is asked while it waits");
    world.evicted_go();
    assert_eq!(binds(&world.pass()), 1);
    assert_eq!(world.placed(sure), 1);
}

#[test]
fn of_equal_victims_those_go_who_were_told_to_by_whoever_led_before() {
    for told in 0..2 {
        let mut world = full_of_scrap();
        let scrap = world.core.ledger().find_group(&format!("scrap{told}")).unwrap();
        world.core.set_told(world.pods_of(scrap)[0], true);
        world.submit(&job("sure", "", 1, 4));
        let actions = world.pass();
        let want = format!("scrap{told}");
        assert_eq!(evicted(&world, &actions), named(&[(want.as_str(), Reason::BestEffort)]));
    }
    let mut world = full_of_scrap();
    let large = world.core.ledger().find_group("scrap3").unwrap();
    world.core.set_told(world.pods_of(large)[0], true);
    world.submit(&job("sure", "", 1, 2));
    let actions = world.pass();
    assert_eq!(
        evicted(&world, &actions),
        named(&[("scrap2", Reason::BestEffort)]),
        "six cards for two is too many"
    );
}

#[test]
fn the_grace_of_the_victim_is_its_own() {
    let mut world = world().nodes(1, 8);
    world.submit(&job("slow", "", 1, 8).best_effort().with(|group| group.grace = Some(600_000)));
    world.pass();
    world.submit(&job("sure", "", 1, 8));
    let actions = world.pass();
    assert!(matches!(actions.as_slice(), [Action::Evict { grace: 600_000, .. }]), "{actions:?}");
}

#[test]
fn a_gang_is_placed_over_nodes_or_nobody_goes() {
    let mut world = full_of_scrap();
    let wide = world.submit(&job("wide", "", 3, 8));
    assert_eq!(world.pass(), [], "three nodes there are not");
    world.end_group(wide);
    let gang = world.submit(&job("gang", "", 2, 6));
    let actions = world.pass();
    assert_eq!(evictions(&actions).len(), 3, "both of four cards, and the one of six");
    world.evicted_go();
    world.pass();
    assert_eq!(world.placed(gang), 2);
}

#[test]
fn nothing_is_bound_in_room_that_somebody_still_leaves() {
    let mut world = world().nodes(1, 8);
    world.submit(&job("scrap", "", 1, 8).best_effort());
    world.pass();
    let sure = world.submit(&job("sure", "", 1, 2));
    world.pass();
    // Six more cards will be free; nobody may have them before the victim has gone.
    let other = world.submit(&job("other", "", 1, 6));
    assert_eq!(binds(&world.pass()), 0);
    world.evicted_go();
    assert_eq!(binds(&world.pass()), 2);
    assert_eq!((world.placed(sure), world.placed(other)), (1, 1));
}

#[test]
fn nobody_of_a_gang_is_bound_before_its_minimum() {
    let mut world = world().nodes(2, 8);
    world.submit(&job("scrap", "", 1, 8).best_effort());
    world.submit(&job("small", "", 1, 2));
    world.pass();
    // Two of six cards start together, on the node that is to be emptied and beside the small one; the third needs
    // nobody to go, but must not be bound before the two.
    let gang = world.submit(&job("gang", "", 2, 6).minimum(2));
    let actions = world.pass();
    assert_eq!((evictions(&actions).len(), binds(&actions)), (1, 0));
    let spec = job("gang", "", 1, 2).minimum(2);
    let third = world.add_pod(gang, &spec, "");
    assert_eq!(binds(&world.pass()), 0);
    let victim = *world.evicted.first().unwrap();
    world.core.set_config(Config { preemption: false, ..Config::default() });
    world.stays(victim);
    assert_eq!(binds(&world.pass()), 0, "without the two there is no third");
    world.end(victim);
    assert_eq!(binds(&world.pass()), 3);
    assert!(matches!(world.pods[&third].phase, crate::model::PodPhase::Placed { .. }));
}

#[test]
fn a_victim_that_stays_keeps_its_place() {
    let mut world = full_of_scrap();
    let sure = world.submit(&job("sure", "", 1, 2));
    let victim = evictions(&world.pass())[0];
    world.core.set_config(Config { preemption: false, ..Config::default() });
    world.core.evict_failed(victim);
    assert_eq!(world.pass(), []);
    assert_eq!(world.placed(sure), 0);
    let state = world.core.ledger().pod(victim).unwrap();
    assert!(matches!(state.pod.phase, crate::model::PodPhase::Placed { .. }));
    world.end(victim);
    world.pass();
    assert_eq!(world.placed(sure), 1);
}

/// Something happens to a node for which a claimant waits.
type Change = fn(&mut Node, ResourceId);

#[test]
fn a_claimant_is_not_bound_to_a_node_that_has_changed_while_its_victim_left() {
    let taint = |node: &mut Node, _: ResourceId| {
        let (key, value) = ("node.kubernetes.io/not-ready".to_owned(), String::new());
        node.taints = vec![Taint { key, value, effect: Effect::NoSchedule }];
    };
    let rows: [(&str, Change, bool); 4] = [
        ("cordoned", |node, _| node.unschedulable = true, false),
        ("not ready", taint, false),
        ("of another pool", |node, _| node.labels.clear(), false),
        ("short of cards", |node, gpu| node.allocatable.set(gpu, 4000), true),
    ];
    for (sentence, change, until_gone) in rows {
        let mut world = world();
        let only = [("pool", "a")];
        let node = world.node("n0", 8, &only);
        let on_a = |spec: Job| Job { selector: [("pool".to_owned(), "a".to_owned())].into(), ..spec };
        world.submit(&on_a(job("scrap", "", 1, 8).best_effort()));
        world.pass();
        let sure = world.submit(&on_a(job("sure", "", 1, 8)));
        let victim = evictions(&world.pass())[0];
        let gpu = world.gpu;
        world.change_node(node, |node| change(node, gpu));
        assert_eq!(world.pass(), [], "{sentence}");
        // Who is awaited no longer has its notice taken back.
        assert_eq!(world.core.is_awaited(victim), until_gone, "{sentence}");
        world.evicted_go();
        assert_eq!(world.pass(), [], "{sentence}: the node does not take it any more");
        let other = world.node("n1", 8, &only);
        assert_eq!(binds(&world.pass()), 1, "{sentence}: another one does");
        assert!(matches!(world.pods[&world.pods_of(sure)[0]].phase,
            PodPhase::Placed { node, .. } if node == other));
    }
}

#[test]
fn a_claimant_that_lost_its_node_goes_to_a_free_one_and_nobody_else_goes() {
    let mut world = world().nodes(2, 8);
    world.submit(&job("scrap0", "", 1, 8).best_effort());
    world.submit(&job("scrap1", "", 1, 8).best_effort());
    world.pass();
    let sure = world.submit(&job("sure", "", 1, 8));
    let victim = evictions(&world.pass())[0];
    let PodPhase::Placed { node, .. } = world.pods[&victim].phase else { panic!("it ran") };
    world.node("n2", 8, &[]);
    world.change_node(node, |node| node.unschedulable = true);
    let actions = world.pass();
    assert_eq!((binds(&actions), evictions(&actions)), (1, vec![]));
    assert_eq!(world.placed(sure), 1);
}

#[test]
fn a_victim_that_never_goes_is_given_up() {
    let mut world = full_of_scrap();
    world.submit(&job("sure", "", 1, 2));
    let victim = evictions(&world.pass())[0];
    world.core.set_config(Config { preemption: false, ..Config::default() });
    let alarm = world.core.next_alarm().unwrap();
    world.pass_at(alarm + 1);
    assert!(matches!(
        world.core.ledger().pod(victim).unwrap().pod.phase,
        crate::model::PodPhase::Placed { .. }
    ));
}

#[test]
fn a_claimant_that_is_withdrawn_leaves_its_room_to_others() {
    let mut world = full_of_scrap();
    let sure = world.submit(&job("sure", "", 1, 2));
    world.pass();
    world.end_group(sure);
    world.evicted_go();
    assert_eq!(binds(&world.pass()), 0);
    let next = world.submit(&job("next", "", 1, 2));
    world.pass();
    assert_eq!(world.placed(next), 1);
}

#[test]
fn accounts_below_their_part_reclaim_from_those_above() {
    let mut world = world().nodes(2, 8);
    world.account("a", None, 8);
    world.account("b", None, 8);
    for number in 0..16 {
        world.now = number;
        world.submit(&job(&format!("a{number}"), "a", 1, 1));
        world.pass();
    }
    for number in 0..20 {
        world.submit(&job(&format!("b{number}"), "b", 1, 1));
    }
    let actions = world.pass();
    let expected: Vec<(String, Reason)> =
        (8..16).map(|number| (format!("a{number}"), Reason::Reclaimed)).collect();
    let mut expected = expected;
    expected.sort();
    assert_eq!(evicted(&world, &actions), expected, "the youngest, and no more than what is above the part");
    world.evicted_go();
    world.pass();
    assert_eq!((world.used("a"), world.used("b")), (8, 8));
    assert_eq!(world.pass(), [], "and then there is peace");
}

/// Twenty cards, all taken: two departments that deserve eight each, with two teams of four, and a third that deserves
/// four. So many cards are used by `l2`, by `other` and, youngest of all, by `r1`.
fn departments(l2: u32, other: u32, r1: u32) -> World {
    let mut world = world().nodes(5, 4);
    for (name, parent, deserved) in [
        ("left", None, 8),
        ("right", None, 8),
        ("other", None, 4),
        ("l1", Some("left"), 4),
        ("l2", Some("left"), 4),
        ("r1", Some("right"), 4),
        ("r2", Some("right"), 4),
    ] {
        world.account(name, parent, deserved);
    }
    for (account, count) in [("l2", l2), ("other", other), ("r1", r1)] {
        for number in 0..count {
            world.now += 1;
            world.submit(&job(&format!("{account}-{number}"), account, 1, 1));
            world.pass();
        }
    }
    assert_eq!(world.used_by_all(), 20);
    world
}

#[test]
fn a_team_below_its_part_takes_nothing_from_others_if_its_department_is_not() {
    // The right has four more than its part, but the left has all of its own.
    let mut world = departments(8, 0, 12);
    world.submit(&job("claimant", "l1", 1, 1));
    let actions = world.pass();
    assert_eq!(evicted(&world, &actions), named(&[("l2-7", Reason::Reclaimed)]), "of its own department");
}

#[test]
fn a_team_above_its_part_gives_nothing_to_others_if_its_department_is_not() {
    // The left has one less than its part; the right has no more than its own, though one of its teams does.
    let mut world = departments(7, 5, 8);
    world.submit(&job("claimant", "l1", 1, 1));
    let actions = world.pass();
    assert_eq!(
        evicted(&world, &actions),
        named(&[("other-4", Reason::Reclaimed)]),
        "the youngest who has to give"
    );
}

#[test]
fn an_account_far_above_its_part_gives_only_what_is_above() {
    let mut world = world().nodes(20, 8);
    world.account("a", None, 150);
    world.account("b", None, 10);
    for number in 0..160 {
        world.submit(&job(&format!("a{number}"), "a", 1, 1));
    }
    world.pass();
    for number in 0..200 {
        world.submit(&job(&format!("b{number}"), "b", 1, 1));
    }
    assert_eq!(evictions(&world.pass()).len(), 10);
    world.evicted_go();
    world.pass();
    assert_eq!((world.used("a"), world.used("b")), (150, 10));
}

/// Two nodes and an account that may have eight of their sixteen cards, with best-effort work on seven of them.
fn at_the_limit() -> World {
    let mut world = world().nodes(2, 8);
    let capped = Account { capability: vec![(world.gpu, 8000)], ..world.plain("a", None, 8) };
    world.core.upsert_account(capped);
    world.account("b", None, 8);
    for (number, cards) in [(0, 4), (1, 1), (2, 2)] {
        world.now = number;
        world.submit(&job(&format!("scrap{number}"), "a", 1, cards).best_effort());
        world.submit(&job(&format!("other{number}"), "b", 1, 1).best_effort());
        world.pass();
    }
    world
}

#[test]
fn best_effort_work_gives_way_to_guaranteed_work_at_a_limit_of_its_own_account() {
    let mut world = at_the_limit();
    let sure = world.submit(&job("sure", "a", 1, 3));
    let actions = world.pass();
    assert_eq!(evicted(&world, &actions), named(&[("scrap2", Reason::BestEffort)]), "no more than it needs");
    assert_eq!(binds(&actions), 0, "there is room, but what leaves still counts");
    assert_eq!(world.pass(), [], "nobody else is asked while it waits");
    world.evicted_go();
    world.pass();
    assert_eq!((world.placed(sure), world.used("a")), (1, 8));
    let more = world.submit(&job("more", "a", 1, 6));
    assert_eq!(world.pass(), [], "not even without best-effort work: three and six are more than eight");
    assert_eq!(world.placed(more), 0);
}

#[test]
fn best_effort_work_does_not_displace_at_a_limit_and_a_victim_that_stays_keeps_it() {
    let mut world = at_the_limit();
    let more = world.submit(&job("more", "a", 1, 3).best_effort());
    assert_eq!(world.pass(), []);
    world.end_group(more);
    let sure = world.submit(&job("sure", "a", 1, 8));
    let actions = world.pass();
    assert_eq!(evictions(&actions).len(), 3);
    let victim = evictions(&actions)[0];
    world.core.set_config(Config { preemption: false, ..Config::default() });
    world.stays(victim);
    world.evicted_go();
    world.pass();
    assert_eq!(world.placed(sure), 0, "the limit would be exceeded");
    world.end(victim);
    world.pass();
    assert_eq!(world.placed(sure), 1);
}

#[test]
fn at_a_limit_on_full_nodes_those_go_who_make_room_for_both() {
    let mut world = world().nodes(1, 8);
    let capped = Account { capability: vec![(world.gpu, 4000)], ..world.plain("a", None, 4) };
    world.core.upsert_account(capped);
    world.account("b", None, 4);
    world.submit(&job("scrap", "a", 1, 4).best_effort());
    world.submit(&job("other", "b", 1, 4));
    world.pass();
    let sure = world.submit(&job("sure", "a", 1, 2));
    let actions = world.pass();
    assert_eq!(evicted(&world, &actions), named(&[("scrap", Reason::BestEffort)]));
    world.evicted_go();
    world.pass();
    assert_eq!(world.placed(sure), 1);
}

#[test]
fn a_member_at_its_cap_displaces_its_own_best_effort_work_through_its_account() {
    let mut world = world().nodes(1, 8);
    let member = Member { user: "ann".to_owned(), capability: vec![(world.gpu, 2000)] };
    let account = Account { members: vec![member], ..world.plain("a", None, 8) };
    world.core.upsert_account(account);
    world.submit(&job("scrap", "a", 1, 2).best_effort());
    world.submit(&job("bob", "a", 1, 1).best_effort().with(|group| group.user = "bob".to_owned()));
    world.pass();
    world.submit(&job("sure", "a", 1, 2));
    let actions = world.pass();
    assert_eq!(evicted(&world, &actions), named(&[("scrap", Reason::BestEffort)]));
}

#[test]
fn nobody_goes_for_more_than_a_member_may_ever_have() {
    let mut world = world().nodes(1, 8);
    let member = Member { user: "ann".to_owned(), capability: vec![(world.gpu, 2000)] };
    let account = Account { members: vec![member], ..world.plain("a", None, 8) };
    world.core.upsert_account(account);
    let scrap = world.submit(&job("scrap", "a", 1, 1).best_effort());
    world.pass();
    world.submit(&job("sure", "a", 1, 3));
    assert_eq!(world.pass(), []);
    world.end_group(scrap);
    assert_eq!(world.pass(), [], "nor when nobody is there who could go");
}

#[test]
fn priority_counts_within_an_account_only() {
    let mut world = world().nodes(1, 8);
    world.account("a", None, 4);
    world.account("b", None, 4);
    world.submit(&job("low-a", "a", 1, 4).priority(1));
    world.submit(&job("low-b", "b", 1, 4).priority(0));
    world.pass();
    let high = world.submit(&job("high-a", "a", 1, 2).priority(5));
    let actions = world.pass();
    assert_eq!(evicted(&world, &actions), named(&[("low-a", Reason::Priority)]));
    world.evicted_go();
    world.pass();
    assert_eq!(world.placed(high), 1);
    world.submit(&job("same-a", "a", 1, 4).priority(5));
    assert_eq!(world.pass(), [], "an equal does not give way");
}

#[test]
fn budgets_are_kept() {
    let mut world = world().nodes(1, 8);
    for number in 0..4 {
        world.now = number;
        world.submit(&job("set", "", 4, 2).minimum(1).best_effort());
    }
    world.pass();
    let values = vec!["set".to_owned()];
    let selector =
        LabelSelector(Some(vec![Requirement { key: "job".to_owned(), operator: Operator::In, values }]));
    let budget = |allowed| DisruptionBudget {
        namespace: "default".to_owned(),
        selector: selector.clone(),
        allowed,
        desired: 0,
    };
    world.core.set_budgets(vec![budget(1)]);
    world.submit(&job("sure", "", 1, 4));
    assert_eq!(world.pass(), []);
    world.core.set_budgets(vec![budget(2)]);
    assert_eq!(evictions(&world.pass()).len(), 2);
}

#[test]
fn a_budget_holds_for_all_who_ask_in_one_pass() {
    let mut world = world().nodes(1, 8);
    for number in 0..4 {
        world.now = number;
        world.submit(&job("set", "", 4, 2).minimum(1).best_effort());
    }
    world.pass();
    let values = vec!["set".to_owned()];
    let selector =
        LabelSelector(Some(vec![Requirement { key: "job".to_owned(), operator: Operator::In, values }]));
    let namespace = "default".to_owned();
    world.core.set_budgets(vec![DisruptionBudget { namespace, selector, allowed: 1, desired: 3 }]);
    world.submit(&job("one", "", 1, 2));
    world.submit(&job("other", "", 1, 1));
    assert_eq!(evictions(&world.pass()).len(), 1, "the second finds the budget used up by the first");
}

#[test]
fn a_gang_that_loses_one_of_its_minimum_goes_whole() {
    let mut world = world().nodes(2, 8);
    world.submit(&job("gang", "", 4, 4).minimum(3).best_effort());
    world.pass();
    let one = world.submit(&job("one", "", 1, 4));
    let actions = world.pass();
    assert_eq!(evictions(&actions).len(), 1, "one it can do without");
    world.evicted_go();
    world.pass();
    assert_eq!(world.placed(one), 1);
    world.submit(&job("two", "", 1, 4));
    assert_eq!(evictions(&world.pass()).len(), 3, "then the rest is of no use");
}

#[test]
fn those_that_go_anyway_are_not_asked_and_nobody_else_is() {
    let mut world = full_of_scrap();
    let scrap: GroupId = world.core.ledger().find_group("scrap0").unwrap();
    let pod: PodId = world.pods_of(scrap)[0];
    let leaving = world.pods.get_mut(&pod).unwrap();
    leaving.terminating = true;
    let leaving = leaving.clone();
    world.core.upsert_pod(leaving);
    let sure = world.submit(&job("sure", "", 1, 4));
    assert_eq!(world.pass(), []);
    world.end(pod);
    world.pass();
    assert_eq!(world.placed(sure), 1);
}

#[test]
fn many_claimants_evict_no_more_than_they_need() {
    let mut world = world().nodes(20, 8);
    for number in 0..160 {
        world.submit(&job(&format!("scrap{number}"), "", 1, 1).best_effort());
    }
    world.pass();
    for number in 0..100 {
        world.submit(&job(&format!("sure{number}"), "", 1, 1));
    }
    let before = world.core.asked();
    let actions = world.pass();
    assert_eq!(evictions(&actions).len(), 100);
    assert!(world.core.asked() - before < 10, "they are looked after together");
    world.evicted_go();
    assert_eq!(binds(&world.pass()), 100);
    let large = world.submit(&job("large", "", 8, 8));
    assert_eq!(evictions(&world.pass()).len(), 0, "eight whole nodes there are not");
    world.end_group(large);
    let gang = world.submit(&job("gang", "", 60, 1));
    assert_eq!(evictions(&world.pass()).len(), 60);
    world.evicted_go();
    world.pass();
    assert_eq!(world.placed(gang), 60);
}

#[test]
fn whoever_waited_for_one_does_not_get_the_cards_of_another_who_is_still_there() {
    let mut world = world().nodes(1, 3);
    world.submit(&job("old", "", 1, 2).best_effort());
    world.pass();
    world.now = 1;
    let young = world.submit(&job("young", "", 1, 1).best_effort());
    world.pass();
    let first = world.submit(&job("first", "", 1, 1));
    let actions = world.pass();
    assert_eq!(evicted(&world, &actions), named(&[("young", Reason::BestEffort)]));
    world.submit(&job("second", "", 1, 1));
    let actions = world.pass();
    assert_eq!(evicted(&world, &actions), named(&[("old", Reason::BestEffort)]));
    world.end_group(young);
    world.pass();
    assert_eq!(world.placed(first), 1, "nobody is in its way any more");
}

#[test]
fn a_node_that_goes_and_comes_back_still_has_those_who_are_leaving_it() {
    let mut world = world().nodes(1, 1);
    world.submit(&job("scrap", "", 1, 1).best_effort());
    world.pass();
    let sure = world.submit(&job("sure", "", 1, 1));
    assert_eq!(evictions(&world.pass()).len(), 1);
    world.core.remove_node("n0");
    assert_eq!(world.pass(), []);
    world.node("n0", 1, &[]);
    assert_eq!(world.pass(), [], "the card is still in use");
    world.evicted_go();
    world.pass();
    assert_eq!(world.placed(sure), 1);
}

#[test]
fn who_holds_a_port_of_the_host_gives_way_to_one_who_has_a_right_to_it() {
    let mut world = world().nodes(2, 8);
    world.submit(&job("scrap0", "", 1, 1).best_effort().port(29500));
    world.submit(&job("sure0", "", 1, 8));
    world.pass();
    let sure = world.submit(&job("sure1", "", 1, 1).port(29500));
    let actions = world.pass();
    assert_eq!(
        evicted(&world, &actions),
        named(&[("scrap0", Reason::BestEffort)]),
        "there are cards, but no port"
    );
    world.evicted_go();
    world.pass();
    assert_eq!(world.placed(sure), 1);
}

#[test]
fn nobody_goes_for_a_place_whose_port_is_held_by_another_who_stays() {
    let mut world = world().nodes(1, 8);
    world.submit(&job("sure0", "", 1, 1).port(29500));
    world.submit(&job("scrap0", "", 1, 7).best_effort());
    world.pass();
    world.submit(&job("sure1", "", 1, 1).port(29500));
    assert_eq!(world.pass(), []);
}

#[test]
fn a_gang_with_one_pod_to_a_node_has_room_made_on_as_many_nodes() {
    for one_each in [job("gang", "", 2, 1).port(29500), job("gang", "", 2, 1).away_from(&["gang"])] {
        let mut world = world().hosts(2, 4);
        // The youngest, which would go first, are all on one node.
        for number in 0..8 {
            world.now += 1000;
            world.submit(&job(&format!("scrap{number}"), "", 1, 1).best_effort());
            world.pass();
        }
        let gang = world.submit(&one_each);
        assert_eq!(evictions(&world.pass()).len(), 2);
        world.evicted_go();
        world.pass();
        assert_eq!(world.placed(gang), 2);
    }
}

#[test]
fn who_must_not_be_near_gives_way_whoever_of_both_says_so() {
    for (scrap, sure) in [
        (job("scrap", "", 1, 1).best_effort(), job("sure", "", 1, 1).away_from(&["scrap"])),
        (job("scrap", "", 1, 1).best_effort().away_from(&["sure"]), job("sure", "", 1, 1)),
    ] {
        let mut world = world().hosts(1, 8);
        world.submit(&scrap);
        world.pass();
        let group = world.submit(&sure);
        assert_eq!(evictions(&world.pass()).len(), 1);
        world.evicted_go();
        world.pass();
        assert_eq!(world.placed(group), 1);
    }
}

#[test]
fn a_group_that_grows_has_room_made_for_many_of_its_pods_at_a_time() {
    let mut world = world().nodes(4, 8);
    for number in 0..32 {
        world.submit(&job(&format!("scrap{number}"), "", 1, 1).best_effort());
    }
    world.pass();
    let before = world.core.asked();
    let large = world.submit(&job("large", "", 30, 1).minimum(1));
    assert_eq!(evictions(&world.pass()).len(), 30);
    assert!(world.core.asked() - before < 5, "it was asked {} times", world.core.asked() - before);
    world.evicted_go();
    world.pass();
    assert_eq!(world.placed(large), 30);
}
