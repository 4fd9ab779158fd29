//! Steps of a DaemonSet, as tables.
#![expect(clippy::needless_pass_by_value, reason = "tables of JSON literals read better by value")]

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::DaemonSet;
use serde_json::{Value, from_value, json};

use super::plan::{Observed, plan, status};
use super::pods::{self, HASH_LABEL};
use crate::controllers::view::tests::{noon, pod};
use crate::controllers::view::{NodeView, PodView};

fn daemon(template: Value, strategy: Value) -> DaemonSet {
    from_value(json!({
        "metadata": {"name": "agent", "namespace": "default", "uid": "d", "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "updateStrategy": strategy,
            "template": {"metadata": {"labels": {"app": "agent"}}, "spec": template}},
    }))
    .unwrap()
}

fn plain() -> DaemonSet {
    daemon(json!({"containers": []}), rolling(json!(0), json!(1)))
}

fn rolling(surge: Value, unavailable: Value) -> Value {
    json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}})
}

fn node(name: &str, taint: Option<(&str, &str)>) -> Arc<NodeView> {
    let taints: Vec<Value> =
        taint.map(|(key, effect)| json!({"key": key, "effect": effect})).into_iter().collect();
    Arc::new(from_value(json!({"metadata": {"name": name}, "spec": {"taints": taints}})).unwrap())
}

fn on(node: &str, hash: &str) -> PodView {
    pod(&format!("agent-{node}-{hash}")).on(node).labelled(HASH_LABEL, hash).ready_for(60)
}

fn steps(daemon: &DaemonSet, nodes: &[Arc<NodeView>], pods: Vec<PodView>) -> Vec<String> {
    let pods: Vec<Arc<PodView>> = pods.into_iter().map(Arc::new).collect();
    let resting = BTreeSet::from(["tired".to_owned()]);
    let observed = Observed { daemon, nodes, pods: &pods, hash: "new", resting: &resting, now: noon() };
    let plan = plan(&observed);
    let created = plan.create.iter().map(|node| format!("create on {node}"));
    created.chain(plan.delete.iter().map(|pod| format!("delete {}", pod.name()))).collect()
}

#[test]
fn every_fitting_node_has_one_pod() {
    let nodes = [
        node("a", None),
        node("busy", Some(("gpu", "NoSchedule"))),
        node("lost", Some(("node.kubernetes.io/unreachable", "NoExecute"))),
        node("closed", Some(("gpu", "NoExecute"))),
    ];
    assert_eq!(steps(&plain(), &nodes, vec![]), ["create on a", "create on lost"]);
    let everywhere = ["a", "busy", "lost", "closed"].map(|name| on(name, "new")).to_vec();
    assert_eq!(steps(&plain(), &nodes, everywhere), ["delete agent-closed-new"]);
    let selective =
        daemon(json!({"containers": [], "nodeSelector": {"zone": "x"}}), rolling(json!(0), json!(1)));
    assert_eq!(steps(&selective, &nodes, vec![on("a", "new")]), ["delete agent-a-new"]);
}

#[test]
fn ended_and_surplus_pods_are_replaced() {
    let nodes = [node("a", None), node("tired", None)];
    let rows = [
        (
            "a failed one",
            vec![on("a", "new").phase("Failed"), on("tired", "new")],
            vec!["delete agent-a-new"],
        ),
        ("not while its node rests", vec![on("a", "new"), on("tired", "new").phase("Failed")], vec![]),
        (
            "two on one node",
            vec![on("a", "new"), on("a", "old").aged(9), on("tired", "new")],
            vec!["delete agent-a-old"],
        ),
        ("one that goes is waited for", vec![on("a", "new").deleting(), on("tired", "new")], vec![]),
        (
            "one for a node that is gone",
            vec![on("a", "new"), on("tired", "new"), waiting_for("gone")],
            vec!["delete agent-gone"],
        ),
    ];
    for (name, pods, want) in rows {
        assert_eq!(steps(&plain(), &nodes, pods), want, "{name}");
    }
}

fn waiting_for(node: &str) -> PodView {
    let made = pods::make_pod(&plain(), node, "new");
    let mut value = serde_json::to_value(made).unwrap();
    value["metadata"]["name"] = json!(format!("agent-{node}"));
    from_value(value).unwrap()
}

#[test]
fn a_new_template_spreads_as_far_as_may_be_missing() {
    let nodes: Vec<Arc<NodeView>> = ["a", "b", "c"].iter().map(|name| node(name, None)).collect();
    let old = || ["a", "b", "c"].map(|name| on(name, "old")).to_vec();
    assert_eq!(steps(&plain(), &nodes, old()), ["delete agent-a-old"]);
    let two = daemon(json!({"containers": []}), rolling(json!(0), json!("50%")));
    assert_eq!(steps(&two, &nodes, old()), ["delete agent-a-old", "delete agent-b-old"]);
    let mut pods = old();
    pods[2] = pods[2].clone().phase("Pending");
    pods[2].status.conditions.clear();
    assert_eq!(steps(&plain(), &nodes, pods), ["delete agent-c-old"], "what is broken anyway goes first");
    let mut pods = old();
    pods[0] = on("a", "new").deleting();
    assert!(steps(&plain(), &nodes, pods).is_empty(), "one is missing already");
    let manual = daemon(json!({"containers": []}), json!({"type": "OnDelete"}));
    assert!(steps(&manual, &nodes, old()).is_empty());
}

#[test]
fn surging_starts_the_new_before_the_old_goes() {
    let nodes = [node("a", None), node("b", None)];
    let surging = daemon(json!({"containers": []}), rolling(json!(1), json!(0)));
    let old = vec![on("a", "old"), on("b", "old")];
    assert_eq!(steps(&surging, &nodes, old.clone()), ["create on a"]);
    let mut both = old.clone();
    both.push(pod("agent-a-new").on("a").labelled(HASH_LABEL, "new"));
    assert!(steps(&surging, &nodes, both).is_empty(), "the new one is not ready yet");
    let mut both = old;
    both.push(on("a", "new"));
    assert_eq!(steps(&surging, &nodes, both), ["delete agent-a-old"]);
}

#[test]
fn the_status_tells_placed_from_misplaced() {
    let nodes = [node("a", None), node("b", None), node("c", Some(("gpu", "NoSchedule")))];
    let daemon = plain();
    let pods: Vec<Arc<PodView>> =
        vec![on("a", "new"), pod("agent-b").on("b"), on("c", "old")].into_iter().map(Arc::new).collect();
    let resting = BTreeSet::new();
    let observed =
        Observed { daemon: &daemon, nodes: &nodes, pods: &pods, hash: "new", resting: &resting, now: noon() };
    let status = status(&observed);
    assert_eq!(status.desired_number_scheduled, 2);
    assert_eq!((status.current_number_scheduled, status.number_misscheduled), (2, 1));
    assert_eq!(
        (status.number_ready, status.number_available, status.number_unavailable),
        (1, Some(1), Some(1))
    );
    assert_eq!(status.updated_number_scheduled, Some(1));
}
