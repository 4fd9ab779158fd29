//! How many Pods to add, and which to take away.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::controllers::view::PodView;

/// The most Pods made or deleted in one go.
pub(crate) const BURST: usize = 500;

/// What to do about the number of Pods.
#[derive(Debug, PartialEq)]
pub(crate) enum Plan {
    Nothing,
    Create(usize),
    Delete(usize),
}

/// Compares what there is with what is wanted.
pub(crate) fn plan(active: usize, desired: i32) -> Plan {
    let desired = usize::try_from(desired).unwrap_or(0);
    match active.cmp(&desired) {
        Ordering::Equal => Plan::Nothing,
        Ordering::Less => Plan::Create((desired - active).min(BURST)),
        Ordering::Greater => Plan::Delete((active - desired).min(BURST)),
    }
}

/// The Pods that are missed least. `related` are the active Pods of all ReplicaSets of the same Deployment: a Pod
/// that shares its node with many of them is missed less.
pub(crate) fn choose(
    mut active: Vec<Arc<PodView>>,
    related: &[Arc<PodView>],
    count: usize,
    now: Timestamp,
) -> Vec<Arc<PodView>> {
    if count < active.len() {
        let mut on_node: BTreeMap<&str, usize> = BTreeMap::new();
        for pod in related.iter().filter(|pod| pod.is_active()) {
            *on_node.entry(&pod.spec.node_name).or_default() += 1;
        }
        let rank = |pod: &PodView| on_node.get(pod.spec.node_name.as_str()).copied().unwrap_or(0);
        active.sort_by(|one, other| preference(one, other, rank(one), rank(other), now));
    }
    active.truncate(count);
    active
}

/// `Less` if `one` should go before `other`.
fn preference(
    one: &PodView,
    other: &PodView,
    one_rank: usize,
    other_rank: usize,
    now: Timestamp,
) -> Ordering {
    let placed = |pod: &PodView| !pod.spec.node_name.is_empty();
    let readiness = |pod: &PodView| pod.is_ready();
    placed(one)
        .cmp(&placed(other))
        .then_with(|| phase_rank(one).cmp(&phase_rank(other)))
        .then_with(|| readiness(one).cmp(&readiness(other)))
        .then_with(|| one.deletion_cost().cmp(&other.deletion_cost()))
        .then_with(|| other_rank.cmp(&one_rank))
        .then_with(|| younger(one.ready_since(), other.ready_since(), one, other, now))
        .then_with(|| other.restarts().cmp(&one.restarts()))
        .then_with(|| {
            younger(one.metadata.creation_timestamp, other.metadata.creation_timestamp, one, other, now)
        })
        .then_with(|| one.metadata.uid.cmp(&other.metadata.uid))
}

fn phase_rank(pod: &PodView) -> u8 {
    match pod.status.phase.as_str() {
        "Pending" => 0,
        "Running" => 2,
        _ => 1,
    }
}

/// The younger first. Ages of the same power of two count as equal, so that the choice spreads over nodes and
/// zones instead of following the order of creation; then the uid decides.
fn younger(
    one: Option<Timestamp>,
    other: Option<Timestamp>,
    one_pod: &PodView,
    other_pod: &PodView,
    now: Timestamp,
) -> Ordering {
    match (one, other) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (Some(one), Some(other)) if one == other => Ordering::Equal,
        (Some(one), Some(other)) => magnitude(now, one)
            .cmp(&magnitude(now, other))
            .then_with(|| one_pod.metadata.uid.cmp(&other_pod.metadata.uid)),
    }
}

fn magnitude(now: Timestamp, then: Timestamp) -> Option<u32> {
    let nanoseconds = now.duration_since(then).as_nanos();
    u128::try_from(nanoseconds).ok().and_then(u128::checked_ilog2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::view::tests::{noon, pod};

    #[test]
    fn the_difference_is_made_up_in_bursts() {
        assert_eq!(plan(3, 3), Plan::Nothing);
        assert_eq!(plan(1, 3), Plan::Create(2));
        assert_eq!(plan(5, 3), Plan::Delete(2));
        assert_eq!(plan(0, 10_000), Plan::Create(BURST));
        assert_eq!(plan(2, -1), Plan::Delete(2));
    }

    #[test]
    fn pods_that_are_missed_least_go_first() {
        let rows = [
            ("not placed before placed", pod("a"), pod("b").on("n")),
            ("pending before running", pod("a").on("n"), pod("b").on("n").phase("Running")),
            ("unready before ready", pod("a").on("n").phase("Running"), pod("b").on("n").ready_for(60)),
            (
                "cheap before dear",
                pod("a")
                    .on("n")
                    .ready_for(9000)
                    .annotated("controller.kubernetes.io/pod-deletion-cost", "-1"),
                pod("b").on("n").ready_for(60),
            ),
            (
                "doubled up before alone",
                pod("a").on("crowded").ready_for(9000),
                pod("b").on("n").ready_for(60),
            ),
            (
                "ready for a short time before a long time",
                pod("z").on("n").ready_for(5),
                pod("b").on("n").ready_for(60),
            ),
            ("younger before older", pod("z").on("n").aged(5), pod("b").on("n").aged(60)),
        ];
        let related: Vec<Arc<PodView>> =
            (0..3).map(|number| Arc::new(pod(&format!("r{number}")).on("crowded").ready_for(1))).collect();
        for (name, first, second) in rows {
            let want = first.metadata.name.clone();
            let pods = vec![Arc::new(second), Arc::new(first)];
            let chosen = choose(pods, &related, 1, noon());
            assert_eq!(chosen[0].metadata.name, want, "{name}");
        }
    }

    #[test]
    fn taking_all_needs_no_order() {
        assert_eq!(choose(vec![Arc::new(pod("a"))], &[], 1, noon()).len(), 1);
    }
}
