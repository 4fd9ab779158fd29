use proptest::prelude::*;

use super::*;
use crate::{
    model::{LabelSelector, NodeId, Operator, PodPhase, Requirement, Resources, Term},
    testing::{node, pod, shape},
};

fn requirement(key: &str, value: &str) -> Requirement {
    Requirement { key: key.to_owned(), operator: Operator::In, values: vec![value.to_owned()] }
}

/// A volume of so many bytes on a node, or on all of them.
fn volume(name: &str, size: i64, on: Option<&str>) -> StaticVolume {
    let term = |host: &str| Term { labels: vec![requirement("host", host)], names: Vec::new() };
    StaticVolume {
        name: name.into(),
        class: "local".to_owned(),
        size,
        modes: ["ReadWriteOnce".to_owned()].into(),
        nodes: on.map(|host| vec![term(host)]),
        ..StaticVolume::default()
    }
}

fn claim(name: &str, size: i64) -> StaticClaim {
    StaticClaim {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        class: "local".to_owned(),
        size,
        modes: vec!["ReadWriteOnce".to_owned()],
        selector: LabelSelector(Some(Vec::new())),
        ..StaticClaim::default()
    }
}

fn with_nodes() -> (Ledger, [NodeId; 2]) {
    let mut ledger = Ledger::new(Vec::new(), Resources::default());
    let nodes = ["a", "b"].map(|name| ledger.upsert_node(node(name, &[("host", name)])));
    (ledger, nodes)
}

/// A Pod that waits with these claims.
fn wanting(ledger: &mut Ledger, name: &str, claims: &[StaticClaim]) -> PodId {
    let shape = shape().with(|shape| shape.static_claims = claims.to_vec()).build();
    ledger.upsert_pod(pod(name).shape(shape).build())
}

fn place(ledger: &mut Ledger, pod: PodId, node: NodeId) -> Option<Vec<String>> {
    ledger.place(pod, node, crate::model::CardsTaken::default(), 0).ok()?;
    Some(ledger.volumes_held(pod).iter().map(|held| held.volume.to_string()).collect())
}

#[test]
fn the_smallest_volume_that_suits_is_taken() {
    let right = volume("right", 20, Some("a"));
    let with = |name: &str, change: &dyn Fn(&mut StaticVolume)| {
        let mut other = StaticVolume { name: name.into(), ..right.clone() };
        change(&mut other);
        other
    };
    let mut all = vec![
        right.clone(),
        volume("large", 30, Some("a")),
        volume("small", 9, Some("a")),
        volume("elsewhere", 10, Some("b")),
    ];
    all.push(with("class", &|volume| volume.class = "other".to_owned()));
    all.push(with("block", &|volume| volume.block = true));
    all.push(with("mode", &|volume| volume.modes = ["ReadOnlyMany".to_owned()].into()));
    all.push(with("promised", &|volume| volume.claim = Some("uid-other".into())));
    for volume in &mut all {
        volume.size -= i64::from(&*volume.name != "right");
        volume.labels.insert("disk".to_owned(), if volume.size > 20 { "slow" } else { "fast" }.to_owned());
    }
    let (mut ledger, [a, b]) = with_nodes();
    for volume in all {
        ledger.upsert_volume(volume);
    }
    let pod = wanting(&mut ledger, "one", &[claim("c", 10)]);
    assert_eq!(place(&mut ledger, pod, b), None, "what is there is too small");
    assert_eq!(place(&mut ledger, pod, a).unwrap(), ["right"]);
    let slow =
        StaticClaim { selector: LabelSelector(Some(vec![requirement("disk", "slow")])), ..claim("slow", 10) };
    let pod = wanting(&mut ledger, "two", &[slow]);
    assert_eq!(place(&mut ledger, pod, a).unwrap(), ["large"]);
    let pod = wanting(&mut ledger, "three", &[claim("d", 10)]);
    assert_eq!(place(&mut ledger, pod, a), None, "both are taken");
}

#[test]
fn each_claim_of_a_pod_gets_its_own_volume() {
    let (mut ledger, [a, _]) = with_nodes();
    let two = [claim("c", 10), claim("d", 10)];
    ledger.upsert_volume(volume("v", 10, None));
    let pod = wanting(&mut ledger, "pod", &two);
    assert_eq!(place(&mut ledger, pod, a), None);
    ledger.upsert_volume(volume("w", 10, None));
    assert_eq!(place(&mut ledger, pod, a).unwrap(), ["v", "w"]);
}

#[test]
fn pods_with_one_claim_share_its_volume_and_go_where_it_is() {
    let (mut ledger, [a, b]) = with_nodes();
    ledger.upsert_volume(volume("on-a", 10, Some("a")));
    ledger.upsert_volume(volume("on-b", 10, Some("b")));
    let [one, other] = ["one", "other"].map(|name| wanting(&mut ledger, name, &[claim("shared", 5)]));
    assert_eq!(place(&mut ledger, one, b).unwrap(), ["on-b"]);
    assert_eq!(place(&mut ledger, other, a), None, "the claim has its volume on b by now");
    assert_eq!(place(&mut ledger, other, b).unwrap(), ["on-b"]);
    ledger.unplace(one);
    let third = wanting(&mut ledger, "third", &[claim("third", 5)]);
    assert_eq!(place(&mut ledger, third, b), None, "the other still holds it");
    ledger.unplace(other);
    assert_eq!(place(&mut ledger, third, b).unwrap(), ["on-b"]);
}

#[test]
fn a_promise_in_the_cluster_binds_the_claim_and_nobody_else() {
    let (mut ledger, [a, b]) = with_nodes();
    ledger.upsert_volume(StaticVolume { claim: Some("uid-c".into()), ..volume("mine", 50, Some("a")) });
    ledger.upsert_volume(volume("nearer", 10, Some("b")));
    let pod = wanting(&mut ledger, "pod", &[claim("c", 10)]);
    assert_eq!(place(&mut ledger, pod, b), None, "its volume is on a");
    assert_eq!(place(&mut ledger, pod, a).unwrap(), ["mine"]);
    let stranger = wanting(&mut ledger, "stranger", &[claim("d", 20)]);
    assert_eq!(place(&mut ledger, stranger, a), None);
}

#[test]
fn what_a_bound_pod_holds_stays_taken_until_the_watch_tells() {
    let (mut ledger, [a, _]) = with_nodes();
    ledger.upsert_volume(volume("v", 10, None));
    let one = wanting(&mut ledger, "one", &[claim("c", 10)]);
    place(&mut ledger, one, a).unwrap();
    ledger.upsert_pod(pod("one").on(a).build());
    assert_eq!(ledger.volumes_held(one), [], "it is the cluster's business now");
    let other = wanting(&mut ledger, "other", &[claim("d", 10)]);
    assert_eq!(
        place(&mut ledger, other, a),
        None,
        "the volume is not free although its Pod says nothing of it"
    );
    ledger.upsert_volume(volume("v", 10, None));
    assert_eq!(place(&mut ledger, other, a).unwrap(), ["v"], "if the claim was deleted, it is free");
}

#[test]
fn a_pod_that_is_gone_or_bound_elsewhere_holds_nothing() {
    let (mut ledger, [a, b]) = with_nodes();
    ledger.upsert_volume(volume("v", 10, None));
    for gone in [true, false] {
        let one = wanting(&mut ledger, "one", &[claim("c", 10)]);
        place(&mut ledger, one, a).unwrap();
        if gone {
            ledger.remove_pod("uid-one");
        } else {
            ledger.upsert_pod(pod("one").on(b).build());
        }
        let other = wanting(&mut ledger, "other", &[claim("d", 10)]);
        assert!(place(&mut ledger, other, a).is_some(), "gone: {gone}");
        ledger.remove_pod("uid-other");
    }
}

#[derive(Debug, Clone)]
enum Step {
    Place(usize, usize),
    Unplace(usize),
    Seen(usize),
    Remove(usize),
    Volume(usize, bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..5usize, 0..2usize).prop_map(|(pod, node)| Step::Place(pod, node)),
        (0..5usize).prop_map(Step::Unplace),
        (0..5usize).prop_map(Step::Seen),
        (0..5usize).prop_map(Step::Remove),
        (0..4usize, any::<bool>()).prop_map(|(volume, there)| Step::Volume(volume, there)),
    ]
}

proptest! {
    /// No volume is held for two claims, and none for a claim it does not suit.
    #[test]
    fn no_volume_is_given_to_two_claims(steps in proptest::collection::vec(step(), 1..60)) {
        let (mut ledger, nodes) = with_nodes();
        let name = |number: usize| format!("pod-{number}");
        // Pods 3 and 4 have the claim of 0 and 1.
        let claims = |number: usize| vec![claim(&format!("c{}", number % 3), 5), claim(&format!("e{}", number % 3), 8)];
        for step in steps {
            match step {
                Step::Place(number, node) => {
                    let known = ledger.find_pod(&format!("uid-{}", name(number)));
                    let pod = known.unwrap_or_else(|| wanting(&mut ledger, &name(number), &claims(number)));
                    let _ = place(&mut ledger, pod, nodes[node]);
                }
                Step::Unplace(number) => {
                    if let Some(pod) = ledger.find_pod(&format!("uid-{}", name(number))) {
                        ledger.unplace(pod);
                    }
                }
                Step::Seen(number) => {
                    let known = ledger.find_pod(&format!("uid-{}", name(number))).and_then(|id| ledger.pod(id));
                    if let Some(PodPhase::Placed { node, .. }) = known.map(|state| state.pod.phase.clone()) {
                        ledger.upsert_pod(pod(&name(number)).on(node).build());
                    }
                }
                Step::Remove(number) => ledger.remove_pod(&format!("uid-{}", name(number))),
                Step::Volume(number, true) if ledger.volume(&format!("v{number}")).is_none() => {
                    let on = [None, Some("a"), Some("b"), Some("b")][number];
                    ledger.upsert_volume(volume(&format!("v{number}"), 5 + 3 * i64::from(number > 1), on));
                }
                Step::Volume(..) => {}
            }
            let mut owners: BTreeMap<Arc<str>, String> = BTreeMap::new();
            for (id, state) in ledger.pods() {
                for held in ledger.volumes_held(id) {
                    let owner = owners.entry(Arc::clone(&held.volume)).or_insert(held.claim.uid.clone());
                    prop_assert_eq!(&*owner, &held.claim.uid);
                    prop_assert!(suits(ledger.volume(&held.volume).unwrap(), &held.claim));
                    let promised = ledger.volume(&held.volume).unwrap().claim.as_deref();
                    prop_assert!(promised.is_none_or(|claim| claim == held.claim.uid));
                    let PodPhase::Placed { .. } = state.pod.phase else { panic!("{state:?} has no place") };
                }
            }
        }
    }
}
