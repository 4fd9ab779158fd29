//! Whose turn it is to be told why it waits.
//!
//! Everybody who waits gets an answer, and no round costs more than a bound: those who have not been told come first, then
//! those who were told longest ago. Limits, missing Pods and the place in the queue cost little. Looking at nodes costs
//! much, so few do that in a round; groups that ask for the same share what was found, and the others hear first that
//! there is no room, and why in a later round.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::waiting::reason;
use crate::{
    core::Core,
    explain::Explanation,
    model::{GroupId, Millis},
    queue::LaneKey,
};

/// Groups told in one round. Each costs at most one write of a status and one event.
pub(super) const TOLD: usize = 40;
/// Explanations of one round for which nodes are looked at.
const WHOLE: usize = 10;
/// A group is told this often at most.
const PAUSE: Millis = 30_000;
/// Who has just come is not told why it waits.
const YOUNG: Millis = 1000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Rota {
    told: BTreeMap<GroupId, Known>,
    /// What was found for the first of groups that ask for the same, and when.
    shared: HashMap<LaneKey, (Millis, Explanation)>,
}

/// What was last said about a group.
#[derive(Debug)]
struct Known {
    at: Millis,
    text: String,
    reason: &'static str,
}

/// Something said about a group.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) group: GroupId,
    pub(super) explanation: Explanation,
    /// It is not what was said the last time.
    pub(super) is_new: bool,
}

impl Rota {
    /// Explains to some of those who wait, at most so many.
    pub(super) fn round(
        &mut self,
        core: &mut Core,
        waiting: &BTreeSet<GroupId>,
        most: usize,
        now: Millis,
    ) -> Vec<Said> {
        self.told.retain(|id, _| waiting.contains(id));
        self.shared.retain(|_, (at, _)| now - *at < PAUSE);
        let due = waiting.iter().filter(|id| self.is_due(core, **id, now));
        let mut due: Vec<(Option<Millis>, GroupId)> = due.map(|id| (self.last(*id), *id)).collect();
        due.sort_unstable();
        let mut whole = WHOLE;
        let mut said = Vec::new();
        for (_, group) in due.into_iter().take(most) {
            let Some(explanation) = self.explain(core, group, &mut whole, now) else { continue };
            let text = explanation.summary();
            let known = Known { at: now, text: text.clone(), reason: reason(&explanation.state) };
            let before = self.told.insert(group, known);
            let is_new = before.is_none_or(|before| before.text != text);
            said.push(Said { group, explanation, is_new });
        }
        said
    }

    /// Whether a group may be told now.
    fn is_due(&self, core: &Core, id: GroupId, now: Millis) -> bool {
        let old_enough = core.ledger().group(id).is_some_and(|state| now - state.group.created >= YOUNG);
        old_enough && self.last(id).is_none_or(|at| now - at >= PAUSE)
    }

    /// When a group was last told.
    fn last(&self, id: GroupId) -> Option<Millis> {
        self.told.get(&id).map(|known| known.at)
    }

    fn explain(
        &mut self,
        core: &mut Core,
        group: GroupId,
        whole: &mut usize,
        now: Millis,
    ) -> Option<Explanation> {
        let lane = core.lane_of(group);
        // Whoever comes first has a time and nodes of its own to hear of.
        if let Some((lane, false)) = lane
            && let Some((_, first)) = self.shared.get(&lane)
        {
            let mut answer = core.explain_briefly(group, now)?;
            answer.share_nodes(first);
            return Some(answer);
        }
        if *whole == 0 {
            return core.explain_briefly(group, now);
        }
        let answer = core.explain(group, now)?;
        if answer.nodes.is_some() {
            *whole -= 1;
            self.shared.extend(lane.map(|(lane, _)| (lane, (now, answer.clone()))));
        }
        Some(answer)
    }

    /// Why those wait who have been told, one word each.
    pub(super) fn reasons(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.told.values().map(|known| known.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        core::{Budget, Config},
        explain::State,
        model::{Group, Resources},
        testing::{node, pod, shape},
    };

    /// A node of 64 cores, and single Pods that ask for so many cores each and find none.
    fn full(cores: &[i64]) -> Core {
        let mut core = Core::new(Config::default(), Vec::new(), Resources::default());
        core.upsert_node(node("one", &[]));
        for (number, cores) in std::iter::once(&64).chain(cores).enumerate() {
            let name = format!("n/{number}");
            let group = core.upsert_group(Group { name, minimum: 1, ..Group::default() });
            let mut one = pod(&number.to_string()).shape(shape().cpu(cores * 1000).build()).build();
            one.group = group;
            core.upsert_pod(one);
            // The first comes first.
            core.pass(0, Budget::default());
        }
        core
    }

    /// Rounds until nobody is left who was told nothing: how many, and how often nodes were looked at in each.
    fn rounds(core: &mut Core, rota: &mut Rota) -> Vec<usize> {
        let waiting = core.groups_waiting();
        let mut looked = Vec::new();
        while rota.told.len() < waiting.len() {
            let now = YOUNG + 2000 * i64::try_from(looked.len()).unwrap();
            let said = rota.round(core, &waiting, TOLD, now);
            assert!(!said.is_empty() && said.len() <= TOLD);
            assert!(said.iter().all(|one| matches!(one.explanation.state, State::NoRoom { .. })));
            looked.push(said.iter().filter(|one| !one.explanation.must_end.is_empty()).count());
        }
        looked
    }

    #[test]
    fn everybody_is_told_and_no_round_looks_at_nodes_too_often() {
        // Sixty kinds, three of each.
        let mut core = full(&(1..=60).chain(1..=60).chain(1..=60).collect::<Vec<_>>());
        let mut rota = Rota::default();
        let looked = rounds(&mut core, &mut rota);
        assert_eq!(looked.len(), 180_usize.div_ceil(TOLD));
        assert!(looked.iter().all(|count| *count <= WHOLE), "{looked:?}");
    }

    #[test]
    fn those_who_ask_for_the_same_share_what_was_found() {
        let mut core = full(&[8; 30]);
        let mut rota = Rota::default();
        let waiting = core.groups_waiting();
        let said = rota.round(&mut core, &waiting, TOLD, YOUNG);
        let texts: BTreeSet<String> = said.iter().map(|one| one.explanation.summary()).collect();
        assert_eq!(
            texts.into_iter().collect::<Vec<_>>(),
            ["no node has room for it: the only node has too little cpu left"]
        );
        let ahead: BTreeSet<usize> =
            said.iter().filter_map(|one| Some(one.explanation.queue.as_ref()?.ahead)).collect();
        assert_eq!(ahead.len(), 30, "each has a place of its own");
    }

    #[test]
    fn nobody_is_told_twice_within_a_while_and_what_was_said_is_no_news() {
        let mut core = full(&[8, 9]);
        let mut rota = Rota::default();
        let waiting = core.groups_waiting();
        assert!(rota.round(&mut core, &waiting, TOLD, YOUNG - 1).is_empty(), "they have just come");
        let first = rota.round(&mut core, &waiting, TOLD, YOUNG);
        assert!(first.len() == 2 && first.iter().all(|one| one.is_new));
        assert!(rota.round(&mut core, &waiting, TOLD, YOUNG + PAUSE - 1).is_empty());
        let again = rota.round(&mut core, &waiting, TOLD, YOUNG + PAUSE);
        assert!(again.len() == 2 && again.iter().all(|one| !one.is_new));
        rota.round(&mut core, &BTreeSet::new(), TOLD, YOUNG + PAUSE);
        assert_eq!(rota.reasons().count(), 0, "who does not wait any more is forgotten");
    }

    #[test]
    fn who_was_told_least_comes_first() {
        let mut core = full(&[8; 3]);
        let mut rota = Rota::default();
        let waiting = core.groups_waiting();
        let mut order = Vec::new();
        for round in 0..6 {
            let said = rota.round(&mut core, &waiting, 1, YOUNG + PAUSE * round);
            order.extend(said.into_iter().map(|one| one.group));
        }
        assert_eq!(order[..3], order[3..]);
        assert_eq!(order[..3].iter().collect::<BTreeSet<_>>().len(), 3);
    }
}
