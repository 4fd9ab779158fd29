//! Selectors, affinities, tolerations and spreading.

use super::{Unfit, node::effect};
use crate::{
    adapter::wire,
    core::DisruptionBudget,
    model::{
        LabelSelector, Operator, PodAffinityTerm, PodPreference, PreferredTerm, Requirement,
        SpreadConstraint, Term, Toleration, Unsatisfiable,
    },
};

pub(super) fn requirement(one: &wire::Requirement) -> Result<Requirement, Unfit> {
    let operator = match one.operator.as_str() {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        "Gt" => Operator::Gt,
        "Lt" => Operator::Lt,
        other => return Err(Unfit::new(format!("the operator {other:?} of a selector is not known"))),
    };
    Ok(Requirement { key: one.key.clone(), operator, values: one.values.clone() })
}

pub(super) fn term(term: &wire::NodeSelectorTerm) -> Result<Term, Unfit> {
    let all = |list: &[wire::Requirement]| list.iter().map(requirement).collect::<Result<_, _>>();
    Ok(Term { labels: all(&term.match_expressions)?, names: all(&term.match_fields)? })
}

/// The terms of a required selector, of which one must hold. Empty terms match nothing, so they are left out; if
/// nothing else is there, a term that nothing matches takes their place.
pub(super) fn terms(terms: &[wire::NodeSelectorTerm]) -> Result<Vec<Term>, Unfit> {
    let read: Vec<Term> = terms.iter().map(term).collect::<Result<_, _>>()?;
    let some: Vec<Term> =
        read.into_iter().filter(|term| !(term.labels.is_empty() && term.names.is_empty())).collect();
    if !some.is_empty() {
        return Ok(some);
    }
    let never = Requirement { key: "metadata.name".to_owned(), operator: Operator::In, values: Vec::new() };
    Ok(vec![Term { labels: Vec::new(), names: vec![never] }])
}

pub(super) fn preferred(affinity: &wire::NodeAffinity) -> Result<Vec<PreferredTerm>, Unfit> {
    let one =
        |one: &wire::PreferredNode| Ok(PreferredTerm { weight: one.weight, term: term(&one.preference)? });
    affinity.preferred.iter().map(one).collect()
}

pub(super) fn selector(selector: Option<&wire::LabelSelector>) -> Result<LabelSelector, Unfit> {
    let Some(selector) = selector else { return Ok(LabelSelector(None)) };
    let labels = selector.match_labels.iter().map(|(key, value)| {
        Ok(Requirement { key: key.clone(), operator: Operator::In, values: vec![value.clone()] })
    });
    let expressions = selector.match_expressions.iter().map(requirement);
    Ok(LabelSelector(Some(labels.chain(expressions).collect::<Result<_, _>>()?)))
}

/// How many Pods may be stopped now.
pub(crate) fn budget(budget: &wire::Budget) -> Result<DisruptionBudget, Unfit> {
    Ok(DisruptionBudget {
        namespace: budget.metadata.namespace.clone(),
        selector: selector(budget.spec.selector.as_ref())?,
        allowed: budget.status.disruptions_allowed,
        desired: budget.status.desired_healthy,
    })
}

/// Terms about other Pods, with the namespaces already resolved by [`super::Template`].
pub(super) fn pod_terms(terms: &[wire::PodAffinityTerm], own: &str) -> Result<Vec<PodAffinityTerm>, Unfit> {
    terms.iter().map(|term| pod_term(term, own)).collect()
}

fn pod_term(term: &wire::PodAffinityTerm, own: &str) -> Result<PodAffinityTerm, Unfit> {
    let everywhere = term.namespace_selector.is_some();
    let named = if term.namespaces.is_empty() { vec![own.to_owned()] } else { term.namespaces.clone() };
    Ok(PodAffinityTerm {
        selector: selector(term.label_selector.as_ref())?,
        namespaces: (!everywhere).then_some(named),
        topology_key: term.topology_key.clone(),
    })
}

/// Pods that it would be good to be near to, and with weights below zero those that it would be bad to be near to.
pub(super) fn preferred_pods(affinity: &wire::Affinity, own: &str) -> Result<Vec<PodPreference>, Unfit> {
    let good = affinity.pod_affinity.preferred.iter().map(|one| (one, 1));
    let bad = affinity.pod_anti_affinity.preferred.iter().map(|one| (one, -1));
    let preference = |(one, sign): (&wire::PreferredPod, i32)| {
        let weight = one.weight.clamp(0, 100) * sign;
        Ok(PodPreference { weight, term: pod_term(&one.pod_affinity_term, own)? })
    };
    good.chain(bad).map(preference).collect()
}

pub(super) fn toleration(one: &wire::Toleration) -> Result<Toleration, Unfit> {
    let value = match one.operator.as_str() {
        "" | "Equal" => Some(one.value.clone()),
        "Exists" => None,
        other => return Err(Unfit::new(format!("the operator {other:?} of a toleration is not supported"))),
    };
    let effect = match one.effect.as_str() {
        "" => None,
        text => Some(
            effect(text).ok_or_else(|| Unfit::new(format!("a toleration's effect {text:?} is not known")))?,
        ),
    };
    Ok(Toleration { key: (!one.key.is_empty()).then(|| one.key.clone()), value, effect })
}

pub(super) fn spread(one: &wire::SpreadConstraint) -> Result<SpreadConstraint, Unfit> {
    Ok(SpreadConstraint {
        topology_key: one.topology_key.clone(),
        max_skew: one.max_skew,
        min_domains: one.min_domains,
        unsatisfiable: match one.when_unsatisfiable.as_str() {
            "ScheduleAnyway" => Unsatisfiable::ScheduleAnyway,
            _ => Unsatisfiable::DoNotSchedule,
        },
        selector: selector(one.label_selector.as_ref())?,
        honor_affinity: one.node_affinity_policy != "Ignore",
        honor_taints: one.node_taints_policy == "Honor",
    })
}
