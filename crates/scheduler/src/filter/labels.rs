//! Labels against requirements.

use std::collections::BTreeMap;

use crate::model::{LabelSelector, Operator, PodAffinityTerm, Requirement, Term};

/// Whether Pods with these labels are meant.
pub fn matches_selector(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    selector.0.as_ref().is_some_and(|all| all.iter().all(|one| holds(one, labels.get(&one.key))))
}

/// Whether a node is meant. A term that requires nothing means no node.
pub fn matches_term(term: &Term, labels: &BTreeMap<String, String>, name: &str) -> bool {
    if term.labels.is_empty() && term.names.is_empty() {
        return false;
    }
    let name = name.to_owned();
    term.labels.iter().all(|one| holds(one, labels.get(&one.key)))
        && term.names.iter().all(|one| holds(one, Some(&name)))
}

/// Whether a term is about a Pod of this namespace with these labels.
pub(super) fn about(
    term: &PodAffinityTerm,
    own_namespace: &str,
    namespace: &str,
    labels: &BTreeMap<String, String>,
) -> bool {
    let in_namespace = match &term.namespaces {
        None => true,
        Some(none) if none.is_empty() => namespace == own_namespace,
        Some(some) => some.iter().any(|one| one == namespace),
    };
    in_namespace && matches_selector(&term.selector, labels)
}

fn holds(requirement: &Requirement, value: Option<&String>) -> bool {
    let listed = |value: &String| requirement.values.contains(value);
    match requirement.operator {
        Operator::In => value.is_some_and(listed),
        Operator::NotIn => !value.is_some_and(listed),
        Operator::Exists => value.is_some(),
        Operator::DoesNotExist => value.is_none(),
        Operator::Gt => compare(requirement, value).is_some_and(|(have, want)| have > want),
        Operator::Lt => compare(requirement, value).is_some_and(|(have, want)| have < want),
    }
}

fn compare(requirement: &Requirement, value: Option<&String>) -> Option<(i64, i64)> {
    let [want] = requirement.values.as_slice() else { return None };
    Some((value?.parse().ok()?, want.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_compare_as_in_kubernetes() {
        let labels =
            BTreeMap::from([("size".to_owned(), "8".to_owned()), ("zone".to_owned(), "a".to_owned())]);
        for (sentence, key, operator, values, want) in [
            ("in holds for a listed value", "zone", Operator::In, &["a", "b"][..], true),
            ("in fails for an absent label", "rack", Operator::In, &["a"], false),
            ("not in holds for an absent label", "rack", Operator::NotIn, &["a"], true),
            ("not in fails for a listed value", "zone", Operator::NotIn, &["a"], false),
            ("exists holds for any value", "zone", Operator::Exists, &[], true),
            ("does not exist fails for any value", "zone", Operator::DoesNotExist, &[], false),
            ("greater compares numbers, not text", "size", Operator::Gt, &["10"], false),
            ("less compares numbers, not text", "size", Operator::Lt, &["10"], true),
            ("less fails for text", "zone", Operator::Lt, &["10"], false),
            ("greater fails for two values", "size", Operator::Gt, &["1", "2"], false),
        ] {
            let values = values.iter().map(|value| (*value).to_owned()).collect();
            let requirement = Requirement { key: key.to_owned(), operator, values };
            assert_eq!(holds(&requirement, labels.get(key)), want, "{sentence}");
        }
    }

    #[test]
    fn an_absent_selector_means_nobody_and_an_empty_one_everybody() {
        assert!(!matches_selector(&LabelSelector(None), &BTreeMap::new()));
        assert!(matches_selector(&LabelSelector(Some(Vec::new())), &BTreeMap::new()));
    }
}
