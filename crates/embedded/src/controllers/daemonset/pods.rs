//! What a DaemonSet's Pods look like and where they may run.

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec, Toleration,
};

use crate::controllers::owners::controller_reference;
use crate::controllers::placement::{self, NO_EXECUTE, NO_SCHEDULE};
use crate::controllers::template::pod_from;
use crate::controllers::view::{NodeView, PodView};

pub(crate) const HASH_LABEL: &str = "controller-revision-hash";
const GENERATION_LABEL: &str = "pod-template-generation";
const GENERATION_ANNOTATION: &str = "deprecated.daemonset.template.generation";

/// Daemons stay on nodes that others have to leave.
fn add_tolerations(spec: &mut PodSpec) {
    let mut wanted = vec![
        ("node.kubernetes.io/not-ready", NO_EXECUTE),
        ("node.kubernetes.io/unreachable", NO_EXECUTE),
        ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
        ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
        ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
        ("node.kubernetes.io/unschedulable", NO_SCHEDULE),
    ];
    if spec.host_network == Some(true) {
        wanted.push(("node.kubernetes.io/network-unavailable", NO_SCHEDULE));
    }
    let tolerations = spec.tolerations.get_or_insert_default();
    for (key, effect) in wanted {
        let toleration = Toleration {
            key: Some(key.into()),
            operator: Some("Exists".into()),
            effect: Some(effect.into()),
            ..Toleration::default()
        };
        let same = |existing: &Toleration| {
            existing.key == toleration.key
                && existing.effect == toleration.effect
                && existing.operator == toleration.operator
        };
        if !tolerations.iter().any(same) {
            tolerations.push(toleration);
        }
    }
}

/// Whether a node should get a Pod, and whether one that is there may stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fit {
    pub(crate) run: bool,
    pub(crate) stay: bool,
}

/// The specification Pods would have, for asking about many nodes.
pub(crate) fn spec_of(daemon: &DaemonSet) -> PodSpec {
    let mut spec = daemon.spec.as_ref().and_then(|spec| spec.template.spec.clone()).unwrap_or_default();
    add_tolerations(&mut spec);
    spec
}

/// Asks about one node.
pub(crate) fn fit(spec: &PodSpec, node: &NodeView) -> Fit {
    let named = spec.node_name.as_deref().unwrap_or_default();
    let wanted = named.is_empty() || named == node.name();
    if !wanted || !placement::affinity_allows(spec, node.name(), &node.metadata.labels) {
        return Fit { run: false, stay: false };
    }
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    let hindered =
        |effects: &[&str]| placement::untolerated(&node.spec.taints, tolerations, effects).is_some();
    Fit { run: !hindered(&[NO_SCHEDULE, NO_EXECUTE]), stay: !hindered(&[NO_EXECUTE]) }
}

fn generation(daemon: &DaemonSet) -> Option<&String> {
    daemon.metadata.annotations.as_ref()?.get(GENERATION_ANNOTATION)
}

/// Whether a Pod is of the present template.
pub(crate) fn is_updated(daemon: &DaemonSet, pod: &PodView, hash: &str) -> bool {
    pod.label(HASH_LABEL) == hash
        || generation(daemon).is_some_and(|number| pod.label(GENERATION_LABEL) == number)
}

/// A Pod for one node.
pub(crate) fn make_pod(daemon: &DaemonSet, node: &str, hash: &str) -> Pod {
    let template = daemon.spec.as_ref().map(|spec| spec.template.clone()).unwrap_or_default();
    let namespace = daemon.metadata.namespace.as_deref().unwrap_or_default();
    let mut pod = pod_from(&template, namespace, &controller_reference(daemon));
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(HASH_LABEL.into(), hash.to_owned());
    if let Some(number) = generation(daemon) {
        labels.insert(GENERATION_LABEL.into(), number.clone());
    }
    let spec = pod.spec.get_or_insert_default();
    add_tolerations(spec);
    pin(spec, node);
    pod
}

/// Pins a Pod to a node by affinity, so that the scheduler still checks that it fits there.
fn pin(spec: &mut PodSpec, node: &str) {
    let requirement = NodeSelectorRequirement {
        key: "metadata.name".into(),
        operator: "In".into(),
        values: Some(vec![node.to_owned()]),
    };
    let affinity: &mut Affinity = spec.affinity.get_or_insert_default();
    let node_affinity: &mut NodeAffinity = affinity.node_affinity.get_or_insert_default();
    let required: &mut NodeSelector =
        node_affinity.required_during_scheduling_ignored_during_execution.get_or_insert_default();
    if required.node_selector_terms.is_empty() {
        required.node_selector_terms.push(NodeSelectorTerm::default());
    }
    for term in &mut required.node_selector_terms {
        term.match_fields = Some(vec![requirement.clone()]);
    }
}
