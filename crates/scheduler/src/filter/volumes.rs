//! Questions about volumes. Pods of one shape may use different ones, and what one Pod takes on a node may change the
//! answer for others elsewhere: they are asked anew each time.

use super::Reason;
use crate::{
    ledger::{Ledger, NodeState},
    model::Pod,
};

/// Why a Pod cannot use its volumes on a node now.
pub fn judge_volumes(ledger: &Ledger, pod: &Pod, state: &NodeState) -> Option<Reason> {
    if !ledger.has_volumes(&pod.shape, &state.node) {
        return Some(Reason::NoVolume);
    }
    if ledger.lacks_claim(pod) {
        return Some(Reason::ClaimInUse);
    }
    (!can_attach(pod, state)).then_some(Reason::VolumeLimit)
}

/// Whether the volumes that are not attached yet can be. As in kube-scheduler, a Pod that attaches none of a driver goes
/// also where there are too many of it.
fn can_attach(pod: &Pod, state: &NodeState) -> bool {
    state.node.volume_limits.iter().all(|(driver, limit)| {
        let attached = state.volumes.get(driver);
        let is_new = |volume: &str| attached.is_none_or(|attached| !attached.contains_key(volume));
        let asked = pod.volumes.attached.iter().filter(|(of, volume)| of == driver && is_new(volume)).count();
        let after = attached.map_or(0, std::collections::BTreeMap::len).saturating_add(asked);
        asked == 0 || after <= usize::try_from(*limit).unwrap_or(usize::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{PodPhase, Resources},
        testing::{node, pod},
    };

    /// A node that takes two volumes of a driver, on which Pods with these run.
    fn with_residents(residents: &[&[&str]]) -> Ledger {
        let mut ledger = Ledger::new(Vec::new(), Resources::default());
        let mut one = node("one", &[]);
        one.volume_limits.insert("csi".to_owned(), 2);
        let id = ledger.upsert_node(one);
        for (number, volumes) in residents.iter().enumerate() {
            ledger.upsert_pod(pod(&format!("resident{number}")).attached("csi", volumes).on(id).build());
        }
        ledger
    }

    fn verdict(ledger: &Ledger, pod: &Pod) -> Option<Reason> {
        ledger.nodes().find_map(|state| judge_volumes(ledger, pod, state))
    }

    /// A sentence, the volumes of those who run, the driver and the volumes of one who comes, and what is said to it.
    type Row<'a> = (&'a str, &'a [&'a [&'a str]], &'a str, &'a [&'a str], Option<Reason>);

    #[test]
    fn a_volume_is_attached_once_however_many_use_it() {
        let rows: [Row<'_>; 6] = [
            ("one more", &[&["a"]], "csi", &["b"], None),
            ("two more", &[&["a"]], "csi", &["b", "c"], Some(Reason::VolumeLimit)),
            ("the same as others", &[&["a", "b"], &["a"]], "csi", &["a", "b"], None),
            ("of another driver", &[&["a", "b"]], "other", &["c"], None),
            ("none, where there are too many", &[&["a", "b", "c"]], "csi", &[], None),
            ("a third", &[&["a"], &["b"]], "csi", &["c"], Some(Reason::VolumeLimit)),
        ];
        for (sentence, residents, driver, asked, want) in rows {
            let ledger = with_residents(residents);
            assert_eq!(verdict(&ledger, &pod("new").attached(driver, asked).build()), want, "{sentence}");
        }
    }

    #[test]
    fn the_last_user_takes_the_volume_off_the_node() {
        let mut ledger = with_residents(&[&["a", "b"], &["a"]]);
        let third = pod("third").attached("csi", &["c"]).build();
        ledger.remove_pod("uid-resident1");
        assert_eq!(verdict(&ledger, &third), Some(Reason::VolumeLimit));
        ledger.remove_pod("uid-resident0");
        assert_eq!(verdict(&ledger, &third), None);
        assert!(ledger.nodes().all(|state| state.volumes.is_empty()));
    }

    #[test]
    fn a_claim_for_one_pod_is_in_use_wherever_that_pod_is() {
        let mut ledger = with_residents(&[]);
        let there = ledger.upsert_node(node("two", &[]));
        let waiting = pod("waiting").exclusive("default/claim").build();
        ledger.upsert_pod(waiting.clone());
        ledger.upsert_pod(pod("other").exclusive("default/claim").build());
        assert_eq!(verdict(&ledger, &waiting), None, "who only waits, too, does not use it");
        ledger.upsert_pod(pod("user").exclusive("default/claim").on(there).build());
        assert_eq!(verdict(&ledger, &waiting), Some(Reason::ClaimInUse));
        assert_eq!(verdict(&ledger, &pod("else").exclusive("default/other").build()), None);
        ledger.upsert_pod(pod("user").exclusive("default/claim").phase(PodPhase::Ended).build());
        assert_eq!(verdict(&ledger, &waiting), None);
    }
}
