use super::world::{KIND, World, binds, job, world, world_with};
use crate::{
    core::Action,
    model::{CardsTaken, PodPhase, TaskMinimum},
};

#[test]
fn all_of_a_gang_starts_or_none() {
    let mut world = world().nodes(2, 8);
    let large = world.submit(&job("large", "", 5, 4));
    let small = world.submit(&job("small", "", 4, 4));
    world.pass();
    assert_eq!((world.placed(large), world.placed(small)), (0, 4));
    world.end_group(small);
    world.node("more", 8, &[]);
    assert_eq!(binds(&world.pass()), 5);
    assert_eq!(world.placed(large), 5);
}

#[test]
fn a_gang_waits_for_its_pods_and_takes_more_later() {
    let mut world = world().nodes(1, 8);
    let spec = job("elastic", "", 1, 1).minimum(3);
    let group = world.submit(&spec);
    assert_eq!(binds(&world.pass()), 0);
    world.add_pod(group, &spec, "");
    world.add_pod(group, &spec, "");
    assert_eq!(binds(&world.pass()), 3);
    for _ in 0..6 {
        world.add_pod(group, &spec, "");
    }
    assert_eq!(binds(&world.pass()), 5, "the rest come as far as there is room");
}

#[test]
fn every_task_has_its_minimum() {
    let mut world = world().nodes(1, 4);
    let mut spec = job("ps", "", 0, 1).minimum(3);
    spec.tasks = vec![("worker", 4), ("server", 1)];
    spec.group.task_minimums = vec![TaskMinimum { task: "server".to_owned(), minimum: 1 }];
    let group = world.submit(&spec);
    world.pass();
    let server = world.pods.values().find(|pod| &*pod.task == "server").unwrap();
    assert!(matches!(server.phase, PodPhase::Placed { .. }));
    assert_eq!(world.placed(group), 4);
}

#[test]
fn a_half_bound_gang_is_completed_before_others() {
    let mut world = world().nodes(1, 4);
    let early = world.submit(&job("early", "", 1, 2).priority(9));
    let spec = job("gang", "", 3, 1);
    let gang = world.submit(&spec);
    // As after a restart: one of three was bound before.
    let id = world.pods_of(gang)[0];
    let node = world.core.node_id("n0");
    let pod = world.pods.get_mut(&id).unwrap();
    let cards = CardsTaken { kind: Some(KIND), indices: vec![0], milli: 1000 };
    pod.phase = PodPhase::Placed { node, cards, since: 0 };
    let pod = pod.clone();
    world.core.upsert_pod(pod);
    world.pass();
    assert_eq!((world.placed(gang), world.placed(early)), (3, 0));
}

#[test]
fn a_gang_that_stays_half_bound_is_reported_once() {
    let config = crate::core::Config { patience: 1 << 40, ..crate::core::Config::default() };
    let mut world = world_with(config).nodes(1, 1);
    let gang = world.submit(&job("gang", "", 2, 1).minimum(1));
    world.pass();
    let mut group = world.core.ledger().group(gang).unwrap().group.clone();
    group.minimum = 2;
    world.core.upsert_group(group);
    let deadline = 300_000;
    assert_eq!(world.core.pass(1, super::super::Budget::default()), []);
    assert_eq!(world.core.next_alarm(), Some(1 + deadline));
    let stalled = Action::Stalled { group: gang, placed: 1, minimum: 2 };
    assert_eq!(world.core.pass(1 + deadline, super::super::Budget::default()), [stalled]);
    assert_eq!(world.core.pass(2 + deadline, super::super::Budget::default()), []);
}

#[test]
fn a_failed_bind_is_tried_again() {
    let mut world = world().nodes(1, 1);
    let group = world.submit(&job("one", "", 1, 1));
    let actions = world.core.pass(0, super::super::Budget::default());
    let [Action::Bind { pod, .. }] = actions.as_slice() else { panic!("{actions:?}") };
    world.core.bind_failed(*pod);
    assert_eq!(binds(&world.pass()), 1);
    assert_eq!(world.placed(group), 1);
}

#[test]
fn a_gang_spans_the_fewest_racks() {
    let mut world = world();
    for (rack, nodes) in [("a", 2), ("b", 4), ("c", 3)] {
        for number in 0..nodes {
            world.node(&format!("{rack}{number}"), 8, &[("rack", rack)]);
        }
    }
    let near = |group: &mut crate::model::Group| group.topology_key = Some("rack".to_owned());
    let racks = |world: &World, group| {
        let nodes = world.pods_of(group).into_iter().map(|pod| match world.pods[&pod].phase {
            PodPhase::Placed { node, .. } => node,
            _ => panic!("it has no place"),
        });
        let labels = nodes.map(|node| world.core.ledger().node(node).unwrap().node.labels["rack"].clone());
        labels.collect::<std::collections::BTreeSet<_>>()
    };
    let first = world.submit(&job("first", "", 3, 8).with(near));
    world.pass();
    assert_eq!(racks(&world, first), ["c".to_owned()].into());
    let second = world.submit(&job("second", "", 5, 8).with(near));
    world.pass();
    assert_eq!(racks(&world, second).len(), 2);
}

#[test]
fn a_suspended_group_waits() {
    let mut world = world().nodes(1, 1);
    let spec = job("later", "", 1, 1).with(|group| group.suspended = true);
    let group = world.submit(&spec);
    assert_eq!(binds(&world.pass()), 0);
    let mut resumed = world.core.ledger().group(group).unwrap().group.clone();
    resumed.suspended = false;
    world.core.upsert_group(resumed);
    assert_eq!(binds(&world.pass()), 1);
}

#[test]
fn pods_that_failed_do_not_make_up_a_gang() {
    let mut world = world().nodes(1, 8);
    let spec = job("gang", "", 2, 4);
    let gang = world.submit(&spec);
    assert_eq!(binds(&world.pass()), 2);
    for id in world.pods_of(gang) {
        let pod = world.pods.get_mut(&id).unwrap();
        pod.phase = PodPhase::Failed;
        let pod = pod.clone();
        world.core.upsert_pod(pod);
    }
    let other = world.submit(&job("other", "", 1, 4));
    assert_eq!(binds(&world.pass()), 1);
    // Their controller makes them anew, and leaves the failed ones for people to read.
    world.add_pod(gang, &spec, "");
    world.add_pod(gang, &spec, "");
    assert_eq!(world.pass(), [], "there is room for one of two");
    world.end_group(other);
    assert_eq!(binds(&world.pass()), 2);
}

#[test]
fn a_gang_with_one_pod_to_a_node_spans_the_racks_it_needs_and_no_more() {
    let mut world = world();
    // The first rack would be just enough by its cards, but has only one host.
    for (name, rack, cards) in [("a0", "a", 4), ("b0", "b", 2), ("b1", "b", 2), ("b2", "b", 2)] {
        world.node(name, cards, &[("rack", rack), ("kubernetes.io/hostname", name)]);
    }
    let apart =
        job("gang", "", 3, 1).away_from(&["gang"]).with(|group| group.topology_key = Some("rack".to_owned()));
    let gang = world.submit(&apart);
    assert_eq!(binds(&world.pass()), 3);
    let racks: std::collections::BTreeSet<String> = world
        .pods_of(gang)
        .iter()
        .filter_map(|pod| match &world.pods[pod].phase {
            PodPhase::Placed { node, .. } => {
                Some(world.core.ledger().node(*node)?.node.labels["rack"].clone())
            }
            _ => None,
        })
        .collect();
    assert_eq!(racks, ["b".to_owned()].into());
}
