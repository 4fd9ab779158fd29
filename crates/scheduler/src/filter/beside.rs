//! Pods that cannot be on one node together.

use super::{Reason, labels::about, room::ports_clash};
use crate::{
    ledger::{Ledger, NodeState},
    model::{Node, Pod, PodAffinityTerm, Shape},
};

/// The label by which each node is its own domain.
const HOST: &str = "kubernetes.io/hostname";

/// Whether two Pods cannot both be on a node: they take one port, or one of them must not have the other on its host.
/// What keeps Pods apart over several nodes is not asked here.
pub fn clash(one: &Pod, other: &Pod, node: &Node) -> bool {
    let ports = &other.shape.host_ports;
    one.shape.host_ports.iter().any(|port| ports.iter().any(|taken| ports_clash(port, taken)))
        || (node.labels.contains_key(HOST) && (minds(one, other) || minds(other, one)))
}

/// Whether there is at most one Pod like this on a node.
pub fn is_one_per_node(pod: &Pod) -> bool {
    !pod.shape.host_ports.is_empty() || minds(pod, pod)
}

/// Why Pods of this shape cannot be beside those on a node, as far as they mind themselves. It follows from the shape and the
/// node alone, so it is remembered as other verdicts are: of a large gang with one Pod to a node nobody looks at the nodes
/// again that have theirs.
pub fn judge_host(ledger: &Ledger, shape: &Shape, state: &NodeState) -> Option<Reason> {
    on_host(shape).next().filter(|_| state.node.labels.contains_key(HOST))?;
    let minded =
        |pod: &Pod| on_host(shape).any(|term| about(term, &shape.namespace, &pod.namespace, &pod.labels));
    let mut residents = state.pods.iter().filter_map(|id| ledger.pod(*id));
    residents.any(|resident| minded(&resident.pod)).then_some(Reason::AntiAffinity)
}

/// Whether a Pod must not have another on its host.
fn minds(pod: &Pod, other: &Pod) -> bool {
    on_host(&pod.shape).any(|term| about(term, &pod.namespace, &other.namespace, &other.labels))
}

fn on_host(shape: &Shape) -> impl Iterator<Item = &PodAffinityTerm> {
    shape.anti_affinity.iter().filter(|term| term.topology_key == HOST)
}
