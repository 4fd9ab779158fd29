use super::world::{World, binds, job, world};
use crate::{
    explain::{Chance, Explanation, State},
    model::{Account, GroupId, TaskMinimum},
};

fn ask(world: &mut World, group: GroupId) -> Explanation {
    let now = world.now;
    world.core.explain(group, now).unwrap()
}

#[test]
fn a_group_behind_others_on_a_full_cluster_is_told_everything() {
    let mut world = world().nodes(2, 8);
    world.account("a", None, 8);
    world.submit(&job("lab/short", "a", 1, 8).runs(60_000));
    world.submit(&job("lab/long", "a", 1, 8).runs(600_000));
    world.pass();
    world.now = 1;
    world.submit(&job("lab/first", "a", 1, 8));
    world.now = 2;
    let second = world.submit(&job("lab/second", "a", 2, 4));
    world.pass();
    let asked = world.core.asked();
    let answer = ask(&mut world, second);
    assert_eq!(world.core.asked(), asked, "asking why is not asking to start");
    insta::assert_snapshot!(answer.lines(world.now).join("\n"), @r"
    lab/second on account a: there is room for 0 of the 2 Pods that start together: of 2 nodes 2 have no cards of the size asked for left
    1 is ahead of it in its account: lab/first; the account has 133 % of its part
    waits for lab/long (1 Pod), which ends in at most 9 min
    starts in about 9 min
    nodes are held for it
    ");
}

#[test]
fn a_group_is_told_whether_its_deadline_can_be_kept() {
    let mut world = world().nodes(1, 8);
    world.submit(&job("running", "", 1, 8).runs(100_000));
    world.pass();
    let rows = [
        ("kept", Some(50_000), 150_000, Chance::Kept),
        ("cut", Some(50_001), 150_000, Chance::CutShort),
        ("missed", Some(1), 100_000, Chance::Missed),
        ("open", None, 150_000, Chance::Unknown),
    ];
    for (name, run, due, want) in rows {
        let group = world.submit(&job(name, "", 1, 8).due(due).with(|group| group.max_run = run));
        world.pass();
        let outlook = ask(&mut world, group).deadline.unwrap();
        assert_eq!((outlook.at, outlook.chance), (due, want), "{name}");
        world.end_group(group);
    }
    // Nobody has to know when it starts to see that it is too short.
    let limited = world.submit(&job("limited", "nobody", 1, 8).due(150_000).runs(200_000));
    world.pass();
    let answer = ask(&mut world, limited);
    assert_eq!((answer.start, answer.deadline.unwrap().chance), (None, Chance::CutShort));
    let late = world.submit(&job("late", "", 1, 8).due(1));
    world.pass_at(1);
    assert_eq!(ask(&mut world, late).summary(), "its deadline has passed");
}

#[test]
fn every_way_to_wait_has_a_name() {
    let mut world = world().nodes(1, 8);
    let capped = Account { capability: vec![(world.gpu, 2000)], ..world.plain("small", None, 2) };
    world.core.upsert_account(capped);
    let limited = world.submit(&job("limited", "small", 1, 3));
    let suspended = world.submit(&job("suspended", "", 1, 1).with(|group| group.suspended = true));
    let unknown = world.submit(&job("unknown", "", 1, 1).with(|group| group.unknown = true));
    let partial = world.submit(&job("partial", "", 1, 1).minimum(3));
    let huge = world.submit(&job("huge", "", 1, 9));
    let scrap = world.submit(&job("scrap", "", 1, 8).best_effort());
    world.pass();
    let placed = ask(&mut world, scrap);
    assert_eq!(placed.state, State::Placed { pods: 1 });
    let sure = world.submit(&job("sure", "", 1, 8));
    world.pass();
    assert_eq!(ask(&mut world, sure).state, State::MakingRoom { leaving: 1 });
    assert_eq!(ask(&mut world, sure).start, Some(30_000));
    assert_eq!(ask(&mut world, suspended).state, State::Suspended);
    assert_eq!(ask(&mut world, partial).state, State::WaitsForPods { have: 1, need: 3, task: None });
    assert_eq!(ask(&mut world, unknown).state, State::Unknown);
    assert_eq!(ask(&mut world, huge).state, State::NeverFits { pods: 1 });
    assert_eq!(
        ask(&mut world, limited).summary(),
        "account small may have at most 2 nvidia.com/gpu, has 0, and this asks for 3"
    );
    let counts = world.core.waiting_by_reason();
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [("limit", 1), ("never", 1)]);
}

#[test]
fn a_gang_says_of_which_task_it_lacks_pods() {
    let mut world = world().nodes(1, 8);
    let minimum = |task: &str, minimum| TaskMinimum { task: task.to_owned(), minimum };
    let mut spec = job("gang", "", 0, 1).minimum(3);
    spec.group.task_minimums = vec![minimum("worker", 2), minimum("ps", 1)];
    // Three there are, but none that the other task could do with.
    spec.tasks = vec![("worker", 3)];
    let gang = world.submit(&spec);
    assert_eq!(world.pass(), []);
    let lacks = State::WaitsForPods { have: 0, need: 1, task: Some("ps".to_owned()) };
    assert_eq!(ask(&mut world, gang).state, lacks);
    world.add_pod(gang, &spec, "ps");
    assert_eq!(binds(&world.pass()), 4);
}

#[test]
fn a_brief_answer_says_what_is_known_without_looking_at_nodes() {
    let mut world = world().nodes(1, 8);
    world.submit(&job("full", "", 1, 8));
    world.pass();
    let gang = world.submit(&job("gang", "", 2, 4));
    let again = world.submit(&job("again", "", 2, 4));
    let huge = world.submit(&job("huge", "", 1, 9));
    world.pass();
    let brief = |world: &mut World, group| world.core.explain_briefly(group, 1).unwrap();
    let answer = brief(&mut world, gang);
    assert_eq!((&answer.state, &answer.nodes), (&State::NoRoom { pods: 2, fit: None }, &None));
    assert_eq!(answer.queue.unwrap().ahead, 0);
    assert_eq!(brief(&mut world, huge).state, State::NeverFits { pods: 1 });
    // What keeps the nodes from the first keeps them from those behind it.
    let (mut behind, whole) = (brief(&mut world, again), ask(&mut world, gang));
    behind.share_nodes(&whole);
    assert_eq!((&behind.state, &behind.nodes), (&whole.state, &whole.nodes));
    assert_eq!(behind.queue.unwrap().ahead, 1);
    let (lane, first) = world.core.lane_of(gang).unwrap();
    assert_eq!((world.core.lane_of(again), first), (Some((lane, false)), true));
}
