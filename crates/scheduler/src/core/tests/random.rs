//! Anything may happen in any order; what must hold is checked by the world at every step.

use proptest::prelude::*;

use super::world::{KIND, World, binds, evictions, job, world_with};
use crate::{
    core::{Action, Config},
    model::{Account, CardRequest, CardShare, Member, PodId, PodPhase},
};

#[derive(Debug, Clone)]
enum Step {
    Submit {
        account: usize,
        pods: u32,
        minimum: u32,
        size: u16,
        best_effort: bool,
        priority: i32,
        run: Option<i64>,
        due: Option<i64>,
    },
    Share {
        account: usize,
        milli: u16,
    },
    End(prop::sample::Index),
    EvictedGo,
    EvictFails(prop::sample::Index),
    NodeGoes(u8),
    NodeComes(u8),
    Cordon(u8),
    Wait(i64),
    Cap {
        account: usize,
        cards: i64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let times = (prop::option::of(1i64..100), prop::option::weighted(0.2, 1i64..400_000));
    let submit = (0usize..4, 1u32..5, 0u32..5, 1u16..9, any::<bool>(), 0i32..3, times);
    prop_oneof![
        8 => submit.prop_map(|(account, pods, minimum, size, best_effort, priority, (run, due))| Step::Submit {
            account, pods, minimum: minimum.min(pods), size, best_effort, priority, run, due
        }),
        2 => (0usize..4, 1u16..1000).prop_map(|(account, milli)| Step::Share { account, milli }),
        4 => any::<prop::sample::Index>().prop_map(Step::End),
        4 => Just(Step::EvictedGo),
        1 => any::<prop::sample::Index>().prop_map(Step::EvictFails),
        1 => (0u8..4).prop_map(Step::NodeGoes),
        1 => (0u8..4).prop_map(Step::NodeComes),
        1 => (0u8..4).prop_map(Step::Cordon),
        2 => (1i64..200_000).prop_map(Step::Wait),
        1 => (0usize..4, 4i64..20).prop_map(|(account, cards)| Step::Cap { account, cards }),
    ]
}

const ACCOUNTS: [&str; 4] = ["a", "b", "x", "y"];

fn start() -> World {
    let mut world = world_with(Config { batch: 4, ..Config::default() }).nodes(4, 8);
    world.account("a", None, 16);
    let shared = Account { member_capability: vec![(world.gpu, 12_000)], ..world.plain("b", None, 8) };
    world.core.upsert_account(shared);
    world.account("x", Some("a"), 8);
    let member = Member { user: "ann".to_owned(), capability: vec![(world.gpu, 6500)] };
    let sure =
        Account { guaranteed: world.cards(2), members: vec![member], ..world.plain("y", Some("a"), 4) };
    world.core.upsert_account(sure);
    world
}

/// What has become of those who were asked to go for nobody, so far.
fn play(steps: &[Step]) -> Vec<Vec<Action>> {
    let mut world = start();
    let mut log = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        take(&mut world, number, step);
        let actions = world.pass();
        let evicted = !evictions(&actions).is_empty();
        for action in &actions {
            if let Action::Evict { claimant, .. } = action {
                let deadline = world.core.ledger().group(*claimant).unwrap().group.deadline;
                assert!(
                    deadline.is_none_or(|deadline| deadline > world.now),
                    "evicted for one that is too late"
                );
            }
        }
        log.push(actions);
        if evicted && number % 3 == 0 {
            // Whoever was evicted made room for somebody who is bound as soon as they have gone.
            world.evicted_go();
            let next = world.pass();
            assert!(binds(&next) > 0, "evicted for nobody");
            log.push(next);
        }
    }
    log
}

fn take(world: &mut World, number: usize, step: &Step) {
    match step {
        Step::Submit { account, pods, minimum, size, best_effort, priority, run, due } => {
            let mut spec = job(&format!("job{number}"), ACCOUNTS[*account], *pods, *size)
                .minimum(*minimum)
                .priority(*priority);
            spec.group.max_run = *run;
            spec.group.deadline = due.map(|due| world.now + due);
            if *best_effort {
                spec = spec.best_effort();
            }
            world.submit(&spec);
        }
        Step::Share { account, milli } => {
            let mut spec = job(&format!("share{number}"), ACCOUNTS[*account], 1, 1);
            spec.cards = CardRequest::Share { kind: KIND, share: CardShare::Milli(*milli), index: None };
            world.submit(&spec);
        }
        Step::End(index) => {
            let running = |pod: &&PodId| matches!(world.pods[*pod].phase, PodPhase::Placed { .. });
            let running: Vec<PodId> = world.pods.keys().filter(running).copied().collect();
            if !running.is_empty() {
                world.end(*index.get(&running));
            }
        }
        Step::EvictedGo => world.evicted_go(),
        Step::EvictFails(index) => {
            let evicted: Vec<PodId> = world.evicted.iter().copied().collect();
            if !evicted.is_empty() {
                world.stays(*index.get(&evicted));
            }
        }
        Step::NodeGoes(node) => world.core.remove_node(&format!("n{node}")),
        Step::NodeComes(node) => {
            world.node(&format!("n{node}"), 8, &[]);
        }
        Step::Cordon(node) => {
            if let Some(id) = world.core.ledger().find_node(&format!("n{node}"))
                && world.core.ledger().node(id).is_some_and(|state| state.present)
            {
                world.change_node(id, |node| node.unschedulable = true);
            }
        }
        Step::Wait(millis) => world.now += millis,
        Step::Cap { account, cards } => {
            let used = world.counted(ACCOUNTS[*account]);
            let mut changed =
                world.core.tree().accounts().find(|one| one.name == ACCOUNTS[*account]).unwrap().clone();
            changed.capability = vec![(world.gpu, (*cards * 1000).max(used))];
            world.core.upsert_account(changed);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn nothing_is_given_twice_no_gang_in_parts_and_no_limit_exceeded(steps in prop::collection::vec(step(), 1..60)) {
        play(&steps);
    }

    #[test]
    fn the_same_story_has_the_same_end(steps in prop::collection::vec(step(), 1..30)) {
        prop_assert_eq!(play(&steps), play(&steps));
    }
}
