//! The table, driven as the driver drives it but with an API that is a map.

use std::{net::Ipv4Addr, time::Duration};

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use maar_quantities::{Quantity, ResourceList};
use serde_json::json;

use super::*;
use crate::{
    profile::{Cards, Power, Vendor},
    simulated::runtime::Simulation,
};

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_767_225_600 + seconds)
}

fn table() -> Table<Simulation> {
    let (events, _) = Recorder::new(crate::events::EventPolicy::All);
    let mut table = Table::new(Arc::new(Simulation { start_delay: Duration::from_secs(1) }), events);
    let offered = [("cpu", "4"), ("memory", "8Gi"), ("pods", "110"), ("nvidia.com/gpu", "4")];
    let offered: ResourceList =
        offered.iter().map(|(name, text)| (*name, Quantity::parse(text).unwrap())).collect();
    let cards = Cards {
        resource: "nvidia.com/gpu".into(),
        count: 4,
        replicas: 1,
        vendor: Vendor::Nvidia,
        model: "X".into(),
        memory: Quantity::from_bytes(1),
        power: Power::default(),
    };
    let (offered, cards) = (Arc::new(offered), Arc::new(cards));
    for (number, name) in [(0, "n0"), (1, "n1")] {
        let network = Ipv4Addr::new(10, 0, number, 0);
        let address = Ipv4Addr::new(172, 16, 0, number).into();
        let node = NodeEntry::new(name.into(), address, network, offered.clone(), Some(cards.clone()));
        table.nodes.insert(name.into(), node);
    }
    table
}

/// The API's side: applies what the table writes.
struct World {
    table: Table<Simulation>,
    objects: BTreeMap<Arc<str>, PodObject>,
    writes: usize,
}

impl World {
    fn new() -> Self {
        Self { table: table(), objects: BTreeMap::new(), writes: 0 }
    }

    fn create(&mut self, name: &str, node: &str, requests: &Value, now: i64) {
        let spec = json!({ "nodeName": node, "restartPolicy": "Never",
            "containers": [{ "name": "c", "image": "i", "resources": { "requests": requests } }] });
        let metadata = ObjectMeta {
            name: Some(name.into()),
            namespace: Some("ns".into()),
            uid: Some(format!("uid-{name}")),
            generation: Some(1),
            ..ObjectMeta::default()
        };
        let object = PodObject { metadata, spec, status: json!({ "phase": "Pending" }) };
        self.change(name, now, |existing| *existing = object);
    }

    fn change(&mut self, name: &str, now: i64, edit: impl FnOnce(&mut PodObject)) {
        let object = self.objects.entry(format!("uid-{name}").into()).or_default();
        edit(object);
        self.table.pod_changed(object, at(now));
        self.flush(at(now));
    }

    fn flush(&mut self, now: Timestamp) {
        while let Some(write) = self.table.next_write(now) {
            self.apply(&write, now);
        }
    }

    fn annotate(&mut self, name: &str, annotation: &str, value: &str, now: i64) {
        self.change(name, now, |object| {
            object.metadata.annotations.get_or_insert_default().insert(annotation.into(), value.into());
        });
    }

    fn delete(&mut self, name: &str, grace: i64, now: i64) {
        self.change(name, now, |object| {
            object.metadata.deletion_timestamp = Some(Time(at(now + grace)));
            object.metadata.deletion_grace_period_seconds = Some(grace);
        });
    }

    /// Lives until `end`, applying every write at once.
    fn until(&mut self, end: i64) {
        let mut now = at(end).min(self.table.next_due().unwrap_or(at(end)));
        loop {
            self.table.run_due(now);
            self.flush(now);
            match self.table.next_due() {
                Some(due) if due <= at(end) => now = due.max(now),
                _ => return,
            }
        }
    }

    fn apply(&mut self, write: &Write, now: Timestamp) {
        self.writes += 1;
        match &write.request {
            Request::Delete => {
                self.objects.remove(&write.uid);
                self.table.written(write, Outcome::Done, now);
                self.table.pod_gone(&write.uid);
            }
            Request::Status(status) => {
                let object = self.objects.get_mut(&write.uid).expect("writes go to known pods");
                let others = |condition: &&Value| {
                    let shown = status["conditions"].as_array().into_iter().flatten();
                    !shown.into_iter().any(|own| own["type"] == condition["type"])
                };
                let kept: Vec<Value> = object.status["conditions"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter(others)
                    .cloned()
                    .collect();
                object.status = status.clone();
                object.status["conditions"].as_array_mut().expect("a list").extend(kept);
                self.table.written(write, Outcome::Done, now);
                let object = object.clone();
                self.table.pod_changed(&object, now);
            }
        }
    }

    fn phase(&self, name: &str) -> &str {
        let object = self.objects.get(format!("uid-{name}").as_str());
        object.map_or("gone", |object| object.status["phase"].as_str().unwrap_or("none"))
    }
}

#[test]
fn a_pod_runs_and_is_deleted_with_few_writes() {
    let mut world = World::new();
    world.create("a", "n0", &json!({}), 0);
    world.until(5);
    assert_eq!(world.phase("a"), "Running");
    assert_eq!(world.writes, 2, "creating and running");
    world.until(10_000);
    assert_eq!(world.writes, 2, "nothing changes, nothing is written");
    world.delete("a", 30, 10_000);
    world.until(10_001);
    assert_eq!((world.phase("a"), world.writes), ("gone", 4));
    assert!(world.table.pods.is_empty() && world.table.names.is_empty());
    assert_eq!(world.table.nodes["n0"].pods().count(), 0);
}

#[test]
fn a_pod_that_others_called_not_ready_is_ready_again_when_its_node_is_back() {
    let mut world = World::new();
    world.create("a", "n0", &json!({}), 0);
    world.until(5);
    let network = crate::failure::Failures { network: true, ..crate::failure::Failures::NONE };
    world.table.nodes.get_mut("n0").unwrap().set_failures(network);
    // As the node controller does when nothing was heard of a node for long.
    world.change("a", 60, |object| {
        for condition in object.status["conditions"].as_array_mut().unwrap() {
            if condition["type"] == "Ready" {
                condition["status"] = json!("False");
            }
        }
    });
    world.until(100);
    assert_eq!(world.objects["uid-a"].condition("Ready"), Some("False"), "nothing comes from the node");
    world.table.nodes.get_mut("n0").unwrap().set_failures(crate::failure::Failures::NONE);
    world.table.node_changed("n0", at(100));
    world.flush(at(100));
    assert_eq!((world.objects["uid-a"].condition("Ready"), world.writes), (Some("True"), 3));
    world.until(10_000);
    assert_eq!(world.writes, 3, "once is enough");
}

#[test]
fn pods_of_other_nodes_are_none_of_our_business() {
    let mut world = World::new();
    world.create("a", "elsewhere", &json!({}), 0);
    world.until(100);
    assert_eq!((world.writes, world.table.pods.len()), (0, 0));
}

#[test]
fn resources_are_taken_refused_and_given_back() {
    let mut world = World::new();
    world.create("a", "n0", &json!({"cpu": "3", "nvidia.com/gpu": "2"}), 0);
    world.create("b", "n0", &json!({"cpu": "2"}), 1);
    world.create("c", "n1", &json!({"cpu": "2", "nvidia.com/gpu": "1"}), 1);
    world.until(5);
    assert_eq!((world.phase("a"), world.phase("b"), world.phase("c")), ("Running", "Failed", "Running"));
    assert_eq!(world.objects["uid-b"].status["reason"], "OutOfcpu");
    let cards = |world: &World, uid: &str| world.table.nodes["n0"].cards.as_ref().unwrap().held(uid, 0);
    assert_eq!(cards(&world, "uid-a"), [0, 1]);
    world.annotate("a", "sim.maar.io/fail-now", "7", 6);
    world.until(6);
    assert_eq!(world.phase("a"), "Failed");
    assert!(cards(&world, "uid-a").is_empty());
    world.create("d", "n0", &json!({"cpu": "4", "nvidia.com/gpu": "4"}), 7);
    world.until(9);
    assert_eq!(world.phase("d"), "Running");
}

#[test]
fn broken_cards_are_not_offered() {
    let mut world = World::new();
    let node = world.table.nodes.get_mut("n0").unwrap();
    node.set_failures("cards=3".parse().unwrap());
    assert_eq!(node.allocatable.get("nvidia.com/gpu").value(), 1);
    world.create("a", "n0", &json!({"nvidia.com/gpu": "2"}), 0);
    world.until(5);
    assert_eq!(world.objects["uid-a"].status["reason"], "OutOfnvidia.com/gpu");
    let node = world.table.nodes.get_mut("n0").unwrap();
    node.set_failures(crate::failure::Failures::NONE);
    assert_eq!(node.allocatable.get("nvidia.com/gpu").value(), 4);
}

#[test]
fn a_node_without_network_catches_up_when_healed() {
    let mut world = World::new();
    world.create("a", "n0", &json!({}), 0);
    world.annotate("a", "sim.maar.io/run-time", "60s", 0);
    world.until(5);
    world.table.nodes.get_mut("n0").unwrap().set_failures("network".parse().unwrap());
    world.until(100);
    assert_eq!(world.phase("a"), "Running");
    world.table.nodes.get_mut("n0").unwrap().set_failures("".parse().unwrap());
    world.table.node_changed("n0", at(100));
    world.until(100);
    assert_eq!(world.phase("a"), "Succeeded");
    assert_eq!(
        world.objects["uid-a"].status["containerStatuses"][0]["state"]["terminated"]["finishedAt"],
        "2026-01-01T00:01:01Z"
    );
}

#[test]
fn a_restarted_kubelet_writes_nothing_that_is_already_there() {
    let mut world = World::new();
    for name in ["a", "b"] {
        world.create(name, "n0", &json!({"cpu": "1"}), 0);
    }
    world.annotate("b", "sim.maar.io/run-time", "50s", 0);
    world.until(5);
    let writes = world.writes;
    world.table = table();
    world.table.list_began();
    for object in world.objects.values().cloned().collect::<Vec<_>>() {
        world.table.pod_changed(&object, at(20));
    }
    world.table.list_ended();
    world.until(40);
    assert_eq!(world.writes, writes);
    world.until(60);
    assert_eq!((world.phase("a"), world.phase("b")), ("Running", "Succeeded"));
}

#[test]
fn what_is_missing_from_a_list_is_gone() {
    let mut world = World::new();
    for name in ["a", "b"] {
        world.create(name, "n0", &json!({"cpu": "2"}), 0);
    }
    world.until(5);
    world.table.list_began();
    let object = world.objects["uid-a"].clone();
    world.table.pod_changed(&object, at(6));
    world.table.list_ended();
    assert_eq!(world.table.pods.len(), 1);
    world.create("c", "n0", &json!({"cpu": "2"}), 7);
    world.until(9);
    assert_eq!(world.phase("c"), "Running");
}

#[test]
fn failed_writes_are_tried_again_later_and_later() {
    let mut table = table();
    let mut world = World::new();
    world.create("a", "n0", &json!({}), 0);
    let object = world.objects["uid-a"].clone();
    table.pod_changed(&object, at(0));
    let mut now = at(0);
    let mut waits = Vec::new();
    for _ in 0..8 {
        let write = loop {
            if let Some(write) = table.next_write(now) {
                break write;
            }
            now = table.next_due().expect("a retry is planned");
            table.run_due(now);
        };
        assert!(table.next_write(now).is_none(), "one at a time");
        table.written(&write, Outcome::Failed, now);
        let retry = table.pods["uid-a"].retry.expect("it is tried again");
        waits.push(retry.duration_since(now).as_millis());
    }
    assert_eq!(waits, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
}

#[test]
fn somebody_elses_verdict_ends_the_pod() {
    let mut world = World::new();
    world.create("a", "n0", &json!({}), 0);
    world.until(5);
    world.change("a", 6, |object| {
        object.status["phase"] = json!("Failed");
        object.status["reason"] = json!("NodeLost");
    });
    world.until(7);
    let status = &world.objects["uid-a"].status;
    assert_eq!((status["phase"].as_str(), status["reason"].as_str()), (Some("Failed"), Some("NodeLost")));
    assert!(status["containerStatuses"][0]["state"]["terminated"].is_object());
}

#[test]
fn readiness_gates_follow_the_api() {
    let mut world = World::new();
    world.create("a", "n0", &json!({}), 0);
    world.change("a", 0, |object| {
        object.spec["readinessGates"] = json!([{ "conditionType": "x/y" }]);
        object.metadata.generation = Some(2);
    });
    world.until(5);
    let ready = |world: &World| world.objects["uid-a"].condition("Ready").unwrap().to_owned();
    assert_eq!(ready(&world), "False");
    world.change("a", 6, |object| {
        let conditions = object.status["conditions"].as_array_mut().unwrap();
        conditions.push(json!({ "type": "x/y", "status": "True" }));
    });
    world.until(7);
    assert_eq!(ready(&world), "True");
}

#[test]
fn a_removed_node_forgets_its_pods() {
    let mut world = World::new();
    world.create("a", "n0", &json!({}), 0);
    let writes = world.writes;
    world.table.node_removed("n0");
    world.until(100);
    assert_eq!((world.writes, world.table.pods.len(), world.table.nodes.len()), (writes, 0, 1));
}

#[test]
fn a_pod_costs_little_memory() {
    let mut table = table();
    table.nodes.get_mut("n0").unwrap().set_failures("network".parse().unwrap());
    let per_pod = size_of::<PodEntry>() + size_of::<crate::lifecycle::ContainerLife>();
    assert!(per_pod < 700, "{per_pod} bytes: 100,000 pods are to fit");
}
