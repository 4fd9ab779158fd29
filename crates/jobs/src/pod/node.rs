//! Which nodes a Pod may go to.

use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Toleration,
};
use maar_api::{names, v1alpha1::NodesSpec};

const HOST: &str = "kubernetes.io/hostname";
const ARCHITECTURE: &str = "kubernetes.io/arch";

/// Adds the choice of nodes to what the template demands, and lets the Pod onto nodes that are set aside for its
/// account.
pub(crate) fn restrict(spec: &mut PodSpec, nodes: Option<&NodesSpec>, account: &str) {
    spec.tolerations.get_or_insert_default().push(Toleration {
        key: Some(names::LABEL_ACCOUNT.to_owned()),
        operator: Some("Equal".to_owned()),
        value: Some(account.to_owned()),
        effect: Some("NoSchedule".to_owned()),
        toleration_seconds: None,
    });
    if nodes.is_some_and(|nodes| !nodes.include.is_empty()) {
        // Whoever names nodes may name this one.
        tolerate_local_node(spec);
    }
    let wanted = nodes.map(requirements).unwrap_or_default();
    if !wanted.is_empty() {
        demand(spec, &wanted);
    }
}

/// Lets a Pod onto the node of `maar up` that runs programs of its machine: what it runs there is real, without a card.
pub(crate) fn tolerate_local_node(spec: &mut PodSpec) {
    let local = Toleration {
        key: Some("maar.io/local".to_owned()),
        operator: Some("Exists".to_owned()),
        ..Toleration::default()
    };
    let tolerations = spec.tolerations.get_or_insert_default();
    if !tolerations.contains(&local) {
        tolerations.push(local);
    }
}

fn requirements(nodes: &NodesSpec) -> Vec<NodeSelectorRequirement> {
    let rows = [
        (HOST, "In", &nodes.include),
        (HOST, "NotIn", &nodes.exclude),
        (names::LABEL_POOL, "In", &nodes.pools),
        (ARCHITECTURE, "In", &nodes.architectures),
    ];
    let said = rows.into_iter().filter(|(_, _, values)| !values.is_empty());
    said.map(|(key, operator, values)| NodeSelectorRequirement {
        key: key.to_owned(),
        operator: operator.to_owned(),
        values: Some(values.clone()),
    })
    .collect()
}

/// Each of the template's alternatives must also keep to `wanted`.
fn demand(spec: &mut PodSpec, wanted: &[NodeSelectorRequirement]) {
    let affinity = spec.affinity.get_or_insert_with(Affinity::default);
    let nodes = affinity.node_affinity.get_or_insert_with(NodeAffinity::default);
    let selector =
        nodes.required_during_scheduling_ignored_during_execution.get_or_insert_with(NodeSelector::default);
    if selector.node_selector_terms.is_empty() {
        selector.node_selector_terms.push(NodeSelectorTerm::default());
    }
    for term in &mut selector.node_selector_terms {
        term.match_expressions.get_or_insert_default().extend(wanted.iter().cloned());
    }
}
