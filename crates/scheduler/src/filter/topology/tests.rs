use proptest::prelude::*;

use super::*;
use crate::{
    ledger::Ledger,
    model::{
        LabelSelector, NodeId, Operator, PodAffinityTerm, PodPreference, Requirement, Resources, Shape,
        SpreadConstraint, Taint, Toleration,
    },
    testing::{node, pod, shape},
};

/// Pods labelled `app=VALUE`.
fn app(value: &str) -> LabelSelector {
    let values = vec![value.to_owned()];
    LabelSelector(Some(vec![Requirement { key: "app".to_owned(), operator: Operator::In, values }]))
}

fn term(value: &str, topology_key: &str) -> PodAffinityTerm {
    PodAffinityTerm {
        selector: app(value),
        namespaces: Some(Vec::new()),
        topology_key: topology_key.to_owned(),
    }
}

fn near(value: &str) -> Shape {
    shape().with(|shape| shape.affinity.push(term(value, "zone"))).build()
}

fn away(value: &str) -> Shape {
    shape().with(|shape| shape.anti_affinity.push(term(value, "zone"))).build()
}

fn spread(max_skew: u32, min_domains: Option<u32>) -> SpreadConstraint {
    SpreadConstraint {
        topology_key: "zone".to_owned(),
        max_skew,
        min_domains,
        unsatisfiable: Unsatisfiable::DoNotSchedule,
        selector: app("web"),
        honor_affinity: true,
        honor_taints: false,
    }
}

/// Two nodes in zone a, one in b, one without a zone.
fn zones() -> (Ledger, [NodeId; 4]) {
    let mut ledger = Ledger::new(Vec::new(), Resources::default());
    let nodes =
        [("a1", Some("a")), ("a2", Some("a")), ("b1", Some("b")), ("none", None)].map(|(name, zone)| {
            let zone: Vec<(&str, &str)> = zone.map(|zone| ("zone", zone)).into_iter().collect();
            ledger.upsert_node(node(name, &zone))
        });
    (ledger, nodes)
}

fn judge(ledger: &Ledger, pod: &Pod, nodes: &[NodeId; 4]) -> [Option<Reason>; 4] {
    let mut topology = Topology::default();
    topology.follow(ledger, pod);
    let question = topology.question(pod);
    nodes.map(|id| question.judge(&ledger.node(id).unwrap().node))
}

const YES: Option<Reason> = None;

#[test]
fn affinity_holds_in_the_whole_domain_of_a_matching_pod() {
    let (mut ledger, nodes) = zones();
    ledger.upsert_pod(pod("db").label("app", "db").on(nodes[0]).build());
    let no = Some(Reason::Affinity);
    assert_eq!(judge(&ledger, &pod("web").shape(near("db")).build(), &nodes), [YES, YES, no, no]);
    let elsewhere = pod("web").shape(near("db")).namespace("other").build();
    assert_eq!(
        judge(&ledger, &elsewhere, &nodes),
        [no, no, no, no],
        "terms are about the Pod's own namespace"
    );
}

#[test]
fn the_first_of_pods_that_want_each_other_may_start() {
    let (mut ledger, nodes) = zones();
    let no = Some(Reason::Affinity);
    let first = pod("first").label("app", "ring").shape(near("ring")).build();
    assert_eq!(judge(&ledger, &first, &nodes), [YES, YES, YES, no], "but the node must have the label");
    let stranger = pod("stranger").shape(near("ring")).build();
    assert_eq!(judge(&ledger, &stranger, &nodes), [no, no, no, no], "only if it would be near to itself");
    ledger.upsert_pod(pod("running").label("app", "ring").on(nodes[2]).build());
    assert_eq!(judge(&ledger, &first, &nodes), [no, no, YES, no], "and only the first");
}

#[test]
fn with_two_terms_only_pods_that_match_both_count() {
    let (mut ledger, nodes) = zones();
    let both = shape().with(|shape| {
        let mut tier = term("db", "zone");
        tier.selector.0.as_mut().unwrap()[0].key = "tier".to_owned();
        shape.affinity = vec![term("db", "zone"), tier];
    });
    let asking = pod("web").shape(both.build()).build();
    ledger.upsert_pod(pod("half").label("app", "db").on(nodes[0]).build());
    assert_eq!(judge(&ledger, &asking, &nodes)[0], Some(Reason::Affinity));
    ledger.upsert_pod(pod("full").label("app", "db").label("tier", "db").on(nodes[0]).build());
    assert_eq!(judge(&ledger, &asking, &nodes)[0], YES);
}

#[test]
fn anti_affinity_holds_both_ways() {
    let (mut ledger, nodes) = zones();
    ledger.upsert_pod(pod("noisy").label("app", "noisy").on(nodes[0]).build());
    let no = Some(Reason::AntiAffinity);
    assert_eq!(judge(&ledger, &pod("quiet").shape(away("noisy")).build(), &nodes), [no, no, YES, YES]);

    ledger.upsert_pod(pod("quiet").label("app", "quiet").shape(away("noisy")).on(nodes[2]).build());
    let no = Some(Reason::ExistingAntiAffinity);
    let noisy = pod("noisy-2").label("app", "noisy").build();
    assert_eq!(judge(&ledger, &noisy, &nodes), [YES, YES, no, YES], "the resident does not want it");
    assert_eq!(judge(&ledger, &pod("other").build(), &nodes), [YES; 4], "others are welcome");
    let elsewhere = pod("noisy-3").label("app", "noisy").namespace("other").build();
    assert_eq!(judge(&ledger, &elsewhere, &nodes), [YES; 4], "the term is about the resident's namespace");
}

#[test]
fn spread_compares_with_the_emptiest_domain() {
    let (mut ledger, nodes) = zones();
    let even = |constraint: SpreadConstraint| {
        pod("web")
            .label("app", "web")
            .shape(shape().with(|shape| shape.spread.push(constraint)).build())
            .build()
    };
    let (no, label) = (Some(Reason::Spread), Some(Reason::SpreadLabel));
    assert_eq!(judge(&ledger, &even(spread(1, None)), &nodes), [YES, YES, YES, label]);
    ledger.upsert_pod(pod("web-0").label("app", "web").on(nodes[0]).build());
    assert_eq!(judge(&ledger, &even(spread(1, None)), &nodes), [no, no, YES, label]);
    assert_eq!(judge(&ledger, &even(spread(2, None)), &nodes), [YES, YES, YES, label]);
    ledger.upsert_pod(pod("web-1").label("app", "web").on(nodes[2]).build());
    assert_eq!(judge(&ledger, &even(spread(1, None)), &nodes), [YES, YES, YES, label]);
    let three = spread(1, Some(3));
    assert_eq!(
        judge(&ledger, &even(three), &nodes),
        [no, no, no, label],
        "fewer domains than wanted count as empty"
    );
    ledger.upsert_pod(pod("web-1").label("app", "web").on(nodes[2]).terminating().build());
    assert_eq!(
        judge(&ledger, &even(spread(1, None)), &nodes),
        [no, no, YES, label],
        "Pods that go do not count"
    );
}

#[test]
fn spread_counts_only_the_nodes_it_is_told_to() {
    let (mut ledger, nodes) = zones();
    let mut tainted = node("b1", &[("zone", "b")]);
    tainted.taints.push(Taint {
        key: "gpu".to_owned(),
        value: String::new(),
        effect: crate::model::Effect::NoSchedule,
    });
    ledger.upsert_node(tainted);
    ledger.upsert_pod(pod("web-0").label("app", "web").on(nodes[0]).build());
    let even = |change: &dyn Fn(&mut Shape, &mut SpreadConstraint)| {
        let mut constraint = spread(1, None);
        let mut plain = shape().build();
        change(&mut plain, &mut constraint);
        plain.spread.push(constraint);
        pod("web").label("app", "web").shape(plain).build()
    };
    let in_zone_a = |shape: &mut Shape| {
        shape.node_selector.insert("zone".to_owned(), "a".to_owned());
    };
    let no = Some(Reason::Spread);
    let all = even(&|_, _| {});
    assert_eq!(judge(&ledger, &all, &nodes)[0], no, "taints are ignored unless told otherwise");
    let honoring = even(&|_, constraint| constraint.honor_taints = true);
    assert_eq!(
        judge(&ledger, &honoring, &nodes)[0],
        YES,
        "zone b cannot take it, so it does not count as empty"
    );
    let bearing = even(&|shape, constraint| {
        constraint.honor_taints = true;
        shape.tolerations.push(Toleration { key: None, value: None, effect: None });
    });
    assert_eq!(judge(&ledger, &bearing, &nodes)[0], no);
    let selecting = even(&|shape, _| in_zone_a(shape));
    assert_eq!(judge(&ledger, &selecting, &nodes)[0], YES, "only admitted nodes count");
    let selecting_all = even(&|shape, constraint| {
        in_zone_a(shape);
        constraint.honor_affinity = false;
    });
    assert_eq!(judge(&ledger, &selecting_all, &nodes)[0], no);
}

#[test]
fn spread_that_need_not_hold_only_ranks() {
    let (mut ledger, nodes) = zones();
    ledger.upsert_pod(pod("web-0").label("app", "web").on(nodes[0]).build());
    let soft = SpreadConstraint { unsatisfiable: Unsatisfiable::ScheduleAnyway, ..spread(1, None) };
    let asking =
        pod("web").label("app", "web").shape(shape().with(|shape| shape.spread.push(soft)).build()).build();
    let mut topology = Topology::default();
    topology.follow(&ledger, &asking);
    let question = topology.question(&asking);
    let rank = |id| question.crowding(&ledger.node(id).unwrap().node);
    assert!(question.has_wishes() && question.judge(&ledger.node(nodes[3]).unwrap().node).is_none());
    assert_eq!([nodes[1], nodes[2], nodes[3]].map(rank), [Some(1), Some(0), None]);
}

/// A shape that would like Pods near (or away, below zero), as (weight, app).
fn liking(terms: &[(i32, &str)]) -> Shape {
    let preference = |(weight, app): &(i32, &str)| PodPreference { weight: *weight, term: term(app, "zone") };
    shape().with(|shape| shape.preferred_pods.extend(terms.iter().map(preference))).build()
}

fn likings(ledger: &Ledger, pod: &Pod, nodes: &[NodeId; 4]) -> Option<[i64; 4]> {
    let mut topology = Topology::default();
    topology.follow(ledger, pod);
    let question = topology.question(pod);
    question.has_wishes().then(|| nodes.map(|id| question.liking(&ledger.node(id).unwrap().node)))
}

#[test]
fn pods_liked_count_by_their_number_and_weight() {
    let (mut ledger, nodes) = zones();
    let asking = pod("web").shape(liking(&[(10, "db"), (-3, "noisy")])).build();
    assert_eq!(likings(&ledger, &asking, &nodes), None, "nobody is there, so all places are alike");
    assert_eq!(judge(&ledger, &asking, &nodes), [YES; 4], "a wish keeps from nowhere");
    ledger.upsert_pod(pod("db-0").label("app", "db").on(nodes[0]).build());
    ledger.upsert_pod(pod("db-1").label("app", "db").on(nodes[1]).build());
    ledger.upsert_pod(pod("noisy").label("app", "noisy").on(nodes[2]).build());
    ledger.upsert_pod(pod("elsewhere").label("app", "noisy").namespace("other").on(nodes[2]).build());
    assert_eq!(likings(&ledger, &asking, &nodes), Some([20, 20, -3, 0]));
}

#[test]
fn wishes_of_those_there_count_for_those_who_come() {
    let (mut ledger, nodes) = zones();
    ledger.upsert_pod(pod("fan").label("app", "fan").shape(liking(&[(7, "star")])).on(nodes[0]).build());
    ledger.upsert_pod(pod("shy").label("app", "shy").shape(liking(&[(-5, "star")])).on(nodes[2]).build());
    ledger.upsert_pod(pod("bound").label("app", "star").shape(near("star")).on(nodes[2]).build());
    let star = pod("star").label("app", "star").build();
    assert_eq!(likings(&ledger, &star, &nodes), Some([7, 7, -4, 0]), "what must be near counts as 1");
    assert_eq!(likings(&ledger, &pod("other").build(), &nodes), None, "nobody minds others");
    let abroad = pod("star-2").label("app", "star").namespace("other").build();
    assert_eq!(
        likings(&ledger, &abroad, &nodes),
        None,
        "terms are about the namespace of those who have them"
    );
    for uid in ["uid-fan", "uid-shy", "uid-bound"] {
        ledger.remove_pod(uid);
    }
    assert_eq!(ledger.minding_pods(), 0);
    assert!(!Topology::concerns(&ledger, &star), "without such Pods nothing is asked");
}

proptest! {
    /// Following changes gives the same answers as counting from nothing.
    #[test]
    fn following_equals_counting_anew(steps in proptest::collection::vec((0..8u8, 0..4usize, 0..6u8), 1..40)) {
        let (mut ledger, nodes) = zones();
        let mut topology = Topology::default();
        let asking: Vec<Pod> = vec![
            pod("a").label("app", "web").shape(near("db")).build(),
            pod("b").label("app", "db").shape(away("web")).build(),
            pod("d").label("app", "db").shape(liking(&[(3, "web")])).build(),
            pod("c").label("app", "web").shape(shape().with(|shape| shape.spread.push(spread(1, None))).build()).build(),
        ];
        for (name, place, kind) in steps {
            let name = format!("pod-{name}");
            ledger.remove_pod(&format!("uid-{name}"));
            let made = match kind {
                0 => continue,
                1 => pod(&name).label("app", "web"),
                2 => pod(&name).label("app", "db"),
                3 => pod(&name).label("app", "web").shape(liking(&[(2, "db"), (-9, "web")])),
                4 => pod(&name).label("app", "db").shape(near("web")),
                _ => pod(&name).label("app", "web").shape(away("db")),
            };
            ledger.upsert_pod(made.on(nodes[place]).build());
            for pod in &asking {
                topology.follow(&ledger, pod);
                let question = topology.question(pod);
                let followed = nodes.map(|id| question.judge(&ledger.node(id).unwrap().node));
                prop_assert_eq!(followed, judge(&ledger, pod, &nodes));
                let liked = nodes.map(|id| question.liking(&ledger.node(id).unwrap().node));
                let liked = question.has_wishes().then_some(liked);
                prop_assert_eq!(liked, likings(&ledger, pod, &nodes));
            }
        }
    }
}
