use super::*;
use crate::{
    model::{ResourceId, ServiceLevel},
    simulate::run::{Options, run},
};

const RECORDED: &str = r#"{"kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"zone": "a"}},
   "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
   "status": {"allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "4"}}},
  {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "runs", "namespace": "team", "uid": "1",
     "labels": {"maar.io/account": "vision"}, "creationTimestamp": "2026-01-01T00:00:00Z"},
   "spec": {"nodeName": "n1", "containers": [{"name": "c", "resources": {"requests": {"cpu": "500m",
            "nvidia.com/gpu": "2"}}}],
            "tolerations": [{"key": "gpu", "operator": "Exists"}]},
   "status": {"phase": "Running"}},
  {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "waits", "namespace": "team", "uid": "2",
            "annotations": {"maar.io/card-share": "nvidia.com/gpu=0.25"}, "creationTimestamp": "2026-01-01T00:01:00Z"},
   "spec": {"containers": [{"name": "c"}], "tolerations": [{"operator": "Exists"}],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms":
              [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]},
              "preferredDuringSchedulingIgnoredDuringExecution": []}}},
   "status": {"phase": "Pending"}},
  {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "over", "namespace": "team", "uid": "3"},
   "spec": {"containers": []}, "status": {"phase": "Succeeded"}},
  {"apiVersion": "maar.io/v1alpha1", "kind": "Account", "metadata": {"name": "vision"},
   "spec": {"capability": {"nvidia.com/gpu": "3"}, "deserved": {"nvidia.com/gpu": "3"}}},
  {"kind": "Service", "metadata": {"name": "other"}}]}"#;

#[test]
fn nodes_accounts_and_pods_of_a_recording_become_a_trace() {
    let trace = read("cluster.json", RECORDED).unwrap();
    assert_eq!(trace.card_capacity(), 4000);
    assert_eq!(trace.nodes[0].taints.len(), 1);
    let [runs, waits] = trace.pods.as_slice() else { panic!("two Pods: {:?}", trace.pods) };
    assert_eq!((runs.node.as_deref(), &*runs.account, runs.cards()), (Some("n1"), "vision", 2000));
    assert_eq!(runs.shape.requests.get(ResourceId::CPU), 500);
    assert_eq!((waits.node.as_deref(), waits.cards(), waits.level), (None, 250, ServiceLevel::Guaranteed));
    assert_eq!(waits.shape.node_terms[0].labels[0].key, "zone");
    let vision = trace.accounts.iter().find(|account| account.name == "vision").unwrap();
    assert_eq!(vision.capability[0].1, 3000);
}

/// A Pod of a job with this many cards, as it waits.
fn waiting(name: &str, cards: u32, more: &str) -> String {
    format!(
        r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{name}", "namespace": "team", "uid": "{name}",
           "labels": {{"maar.io/account": "vision"{more}}}}}, "spec": {{"tolerations": [{{"operator": "Exists"}}],
           "containers": [{{"name": "c", "resources": {{"requests": {{"nvidia.com/gpu": "{cards}"}}}}}}]}}}},"#
    )
}

fn with(objects: &str) -> String {
    RECORDED.replace(r#"{"kind": "Service""#, &format!(r#"{objects} {{"kind": "Service""#))
}

#[test]
fn the_limits_of_recorded_accounts_hold() {
    let trace = read("cluster.json", &with(&(waiting("one", 1, "") + &waiting("two", 1, "")))).unwrap();
    let outcome = run(&trace, &Options::default());
    assert_eq!((outcome.pods, outcome.never_started), (4, 1), "three cards at most, and two are in use");
}

#[test]
fn recorded_jobs_start_with_their_minimum() {
    let job = r#"{"apiVersion": "maar.io/v1alpha1", "kind": "AIJob", "metadata": {"name": "train", "namespace": "team"},
        "spec": {"minAvailable": 2, "tasks": [{"name": "worker", "replicas": 2, "template": {}}]}},"#;
    let label = r#", "maar.io/job": "train", "maar.io/task": "worker""#;
    let pods = waiting("w0", 1, label) + &waiting("w1", 1, label);
    let trace = read("cluster.json", &with(&format!("{job} {pods}"))).unwrap();
    let group = &trace.pods[2].recorded.as_ref().unwrap().group;
    assert_eq!((group.name.as_str(), group.minimum), ("team/train", 2));
    let outcome = run(&trace, &Options::default());
    assert_eq!(outcome.never_started, 2, "one of them would be within the limit, two are not");
}

/// A disruption budget for Pods labelled `app=web`, of which two must stay.
const BUDGET: &str = r#"{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
    "metadata": {"name": "web", "namespace": "team"}, "spec": {"selector": {"matchLabels": {"app": "web"}}},
    "status": {"disruptionsAllowed": 9, "desiredHealthy": 2}},"#;

/// A best-effort Pod that runs with one card.
fn running(name: &str) -> String {
    format!(
        r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{name}", "namespace": "team", "uid": "{name}",
           "creationTimestamp": "2026-01-01T00:00:00Z",
           "labels": {{"app": "web", "maar.io/service-level": "best-effort"}}}},
           "spec": {{"nodeName": "n2", "containers": [{{"name": "c", "resources": {{"requests":
             {{"nvidia.com/gpu": "1"}}}}}}]}}, "status": {{"phase": "Running"}}}},"#
    )
}

#[test]
fn recorded_budgets_let_only_so_many_go() {
    let node = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2"},
        "status": {"allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "4"}}},"#;
    let residents: String = (0..4).map(|number| running(&format!("web-{number}"))).collect();
    // They bear no taint, so only the second node is for them.
    let claimant = |number: usize| {
        let pod = waiting(&format!("sure-{number}"), 1, "").replace(r#"{"operator": "Exists"}"#, "");
        pod.replace(r#""maar.io/account": "vision""#, r#""team": "a""#)
    };
    let claimants: String = (0..4).map(claimant).collect();
    let evictions = |budget: &str| {
        let text = with(&format!("{node} {budget} {residents} {claimants}"));
        run(&read("cluster.json", &text).unwrap(), &Options::default()).evictions
    };
    assert_eq!(evictions(""), 4);
    assert_eq!(evictions(BUDGET), 2, "two of four must stay, whatever was allowed when it was recorded");
}

#[test]
fn mistakes_are_named_with_their_place() {
    let said = |text: &str| read("cluster.json", text).unwrap_err().to_string();
    assert!(said("{").starts_with("cluster.json:1:1: EOF while parsing"), "{}", said("{"));
    let wrong = RECORDED.replace(r#""nodeName": "n1""#, r#""nodeName": 7"#);
    assert!(
        said(&wrong).starts_with("cluster.json:7:25: invalid type: integer `7`, expected a string;"),
        "{}",
        said(&wrong)
    );
    assert!(said(r#"{"items": []}"#).starts_with("cluster.json has no nodes"));
    let share = said(&RECORDED.replace("=0.25", "=2"));
    assert!(share.starts_with("cluster.json: Pod team/waits: "), "{share}");
}
