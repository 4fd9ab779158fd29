//! Placing Pods without a cluster.
#![expect(clippy::needless_pass_by_value, reason = "tables of JSON literals read better by value")]

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, from_value, json};

use super::filter::{Candidate, Volumes, WaitingClaim};
use super::ledger::Ledger;
use super::place::{Placement, Turn, place};
use super::queue::{End, Queue};
use super::request::Request;
use crate::controllers::view::NodeView;
use crate::controllers::view::tests::noon;

fn node(name: &str, cores: i64, change: Value) -> NodeView {
    let mut value = json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": cores.to_string(), "memory": "64Gi", "pods": "110"}},
    });
    merge(&mut value, &change);
    from_value(value).unwrap()
}

fn merge(into: &mut Value, change: &Value) {
    match (into, change) {
        (Value::Object(into), Value::Object(change)) => {
            for (key, member) in change {
                merge(into.entry(key.clone()).or_insert(Value::Null), member);
            }
        }
        (into, change) => *into = change.clone(),
    }
}

/// A small cluster.
#[derive(Default)]
struct World {
    ledger: Ledger,
    turn: Turn,
}

impl World {
    fn with(nodes: Vec<NodeView>) -> Self {
        let mut world = Self::default();
        for node in nodes {
            world.ledger.set_node(&node);
        }
        world
    }

    fn request(&mut self, name: &str, change: Value) -> Request {
        let mut value = json!({"metadata": {"name": name, "namespace": "default", "uid": name, "labels": {"app": "a"}},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}});
        merge(&mut value, &change);
        Request::read(from_value::<Pod>(value).unwrap(), &mut self.ledger.names)
    }

    /// Finds a node and puts the Pod there.
    fn place(&mut self, name: &str, change: Value) -> Result<String, String> {
        let request = self.request(name, change);
        let node = place(&self.ledger, &mut self.turn, &request, &Volumes::default())?.node;
        self.ledger.place(&format!("default/{name}"), &request, &node);
        Ok(node)
    }
}

fn anti(topology: &str) -> Value {
    json!({"spec": {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": topology}]}}}})
}

#[test]
fn pods_go_where_there_is_room_until_there_is_none() {
    let mut world = World::with(vec![node("a", 2, json!({})), node("b", 1, json!({}))]);
    let mut nodes: Vec<String> =
        (0..3).map(|number| world.place(&format!("p{number}"), json!({})).unwrap()).collect();
    nodes.sort();
    assert_eq!(nodes, ["a", "a", "b"]);
    let full = world.place("p3", json!({})).unwrap_err();
    assert_eq!(full, "0/2 nodes are available: 2 Insufficient cpu.");
    assert!(world.ledger.remove("default/p0"));
    assert!(world.place("p3", json!({})).is_ok());
}

#[test]
fn each_node_says_why_not() {
    let mut world = World::with(vec![
        node("small", 0, json!({})),
        node("tainted", 8, json!({"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}})),
        node("closed", 8, json!({"spec": {"unschedulable": true}})),
        node("elsewhere", 8, json!({"metadata": {"labels": {"zone": "b"}}})),
        node("full", 8, json!({"status": {"allocatable": {"pods": "0"}}})),
    ]);
    let why = world.place("p", json!({})).err();
    assert_eq!(why, None, "the node elsewhere fits");
    let selective = json!({"spec": {"nodeSelector": {"kubernetes.io/hostname": "small"}}});
    assert_eq!(
        world.place("q", selective).unwrap_err(),
        "0/5 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), \
         1 node(s) were unschedulable, 2 node(s) didn't match Pod's node affinity/selector."
    );
    let cards = json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"nvidia.com/gpu": "1"},
        "limits": {"nvidia.com/gpu": "1"}}}]}});
    let why = world.place("r", cards).unwrap_err();
    assert!(why.contains("Insufficient nvidia.com/gpu"), "{why}");
    assert!(why.contains("1 Too many pods"), "{why}");
    assert_eq!(World::default().place("p", json!({})).unwrap_err(), "no nodes available to schedule pods");
}

#[test]
fn tolerations_open_tainted_and_closed_nodes() {
    let mut world = World::with(vec![node(
        "tainted",
        8,
        json!({"spec": {"taints": [{"key": "gpu", "value": "x", "effect": "NoExecute"}]}}),
    )]);
    let tolerant = json!({"spec": {"tolerations": [{"key": "gpu", "value": "x"}]}});
    assert_eq!(world.place("p", tolerant).unwrap(), "tainted");
}

#[test]
fn host_ports_are_taken_once_per_node() {
    let mut world = World::with(vec![node("a", 8, json!({})), node("b", 8, json!({}))]);
    let port =
        json!({"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}});
    let one = world.place("p0", port.clone()).unwrap();
    let other = world.place("p1", port.clone()).unwrap();
    assert_ne!(one, other);
    let why = world.place("p2", port).unwrap_err();
    assert_eq!(why, "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports.");
}

#[test]
fn pods_stay_apart_both_ways() {
    let mut world = World::with(vec![node("a", 8, json!({})), node("b", 8, json!({}))]);
    let host = anti("kubernetes.io/hostname");
    let one = world.place("p0", host.clone()).unwrap();
    assert_ne!(world.place("p1", host.clone()).unwrap(), one);
    let why = world.place("p2", host).unwrap_err();
    assert_eq!(why, "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.");
    let why = world.place("p3", json!({})).unwrap_err();
    assert_eq!(why, "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules.");
}

#[test]
fn pods_that_belong_together_share_a_zone() {
    let zone = |zone: &str| json!({"metadata": {"labels": {"zone": zone}}});
    let mut world =
        World::with(vec![node("a1", 1, zone("a")), node("b1", 8, zone("b")), node("b2", 8, zone("b"))]);
    let near = |label: &str| {
        json!({"spec": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": label}}, "topologyKey": "zone"}]}}}})
    };
    let first = world.place("p0", near("a")).unwrap();
    let zone_of = |world: &World, node: &str| world.ledger.topology(node, "zone").map(ToOwned::to_owned);
    let home = zone_of(&world, &first);
    let second = world.place("p1", near("a"));
    if home.as_deref() == Some("a") {
        assert!(second.is_err(), "the only node of the zone is full");
    } else {
        assert_eq!(zone_of(&world, &second.unwrap()), home);
    }
    let why = world.place("p2", near("nobody")).unwrap_err();
    assert!(why.ends_with("3 node(s) didn't match pod affinity rules."), "{why}");
}

#[test]
fn spreading_keeps_the_difference_small() {
    let zone = |zone: &str| json!({"metadata": {"labels": {"zone": zone}}});
    let mut world =
        World::with(vec![node("a", 8, zone("a")), node("b", 1, zone("b")), node("c", 8, json!({}))]);
    let even = json!({"spec": {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "a"}}}]}});
    let mut nodes: Vec<String> =
        (0..3).map(|n| world.place(&format!("p{n}"), even.clone()).unwrap()).collect();
    nodes.sort();
    assert_eq!(nodes, ["a", "a", "b"]);
    assert_eq!(
        world.place("p3", even).unwrap_err(),
        "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints, \
         1 node(s) didn't match pod topology spread constraints (missing required label)."
    );
}

#[test]
fn pods_of_a_set_are_spread_over_nodes_that_differ() {
    let mut world = World::with(vec![
        node("a", 128, json!({})),
        node("b", 4, json!({})),
        node("c", 4, json!({})),
        node("d", 4, json!({"spec": {"unschedulable": true}})),
    ]);
    let owned = |set: &str| {
        json!({"metadata": {"ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": set, "uid": set, "controller": true}]}})
    };
    let mut nodes: Vec<String> =
        (0..3).map(|n| world.place(&format!("p{n}"), owned("one")).unwrap()).collect();
    nodes.sort();
    assert_eq!(nodes, ["a", "b", "c"]);
    world.ledger.remove("default/p0");
    assert_eq!(world.place("p3", owned("one")).unwrap(), "a", "where the one was that went");
    assert_eq!(world.place("other", owned("two")).unwrap(), "a", "the emptiest, whatever others have");
}

#[test]
fn pods_that_ask_for_nothing_take_turns_on_large_nodes() {
    let mut world = World::with(["a", "b", "c"].map(|name| node(name, 128, json!({}))).into());
    let nothing = json!({"spec": {"containers": [{"name": "c"}]}});
    let mut nodes: Vec<String> =
        (0..3).map(|n| world.place(&format!("p{n}"), nothing.clone()).unwrap()).collect();
    nodes.sort();
    assert_eq!(nodes, ["a", "b", "c"]);
}

#[test]
fn wishes_decide_between_nodes_that_fit() {
    let mut world = World::with(vec![
        node("a", 8, json!({})),
        node("b", 8, json!({"metadata": {"labels": {"fast": "yes"}}})),
    ]);
    let wish = json!({"spec": {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 100, "preference": {"matchExpressions": [{"key": "fast", "operator": "Exists"}]}}]}}}});
    for number in 0..3 {
        assert_eq!(world.place(&format!("p{number}"), wish.clone()).unwrap(), "b");
    }
    assert_eq!(world.place("q", json!({})).unwrap(), "a", "the emptier one");
}

#[test]
fn volumes_hold_pods_to_their_nodes() {
    let mut world = World::with(vec![node("a", 8, json!({})), node("b", 8, json!({}))]);
    let request = world.request("p", json!({}));
    let on = |name: &str| {
        from_value(json!({"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}]}]}))
        .unwrap()
    };
    let bound = Volumes { bound: vec![on("b")], waiting: Vec::new() };
    assert_eq!(place(&world.ledger, &mut world.turn, &request, &bound).unwrap().node, "b");
    let waiting = |claim: WaitingClaim| Volumes { bound: Vec::new(), waiting: vec![claim] };
    let candidate = Candidate { volume: "v".into(), nodes: Some(on("b")) };
    let offered = WaitingClaim { name: "c".into(), candidates: vec![candidate], ..WaitingClaim::default() };
    let placement = place(&world.ledger, &mut world.turn, &request, &waiting(offered)).unwrap();
    assert_eq!(placement, Placement { node: "b".into(), claims: vec![("c".into(), Some("v".into()))] });
    let none =
        place(&world.ledger, &mut world.turn, &request, &waiting(WaitingClaim::default())).unwrap_err();
    assert_eq!(none, "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.");
    let made = WaitingClaim { provisioned: true, ..WaitingClaim::default() };
    let placement = place(&world.ledger, &mut world.turn, &request, &waiting(made)).unwrap();
    assert_eq!(placement.claims, [(String::new(), None)]);
}

#[test]
fn a_large_cluster_is_filled_exactly() {
    let nodes = (0..300).map(|number| node(&format!("n{number}"), 10, json!({}))).collect();
    let mut world = World::with(nodes);
    for number in 0..3000 {
        world.place(&format!("p{number}"), json!({})).unwrap();
    }
    let why = world.place("more", json!({})).unwrap_err();
    assert_eq!(why, "0/300 nodes are available: 300 Insufficient cpu.");
}

#[test]
fn pods_that_claim_more_than_can_be_counted_leave_as_they_came() {
    let mut world =
        World::with(vec![node("a", 8, json!({})), node("b", 8, json!({"spec": {"unschedulable": true}}))]);
    let all = json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "9e18", "memory": "9e18"}}}]}});
    // Whoever names the node is not asked whether there is room.
    for name in ["p0", "p1", "p2"] {
        let request = world.request(name, all.clone());
        world.ledger.place(&format!("default/{name}"), &request, "a");
    }
    assert!(world.place("q", json!({})).unwrap_err().contains("1 Insufficient cpu"));
    let nothing = json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "0"}}}]}});
    world.ledger.set_node(&node("b", 8, json!({})));
    assert_eq!(world.place("r", nothing).unwrap(), "b", "the emptier one");
    for name in ["p0", "p1", "p2"] {
        assert!(world.ledger.remove(&format!("default/{name}")));
    }
    for number in 0..8 {
        assert!(world.place(&format!("s{number}"), json!({})).is_ok());
    }
}

#[test]
fn the_queue_goes_by_priority_then_by_age_and_lets_the_stuck_rest() {
    let mut world = World::default();
    let mut queue = Queue::default();
    for (name, priority) in [("old", 0), ("new", 0), ("high", 10)] {
        queue.set(name, world.request(name, json!({"spec": {"priority": priority}})));
    }
    let gated = world.request("gated", json!({"spec": {"schedulingGates": [{"name": "g"}]}}));
    queue.set("gated", gated);
    let now = noon();
    let order: Vec<String> = std::iter::from_fn(|| queue.next(now).map(|(key, _)| key)).collect();
    assert_eq!(order, ["high", "old", "new"]);
    assert_eq!(queue.next_time(now), None, "what was decided about them is being written");
    // Whether something changes before that is done or after.
    queue.end("high", "high", End::Stuck, now);
    queue.stir(now);
    order.iter().skip(1).for_each(|key| queue.end(key, key, End::Stuck, now));
    assert_eq!(queue.next_time(now), Some(now + jiff::SignedDuration::from_secs(1)));
    let later = now + jiff::SignedDuration::from_secs(1);
    assert_eq!(queue.next(later).map(|(key, _)| key).as_deref(), Some("high"));
    queue.drop_pod("old");
    assert_eq!(queue.next(later).map(|(key, _)| key).as_deref(), Some("new"));
    queue.set("gated", world.request("gated", json!({})));
    assert_eq!(queue.next(later).map(|(key, _)| key).as_deref(), Some("gated"));
}

#[test]
fn the_stuck_are_tried_again_after_five_minutes_whatever_happens() {
    let mut world = World::default();
    let mut queue = Queue::default();
    queue.set("a", world.request("a", json!({})));
    let minutes = |minutes| noon() + jiff::SignedDuration::from_mins(minutes);
    assert!(queue.next(noon()).is_some());
    queue.end("a", "a", End::Stuck, noon());
    assert_eq!(queue.next_time(noon()), Some(minutes(5)));
    assert!(!queue.flush(minutes(4)));
    assert!(queue.next(minutes(4)).is_none());
    assert!(queue.flush(minutes(5)));
    assert_eq!(queue.next(minutes(5)).map(|(key, _)| key).as_deref(), Some("a"));
    queue.end("a", "a", End::Excused, minutes(5));
    assert_eq!(queue.next_time(minutes(5)), Some(minutes(10)), "who waits for a volume is not tried in vain");
}

#[test]
fn what_is_under_way_is_kept_and_ends_once() {
    let mut world = World::default();
    let mut queue = Queue::default();
    let now = noon();
    let second = now + jiff::SignedDuration::from_secs(1);
    queue.set("a", world.request("a", json!({})));
    assert!(queue.next(now).is_some());
    // Nothing that is told of it in the meantime makes it a Pod to be decided about.
    queue.set("a", world.request("a", json!({})));
    queue.set("a", world.request("a", json!({"metadata": {"labels": {"app": "b"}}})));
    queue.stir(now);
    queue.clear();
    assert!(queue.is_under_way("a", "a"));
    assert!(queue.next(second).is_none());
    queue.end("a", "a", End::Failed, now);
    assert_eq!(queue.next_time(now), Some(second), "what could not be written is tried again");
    assert!(queue.next(second).is_some());
    // Another of the same name has nothing to do with it.
    queue.set("a", world.request("a", json!({"metadata": {"uid": "other"}})));
    assert!(!queue.is_under_way("a", "a"));
    queue.end("a", "a", End::Gone, second);
    assert!(queue.next(second).is_some(), "the other one waits for its own");
    queue.end("a", "other", End::Placed, second);
    assert!(queue.is_empty());
}

#[test]
fn a_placed_pod_stirs_only_those_it_may_help() {
    let mut world = World::default();
    let near = |app: &str| {
        json!({"spec": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "zone"}]}}}})
    };
    let even = json!({"spec": {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "a"}}}]}});
    let rows = [
        ("near it", near("a"), true),
        ("near another", near("b"), false),
        ("even with it", even, true),
        ("apart from it", anti("zone"), false),
        ("none of this", json!({}), false),
    ];
    let placed = world.request("placed", json!({}));
    for (name, change, want) in rows {
        let mut queue = Queue::default();
        queue.set("a", world.request("a", change));
        queue.next(noon());
        queue.end("a", "a", End::Stuck, noon());
        let helps = |request: &Request| request.is_helped_by("default", None, &placed.labels);
        assert_eq!(queue.stir_lonely(noon(), helps), want, "{name}");
    }
}
