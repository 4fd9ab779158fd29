//! How fast Pods may be driven off silent nodes: slowly, and not at all when everything seems lost, because then it
//! is more likely the network than the nodes.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

/// One node per so many seconds in a healthy zone, and in a large troubled one.
const NORMAL_PAUSE: i64 = 10;
const TROUBLED_PAUSE: i64 = 100;
/// A troubled zone with no more nodes than this evicts nothing.
const LARGE: usize = 50;
/// Per hundred: from here on a zone is troubled.
const TROUBLED_SHARE: usize = 55;

/// How a zone is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZoneState {
    Normal,
    Troubled,
    Lost,
}

/// The state of a zone with so many ready and unready nodes.
pub(crate) fn state(ready: usize, unready: usize) -> ZoneState {
    if ready == 0 && unready > 0 {
        ZoneState::Lost
    } else if unready > 2 && unready * 100 >= TROUBLED_SHARE * (ready + unready) {
        ZoneState::Troubled
    } else {
        ZoneState::Normal
    }
}

/// Remembers when Pods were last driven off a node of each zone.
#[derive(Debug, Default)]
pub(crate) struct Pacing {
    last: BTreeMap<String, Timestamp>,
}

/// Whether a node may be emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    Now,
    At(Timestamp),
    Never,
}

impl Pacing {
    /// Whether another node of a zone may be emptied now. `zones` are the counts of ready and unready nodes.
    pub(crate) fn ask(
        &self,
        zone: &str,
        zones: &BTreeMap<String, (usize, usize)>,
        now: Timestamp,
    ) -> Permission {
        let states = || zones.values().map(|(ready, unready)| state(*ready, *unready));
        if states().all(|state| state == ZoneState::Lost) {
            return Permission::Never;
        }
        let (ready, unready) = zones.get(zone).copied().unwrap_or_default();
        let pause = match state(ready, unready) {
            // Other zones live: then this one is really lost, and its Pods are wanted elsewhere.
            ZoneState::Normal | ZoneState::Lost => NORMAL_PAUSE,
            ZoneState::Troubled if ready + unready > LARGE => TROUBLED_PAUSE,
            ZoneState::Troubled => return Permission::Never,
        };
        let next = self.last.get(zone).map(|last| *last + SignedDuration::from_secs(pause));
        match next.filter(|next| *next > now) {
            Some(next) => Permission::At(next),
            None => Permission::Now,
        }
    }

    pub(crate) fn used(&mut self, zone: &str, now: Timestamp) {
        self.last.insert(zone.to_owned(), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::view::tests::noon;

    #[test]
    fn a_zone_is_normal_troubled_or_lost() {
        assert_eq!(state(3, 1), ZoneState::Normal);
        assert_eq!(state(1, 2), ZoneState::Normal, "small numbers say little");
        assert_eq!(state(2, 3), ZoneState::Troubled);
        assert_eq!(state(0, 1), ZoneState::Lost);
        assert_eq!(state(0, 0), ZoneState::Normal);
    }

    #[test]
    fn nodes_are_emptied_one_after_another_unless_all_is_lost() {
        let zones = |list: &[(&str, usize, usize)]| {
            list.iter().map(|(name, ready, unready)| ((*name).to_owned(), (*ready, *unready))).collect()
        };
        let mut pacing = Pacing::default();
        let two: BTreeMap<String, (usize, usize)> = zones(&[("a", 5, 2)]);
        assert_eq!(pacing.ask("a", &two, noon()), Permission::Now);
        pacing.used("a", noon());
        assert_eq!(pacing.ask("a", &two, noon()), Permission::At(noon() + SignedDuration::from_secs(10)));
        assert_eq!(pacing.ask("a", &zones(&[("a", 0, 1)]), noon()), Permission::Never);
        assert_eq!(pacing.ask("b", &zones(&[("a", 3, 0), ("b", 0, 2)]), noon()), Permission::Now);
        assert_eq!(pacing.ask("b", &zones(&[("b", 1, 3)]), noon()), Permission::Never);
        assert_eq!(pacing.ask("b", &zones(&[("b", 20, 40)]), noon()), Permission::Now);
    }
}
