use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::core::{Budget, Config};
use crate::model::{PodPhase, Resources};

/// A world and its ledger, with every kind listed.
struct Told {
    world: World,
    core: Core,
}

impl Told {
    fn new() -> Self {
        let mut told = Self::without_groups();
        told.apply(Change::Job(Event::Init));
        told.apply(Change::Job(Event::InitDone));
        told
    }

    /// The same on a cluster that does not know jobs either.
    fn without_groups() -> Self {
        let settings = Settings::default();
        let mut resources = Resources::default();
        let (cards, kinds) = settings.kinds(&mut resources);
        let mut told =
            Self { world: World::new(settings, cards), core: Core::new(Config::default(), kinds, resources) };
        for kind in [Kind::Volcano, Kind::Upstream, Kind::Jobs] {
            told.apply(Change::Absent(kind));
        }
        told
    }

    fn apply(&mut self, change: Change) {
        self.world.apply(&mut self.core, change);
    }

    fn node(&mut self, name: &str) {
        let node = json!({"metadata": {"name": name}, "status": {"allocatable":
            {"cpu": "8", "memory": "16Gi", "pods": "110", "nvidia.com/gpu": "8"}}});
        self.apply(Change::Node(Event::Apply(lean(node))));
    }

    fn pod(&mut self, pod: Value) {
        self.apply(Change::Pod(Event::Apply(lean(pod))));
    }

    fn phase(&self, uid: &str) -> Option<PodPhase> {
        let id = self.core.ledger().find_pod(uid)?;
        Some(self.core.ledger().pod(id)?.pod.phase.clone())
    }

    /// Lets the core find a place; answers the Pod and its node.
    fn place(&mut self, uid: &str) -> (PodId, String) {
        self.core.pass(0, Budget::default());
        let id = self.core.ledger().find_pod(uid).unwrap();
        let Some(PodPhase::Placed { node, .. }) = self.phase(uid) else { panic!("{uid} has no place") };
        (id, self.core.ledger().node(node).unwrap().node.name.clone())
    }
}

fn lean<K: Wire>(value: Value) -> Lean<K> {
    serde_json::from_str(&value.to_string()).unwrap()
}

fn pod(name: &str, version: u64) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": version.to_string()},
        "spec": {"schedulerName": "maar-scheduler", "containers": [{"resources": {"requests": {"cpu": "1"}}}]},
        "status": {"phase": "Pending"},
    })
}

fn on(mut pod: Value, node: &str) -> Value {
    pod["spec"]["nodeName"] = json!(node);
    pod
}

#[test]
fn an_older_view_takes_nothing_back() {
    let mut told = Told::new();
    told.node("a");
    told.pod(pod("p", 5));
    told.place("p");
    told.pod(pod("p", 6));
    assert!(matches!(told.phase("p"), Some(PodPhase::Placed { .. })), "the bind is under way");
    told.pod(on(pod("p", 7), "a"));
    told.pod(pod("p", 6));
    assert!(matches!(told.phase("p"), Some(PodPhase::Placed { .. })), "an old view came late");
    told.apply(Change::Pod(Event::Delete(lean(on(pod("p", 9), "a")))));
    told.pod(on(pod("p", 8), "a"));
    assert_eq!(told.phase("p"), None, "the dead do not come back");
}

#[test]
fn a_list_shows_who_is_gone() {
    let mut told = Told::new();
    told.node("a");
    told.pod(pod("p", 5));
    told.pod(pod("q", 5));
    for change in [Event::Init, Event::InitApply(lean(pod("q", 5))), Event::InitDone] {
        told.apply(Change::Pod(change));
    }
    assert_eq!((told.phase("p"), told.phase("q")), (None, Some(PodPhase::Pending)));
    assert!(told.core.ledger().find_group("n/pod:p").is_none());
    told.apply(Change::Node(Event::Init));
    told.apply(Change::Node(Event::InitDone));
    assert_eq!(told.core.ledger().node_count(), 0);
}

#[test]
fn our_own_bind_is_no_news_and_another_place_is() {
    let mut told = Told::new();
    told.node("a");
    told.node("b");
    told.pod(pod("p", 5));
    told.pod(pod("q", 5));
    let (_, here) = told.place("p");
    let (_, there) = told.place("q");
    told.world.take_changed();
    told.pod(on(pod("p", 6), &here));
    assert!(!told.world.take_changed());
    let elsewhere = if there == "a" { "b" } else { "a" };
    told.pod(on(pod("q", 6), elsewhere));
    assert!(told.world.take_changed(), "somebody else bound it elsewhere");
    let want = told.core.ledger().find_node(elsewhere).unwrap();
    assert!(matches!(told.phase("q"), Some(PodPhase::Placed { node, .. }) if node == want));
}

#[test]
fn pods_of_others_count_once_they_have_a_node() {
    let mut told = Told::new();
    told.node("a");
    let mut foreign = pod("p", 5);
    foreign["spec"]["schedulerName"] = json!("default-scheduler");
    told.pod(foreign.clone());
    assert_eq!(told.phase("p"), None);
    let mut bound = on(foreign, "a");
    bound["metadata"]["resourceVersion"] = json!("6");
    told.pod(bound);
    assert!(matches!(told.phase("p"), Some(PodPhase::Placed { .. })));
    assert!(told.core.ledger().groups_pending().next().is_none());
}

#[test]
fn room_promised_to_pods_of_others_is_kept_until_they_come_or_give_it_up() {
    let mut told = Told::new();
    told.node("a");
    let foreign = |version: u64, promised: &str| {
        let mut foreign = pod("p", version);
        foreign["spec"]["schedulerName"] = json!("default-scheduler");
        foreign["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("8");
        foreign["status"]["nominatedNodeName"] = json!(promised);
        foreign
    };
    told.pod(foreign(5, "a"));
    told.pod(pod("q", 5));
    told.core.pass(0, Budget::default());
    assert_eq!(told.phase("q"), Some(PodPhase::Pending), "all cores are promised");
    told.world.take_changed();
    told.pod(foreign(6, ""));
    assert!(told.world.take_changed());
    assert_eq!(told.phase("p"), None);
    told.place("q");
}

#[test]
fn volumes_of_all_who_run_count_whenever_their_claims_are_seen() {
    let mut told = Told::new();
    told.node("a");
    let limits =
        json!({"metadata": {"name": "a"}, "spec": {"drivers": [{"name": "d", "allocatable": {"count": 1}}]}});
    told.apply(Change::CsiNode(Event::Apply(lean(limits))));
    let using = |name: &str, claim: &str| {
        let mut one = pod(name, 5);
        one["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
        one
    };
    let mut foreign = on(using("p", "one"), "a");
    foreign["spec"]["schedulerName"] = json!("default-scheduler");
    told.pod(foreign);
    told.pod(using("q", "two"));
    told.pod(using("r", "one"));
    for (claim, volume) in [("one", "v1"), ("two", "v2")] {
        let volume =
            json!({"metadata": {"name": volume}, "spec": {"csi": {"driver": "d", "volumeHandle": volume}}});
        let claim = json!({"metadata": {"name": claim, "namespace": "n"}, "spec": {"volumeName": volume["metadata"]["name"]},
            "status": {"phase": "Bound"}});
        told.apply(Change::Claim(Event::Apply(lean(claim))));
        told.apply(Change::Volume(Event::Apply(lean(volume))));
    }
    told.place("r");
    assert_eq!(told.phase("q"), Some(PodPhase::Pending), "the node takes one volume, and has it");
    told.apply(Change::Pod(Event::Delete(lean(using("p", "one")))));
    told.core.pass(0, Budget::default());
    assert_eq!(told.phase("q"), Some(PodPhase::Pending), "the other one still uses it");
    told.apply(Change::Pod(Event::Delete(lean(using("r", "one")))));
    told.place("q");
}

#[test]
fn a_pod_waits_for_the_job_it_names() {
    let mut told = Told::new();
    let mut one = pod("p", 5);
    one["metadata"]["labels"] = json!({"maar.io/job": "j", "maar.io/account": "vision"});
    told.pod(one);
    let group = told.core.ledger().find_group("n/j").unwrap();
    assert!(told.core.ledger().group(group).unwrap().group.unknown, "how many start together is not known");
    let job = json!({"metadata": {"name": "j", "namespace": "n", "uid": "j"}, "spec": {"tasks": [{"name": "w", "replicas": 3}]}});
    told.apply(Change::Job(Event::Apply(lean(job.clone()))));
    let state = told.core.ledger().group(group).unwrap();
    assert_eq!((state.group.minimum, state.group.unknown), (3, false));
    assert_eq!(state.group.account, "vision");
    told.apply(Change::Job(Event::Delete(lean(job))));
    assert!(told.core.ledger().group(group).unwrap().group.unknown);
    told.apply(Change::Pod(Event::Delete(lean(pod("p", 9)))));
    assert!(told.core.ledger().find_group("n/j").is_none());
}

#[test]
fn a_pod_of_a_job_waits_until_the_cluster_knows_jobs() {
    let mut told = Told::without_groups();
    let mut one = pod("p", 5);
    one["metadata"]["labels"] = json!({"maar.io/job": "j"});
    told.pod(one);
    assert!(told.core.ledger().find_group("n/pod:p").is_none(), "it is not alone");
    let group = told.core.ledger().find_group("n/j").unwrap();
    assert!(told.core.ledger().group(group).unwrap().group.unknown, "how many start together is not known");
    let job = json!({"metadata": {"name": "j", "namespace": "n", "uid": "j"}, "spec": {"tasks": [{"name": "w", "replicas": 1}]}});
    told.apply(Change::Job(Event::Init));
    told.apply(Change::Job(Event::InitApply(lean(job))));
    told.apply(Change::Job(Event::InitDone));
    assert!(!told.core.ledger().group(group).unwrap().group.unknown);
}

#[test]
fn a_group_of_a_kind_that_nobody_serves_is_none_until_somebody_does() {
    let mut told = Told::new();
    let mut one = pod("p", 5);
    one["metadata"]["annotations"] = json!({"scheduling.k8s.io/group-name": "g"});
    told.pod(one);
    assert!(told.core.ledger().find_group("n/pod:p").is_some());
    let group = json!({"metadata": {"name": "g", "namespace": "n", "uid": "g"}, "spec": {"minMember": 2}});
    told.apply(Change::Volcano(Event::Init));
    told.apply(Change::Volcano(Event::InitApply(lean(group))));
    told.apply(Change::Volcano(Event::InitDone));
    assert!(
        told.core.ledger().find_group("n/pod:p").is_none(),
        "the Pod has not been seen again, but is in the group"
    );
    let id = told.core.ledger().find_group("n/volcano:g").unwrap();
    let state = told.core.ledger().group(id).unwrap();
    assert_eq!((state.group.minimum, state.pending.len()), (2, 1));
}

#[test]
fn the_account_is_the_labels_else_the_namespaces_else_the_default() {
    let mut told = Told::new();
    let namespace = json!({"metadata": {"name": "n", "annotations": {"maar.io/account": "lab"}}});
    told.pod(pod("before", 1));
    told.apply(Change::Namespace(Event::Apply(lean(namespace))));
    told.pod(pod("after", 1));
    let mut labelled = pod("labelled", 1);
    labelled["metadata"]["labels"] = json!({"maar.io/account": "own"});
    told.pod(labelled);
    let accounts = |told: &Told| {
        ["before", "after", "labelled"].map(|name| {
            let id = told.core.ledger().find_group(&format!("n/pod:{name}")).unwrap();
            told.core.ledger().group(id).unwrap().group.account.clone()
        })
    };
    assert_eq!(accounts(&told), ["lab", "lab", "own"], "in whichever order they were seen");
    told.apply(Change::Namespace(Event::Apply(lean(json!({"metadata": {"name": "n"}})))));
    assert_eq!(accounts(&told), ["default", "default", "own"]);
}

#[test]
fn a_pod_that_is_seen_before_its_namespace_waits_for_it() {
    let mut told = Told::new();
    told.node("a");
    told.pod(pod("early", 1));
    for event in [Event::Init, Event::InitDone] {
        told.apply(Change::Namespace(event));
    }
    told.pod(pod("late", 2));
    told.core.pass(0, Budget::default());
    assert_eq!([told.phase("early"), told.phase("late")], [Some(PodPhase::Gated), Some(PodPhase::Gated)]);
    assert!(told.world.waiting(&told.core, false).iter().all(|pod| pod.why.contains("namespace")));
    let limited =
        json!({"metadata": {"name": "n", "annotations": {"maar.io/user-limits": r#"{"cpu": "1"}"#}}});
    told.apply(Change::Namespace(Event::Apply(lean(limited))));
    told.core.pass(0, Budget::default());
    let mut phases = [told.phase("early"), told.phase("late")];
    phases.sort_by_key(|phase| *phase == Some(PodPhase::Pending));
    assert!(matches!(phases[0], Some(PodPhase::Placed { .. })), "{phases:?}");
    assert_eq!(phases[1], Some(PodPhase::Pending), "the limit of the namespace holds for both");
}

#[test]
fn a_pod_that_makes_no_sense_is_refused_and_the_rest_goes_on() {
    let mut told = Told::new();
    let mut odd = pod("odd", 5);
    odd["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("lots");
    told.pod(odd);
    told.pod(json!({"metadata": {"name": "broken", "uid": "broken"}, "spec": {"containers": 5}}));
    told.pod(pod("fine", 5));
    let refused = told.world.waiting(&told.core, true);
    assert_eq!(refused.len(), 1);
    assert!(refused[0].name == "odd" && refused[0].why.contains("cannot be read"), "{refused:?}");
    assert_eq!(told.phase("fine"), Some(PodPhase::Pending));
    assert_eq!(told.phase("odd"), None);
}

#[test]
fn a_pod_waits_for_its_claim_and_goes_on_when_it_is_bound() {
    let mut told = Told::new();
    let mut one = pod("p", 5);
    one["spec"]["volumes"] = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]);
    told.pod(one);
    assert_eq!(told.phase("p"), Some(PodPhase::Gated));
    assert!(told.world.waiting(&told.core, false)[0].why.contains("claim data does not exist"));
    let volume = json!({"metadata": {"name": "v"}, "spec": {}});
    told.apply(Change::Volume(Event::Apply(lean(volume))));
    let claim = json!({"metadata": {"name": "data", "namespace": "n"}, "spec": {"volumeName": "v"}, "status": {"phase": "Bound"}});
    told.apply(Change::Claim(Event::Apply(lean(claim))));
    assert_eq!(told.phase("p"), Some(PodPhase::Pending));
    assert!(told.world.waiting(&told.core, false).is_empty());
}

#[test]
fn a_refused_bind_sets_a_pod_aside_until_there_is_news_or_time_has_passed() {
    let mut told = Told::new();
    told.node("a");
    told.pod(pod("p", 5));
    let (id, _) = told.place("p");
    told.core.bind_failed(id);
    told.world.hold(&mut told.core, id, "409".to_owned());
    assert_eq!(told.phase("p"), Some(PodPhase::Gated));
    told.world.release(&mut told.core, id);
    assert_eq!(told.phase("p"), Some(PodPhase::Pending));
    told.world.hold(&mut told.core, id, "409".to_owned());
    told.pod(pod("p", 6));
    assert_eq!(told.phase("p"), Some(PodPhase::Pending));
}

#[test]
fn cards_are_read_back_from_what_was_bound() {
    let mut told = Told::new();
    told.node("a");
    let mut one = on(pod("p", 5), "a");
    one["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = json!("2");
    one["metadata"]["annotations"] = json!({"maar.io/cards": "nvidia.com/gpu=3,5"});
    told.pod(one);
    let Some(PodPhase::Placed { cards, .. }) = told.phase("p") else { panic!("{:?}", told.phase("p")) };
    assert_eq!(cards.indices, [3, 5]);
}

/// A step of the history of a few Pods.
#[derive(Debug, Clone)]
enum Step {
    See { pod: u8, node: Option<u8>, ended: bool },
    Gone(u8),
    List(Vec<u8>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let see = (0_u8..4, proptest::option::of(0_u8..2), proptest::bool::weighted(0.1))
        .prop_map(|(pod, node, ended)| Step::See { pod, node, ended });
    let step = prop_oneof![
        6 => see,
        1 => (0_u8..4).prop_map(Step::Gone),
        1 => proptest::collection::vec(0_u8..4, 0..4).prop_map(Step::List),
    ];
    proptest::collection::vec(step, 0..40)
}

proptest! {
    /// Whatever is seen in whatever order, groups and Pods keep each other company: none is left when all Pods are gone.
    #[test]
    fn nothing_is_left_of_pods_that_are_gone(steps in steps()) {
        let mut told = Told::new();
        told.node("node-0");
        told.node("node-1");
        let mut version = 1;
        let mut make = |pod_number: u8, node: Option<u8>, ended: bool| {
            version += 1;
            let mut one = pod(&format!("p{pod_number}"), version);
            if pod_number.is_multiple_of(2) {
                one["metadata"]["labels"] = json!({"maar.io/job": "j"});
            }
            if let Some(node) = node {
                one = on(one, &format!("node-{node}"));
            }
            if ended {
                one["status"]["phase"] = json!("Succeeded");
            }
            one
        };
        for step in steps {
            match step {
                Step::See { pod, node, ended } => told.pod(make(pod, node, ended)),
                Step::Gone(pod) => {
                    let last = make(pod, None, false);
                    told.apply(Change::Pod(Event::Delete(lean(last))));
                }
                Step::List(pods) => {
                    told.apply(Change::Pod(Event::Init));
                    for pod in pods {
                        told.apply(Change::Pod(Event::InitApply(lean(make(pod, None, false)))));
                    }
                    told.apply(Change::Pod(Event::InitDone));
                }
            }
        }
        told.apply(Change::Pod(Event::Init));
        told.apply(Change::Pod(Event::InitDone));
        prop_assert_eq!(told.core.ledger().pods().count(), 0);
        prop_assert_eq!(told.core.ledger().groups().count(), 0);
        for node in told.core.ledger().nodes() {
            prop_assert!(node.used.is_zero() && node.pods.is_empty());
        }
    }
}

/// A Pod that must not be near Pods of the namespaces of a team.
fn away_from_team(name: &str, version: u64) -> Value {
    let mut pod = pod(name, version);
    pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = json!([{
        "topologyKey": "host", "labelSelector": {"matchLabels": {"app": "noisy"}},
        "namespaceSelector": {"matchLabels": {"team": "red"}},
    }]);
    pod
}

impl Told {
    fn host(&mut self, name: &str) {
        let node = json!({"metadata": {"name": name, "labels": {"host": name}}, "status": {"allocatable":
            {"cpu": "8", "memory": "16Gi", "pods": "110"}}});
        self.apply(Change::Node(Event::Apply(lean(node))));
    }

    /// All namespaces there are have been listed: none.
    fn namespaces(&mut self) {
        for event in [Event::Init, Event::InitDone] {
            self.apply(Change::Namespace(event));
        }
    }

    fn namespace(&mut self, name: &str, labels: Value) {
        let namespace = json!({"metadata": {"name": name, "labels": labels}});
        self.apply(Change::Namespace(Event::Apply(lean(namespace))));
    }
}

#[test]
fn a_namespace_that_gets_other_labels_is_meant_by_those_who_wait() {
    let mut told = Told::new();
    told.host("a");
    told.namespaces();
    for name in ["n", "m"] {
        told.namespace(name, json!({}));
    }
    let mut noisy = on(pod("noisy", 1), "a");
    noisy["metadata"]["namespace"] = json!("m");
    noisy["metadata"]["labels"] = json!({"app": "noisy"});
    told.pod(noisy);
    told.namespace("m", json!({"team": "red"}));
    told.pod(away_from_team("p", 2));
    told.core.pass(0, Budget::default());
    assert_eq!(told.phase("p"), Some(PodPhase::Pending), "it came after the label");
    told.namespace("m", json!({"team": "blue"}));
    told.core.pass(0, Budget::default());
    assert!(matches!(told.phase("p"), Some(PodPhase::Placed { .. })), "nobody of the team is there any more");
}

#[test]
fn a_new_namespace_is_meant_by_those_who_run() {
    let mut told = Told::new();
    told.host("a");
    told.namespaces();
    told.namespace("n", json!({}));
    told.pod(on(away_from_team("quiet", 1), "a"));
    told.namespace("m", json!({"team": "red"}));
    let mut noisy = pod("noisy", 2);
    noisy["metadata"]["namespace"] = json!("m");
    noisy["metadata"]["labels"] = json!({"app": "noisy"});
    told.pod(noisy);
    told.core.pass(0, Budget::default());
    assert_eq!(told.phase("noisy"), Some(PodPhase::Pending), "who runs there does not want it near");
    told.apply(Change::Namespace(Event::Delete(lean(
        json!({"metadata": {"name": "m", "labels": {"team": "red"}}}),
    ))));
    told.namespace("m", json!({}));
    told.core.pass(0, Budget::default());
    assert!(
        matches!(told.phase("noisy"), Some(PodPhase::Placed { .. })),
        "its namespace is made anew, without the label"
    );
}
