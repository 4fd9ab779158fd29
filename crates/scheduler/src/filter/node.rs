//! Questions about the node alone.

use super::{Reason, labels::matches_term};
use crate::model::{Effect, Node, Shape, Taint, Term, Toleration};

/// The taint that stands for a cordon, for Pods that bear it (those of DaemonSets do).
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Why Pods of this shape cannot go there, whatever runs there.
pub fn judge_node(shape: &Shape, node: &Node) -> Option<Reason> {
    if shape.node_name.as_ref().is_some_and(|name| *name != node.name) {
        return Some(Reason::NodeName);
    }
    if node.unschedulable && !bears_cordon(shape) {
        return Some(Reason::Cordoned);
    }
    if !tolerates(&shape.tolerations, node) {
        return Some(Reason::Taint);
    }
    if !admits(shape, node) {
        return Some(Reason::NodeSelector);
    }
    if !shape.volume_terms.iter().all(|terms| any_holds(terms, node)) {
        return Some(Reason::VolumeNode);
    }
    None
}

/// Whether the Pod's node selector and node affinity hold.
pub(super) fn admits(shape: &Shape, node: &Node) -> bool {
    shape.node_selector.iter().all(|(key, value)| node.labels.get(key) == Some(value))
        && (shape.node_terms.is_empty() || any_holds(&shape.node_terms, node))
}

fn any_holds(terms: &[Term], node: &Node) -> bool {
    terms.iter().any(|term| matches_term(term, &node.labels, &node.name))
}

/// Whether a Pod with these tolerations bears every taint of the node that keeps Pods away.
pub fn tolerates(tolerations: &[Toleration], node: &Node) -> bool {
    node.taints
        .iter()
        .filter(|taint| taint.effect != Effect::PreferNoSchedule)
        .all(|taint| tolerations.iter().any(|one| bears(one, taint)))
}

/// How many taints of the node would rather not have the Pod.
pub fn hated_taints(shape: &Shape, node: &Node) -> usize {
    node.taints
        .iter()
        .filter(|taint| taint.effect == Effect::PreferNoSchedule)
        .filter(|taint| !shape.tolerations.iter().any(|one| bears(one, taint)))
        .count()
}

/// The weights of the preferred terms that hold.
pub fn preference(shape: &Shape, node: &Node) -> i32 {
    shape
        .preferred_nodes
        .iter()
        .filter(|preferred| matches_term(&preferred.term, &node.labels, &node.name))
        .map(|preferred| preferred.weight)
        .sum()
}

fn bears_cordon(shape: &Shape) -> bool {
    let cordon = Taint { key: UNSCHEDULABLE.to_owned(), value: String::new(), effect: Effect::NoSchedule };
    shape.tolerations.iter().any(|one| bears(one, &cordon))
}

fn bears(toleration: &Toleration, taint: &Taint) -> bool {
    toleration.effect.is_none_or(|effect| effect == taint.effect)
        && toleration.key.as_ref().is_none_or(|key| *key == taint.key)
        && toleration.value.as_ref().is_none_or(|value| *value == taint.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Operator, PreferredTerm, Requirement};

    fn taint(key: &str, effect: Effect) -> Taint {
        Taint { key: key.to_owned(), value: "yes".to_owned(), effect }
    }

    fn toleration(key: Option<&str>, value: Option<&str>, effect: Option<Effect>) -> Toleration {
        Toleration { key: key.map(str::to_owned), value: value.map(str::to_owned), effect }
    }

    fn zone(value: &str) -> Term {
        let values = vec![value.to_owned()];
        Term {
            labels: vec![Requirement { key: "zone".to_owned(), operator: Operator::In, values }],
            names: Vec::new(),
        }
    }

    fn node() -> Node {
        Node {
            name: "one".to_owned(),
            labels: [("zone".to_owned(), "a".to_owned())].into(),
            ..Node::default()
        }
    }

    #[test]
    fn cordons_and_taints_keep_pods_away_that_do_not_bear_them() {
        let cordoned = Node { unschedulable: true, ..node() };
        let tainted = Node { taints: vec![taint("gpu", Effect::NoSchedule)], ..node() };
        let draining = Node { taints: vec![taint("gone", Effect::NoExecute)], ..node() };
        let disliked = Node { taints: vec![taint("old", Effect::PreferNoSchedule)], ..node() };
        let plain = Shape::default();
        let bearing = |one: Toleration| Shape { tolerations: vec![one], ..Shape::default() };
        for (sentence, shape, node, want) in [
            ("nothing asked for, nothing refused", plain.clone(), node(), None),
            ("a cordoned node takes no Pods", plain.clone(), cordoned.clone(), Some(Reason::Cordoned)),
            (
                "a Pod that bears the cordon goes there",
                bearing(toleration(Some(UNSCHEDULABLE), None, Some(Effect::NoSchedule))),
                cordoned,
                None,
            ),
            ("a taint keeps Pods away", plain.clone(), tainted.clone(), Some(Reason::Taint)),
            (
                "a taint that ends Pods keeps them away too",
                plain.clone(),
                draining.clone(),
                Some(Reason::Taint),
            ),
            ("a taint that only advises does not", plain.clone(), disliked, None),
            ("an empty key bears all taints", bearing(toleration(None, None, None)), tainted.clone(), None),
            (
                "another value is not borne",
                bearing(toleration(Some("gpu"), Some("no"), None)),
                tainted.clone(),
                Some(Reason::Taint),
            ),
            (
                "another effect is not borne",
                bearing(toleration(Some("gone"), None, Some(Effect::NoSchedule))),
                draining,
                Some(Reason::Taint),
            ),
            (
                "the same value is borne",
                bearing(toleration(Some("gpu"), Some("yes"), Some(Effect::NoSchedule))),
                tainted,
                None,
            ),
        ] {
            assert_eq!(judge_node(&shape, &node), want, "{sentence}");
        }
    }

    #[test]
    fn labels_names_and_volumes_must_fit() {
        let by_name = Term {
            labels: Vec::new(),
            names: vec![Requirement {
                key: "metadata.name".to_owned(),
                operator: Operator::In,
                values: vec!["one".to_owned()],
            }],
        };
        for (sentence, shape, node, want) in [
            (
                "a selector asks for a label",
                Shape { node_selector: [("zone".to_owned(), "b".to_owned())].into(), ..Shape::default() },
                node(),
                Some(Reason::NodeSelector),
            ),
            (
                "one of several terms is enough",
                Shape { node_terms: vec![zone("b"), zone("a")], ..Shape::default() },
                node(),
                None,
            ),
            (
                "an empty term means no node",
                Shape { node_terms: vec![Term::default()], ..Shape::default() },
                node(),
                Some(Reason::NodeSelector),
            ),
            (
                "a term may be about the name",
                Shape { node_terms: vec![by_name], ..Shape::default() },
                node(),
                None,
            ),
            (
                "every volume must be reachable",
                Shape { volume_terms: vec![vec![zone("a")], vec![zone("b")]], ..Shape::default() },
                node(),
                Some(Reason::VolumeNode),
            ),
            (
                "a Pod that names a node goes nowhere else",
                Shape { node_name: Some("two".to_owned()), ..Shape::default() },
                node(),
                Some(Reason::NodeName),
            ),
        ] {
            assert_eq!(judge_node(&shape, &node), want, "{sentence}");
        }
    }

    #[test]
    fn preferences_and_dislikes_are_counted() {
        let disliked = Node { taints: vec![taint("old", Effect::PreferNoSchedule)], ..node() };
        let preferred_nodes = vec![
            PreferredTerm { weight: 30, term: zone("a") },
            PreferredTerm { weight: 50, term: zone("b") },
        ];
        let shape = Shape { preferred_nodes, ..Shape::default() };
        assert_eq!(preference(&shape, &disliked), 30);
        assert_eq!(hated_taints(&shape, &disliked), 1);
        let bearing = Shape { tolerations: vec![toleration(Some("old"), None, None)], ..Shape::default() };
        assert_eq!(hated_taints(&bearing, &disliked), 0);
    }
}
