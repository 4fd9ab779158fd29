//! Cards of a Pod: those that it asks for, and those that it has.
//!
//! The scheduler writes the numbers of the cards onto the Pod when it binds it, and the downward API brings them into
//! the variable, also for whole cards: what the device plugin chose by itself must not be a card that is shared out
//! already. What other schedulers place is left to the plugin.

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use kube::ResourceExt as _;
use maar_api::{cards, names, resources::PodResources};

/// The variable every Pod with cards has that Maar places.
pub(crate) const VARIABLE: &str = "MAAR_VISIBLE_CARDS";

/// Whether Maar places the Pod, and so numbers its cards.
pub(crate) fn are_numbered(spec: &PodSpec) -> bool {
    spec.scheduler_name.as_deref() == Some(names::SCHEDULER_NAME)
}

/// Whole cards that a Pod asks for, by resource.
pub(crate) fn asked(pod: &Pod) -> Vec<(&'static str, usize)> {
    let Ok(resources) = PodResources::from_pod(pod) else { return Vec::new() };
    let requests = resources.requests();
    let count = |card: &cards::Card| usize::try_from(requests.get(card.resource).value()).unwrap_or(0);
    cards::cards().map(|card| (card.resource, count(card))).filter(|(_, count)| *count > 0).collect()
}

/// The cards of a Pod that has a node, such as `nvidia.com/gpu=2,3`. Who is placed by others has `?` for each: only its
/// node knows which they are.
pub(crate) fn held(pod: &Pod) -> Option<String> {
    if let Some(given) = pod.annotations().get(names::ANNOTATION_CARDS) {
        return Some(given.clone());
    }
    let unknown = |(resource, count): (&str, usize)| format!("{resource}={}", vec!["?"; count].join(","));
    let all: Vec<String> = asked(pod).into_iter().map(unknown).collect();
    (!all.is_empty()).then(|| all.join(";"))
}
