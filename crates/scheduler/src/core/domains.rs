//! The fewest topology domains for a gang.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    model::GroupId,
    place::{Near, Scope},
};

use super::{Core, need::Need};

/// The fewest domains that take `count` Pods: the smallest one that is enough, else the largest ones. Domains where the
/// group is already come first.
fn fewest(count: usize, room: &BTreeMap<String, (usize, bool)>) -> Vec<String> {
    let mut order: Vec<(&String, &(usize, bool))> = room.iter().collect();
    order.sort_by_key(|(value, (room, home))| (!home, std::cmp::Reverse(*room), (*value).clone()));
    let mut left = count;
    let mut chosen = Vec::new();
    while left > 0 && !order.is_empty() {
        // The last domain is the smallest one that is enough for the rest.
        let enough = order.iter().enumerate().filter(|(_, (_, (room, _)))| *room >= left);
        let index = enough.min_by_key(|(_, (_, (room, home)))| (!home, *room)).map_or(0, |(index, _)| index);
        let (value, (room, _)) = order.remove(index);
        chosen.push(value.clone());
        left -= left.min(*room);
    }
    chosen
}

impl Core {
    /// The domains a group should use, none if it does not ask for any.
    pub(super) fn near(&mut self, id: GroupId, need: &Need, scope: &Scope) -> Option<Arc<Near>> {
        let state = self.ledger.group(id)?;
        let label = state.group.topology_key.clone()?;
        if need.count() < 2 && state.placed.is_empty() {
            return None;
        }
        let mut room: BTreeMap<String, (usize, bool)> = BTreeMap::new();
        for (_, pods) in &need.parts {
            let pod = &self.ledger.pod(*pods.first()?)?.pod;
            for (value, fits) in self.placer.room_by_domain(&self.ledger, pod, scope, &label) {
                let fits = usize::try_from(fits).unwrap_or(usize::MAX);
                let (sum, _) = room.entry(value).or_default();
                // With one shape all that fits says which domain is smaller; with several, what is needed of each.
                *sum = sum.saturating_add(if need.parts.len() > 1 { fits.min(pods.len()) } else { fits });
            }
        }
        for pod in &state.placed {
            let node = self.place_of(*pod).and_then(|node| self.ledger.node(node));
            if let Some(value) = node.and_then(|node| node.node.labels.get(&label)) {
                room.entry(value.clone()).or_default().1 = true;
            }
        }
        room.retain(|value, (room, _)| *room > 0 && !value.is_empty());
        Some(Arc::new(Near { values: fewest(need.count(), &room), label }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(list: &[(&str, usize)]) -> BTreeMap<String, (usize, bool)> {
        list.iter().map(|(value, room)| ((*value).to_owned(), (*room, false))).collect()
    }

    fn chosen(count: usize, list: &[(&str, usize)]) -> Vec<String> {
        fewest(count, &room(list))
    }

    #[test]
    fn one_domain_that_is_just_enough_is_best() {
        let racks = [("a", 64), ("b", 20), ("c", 32)];
        assert_eq!(chosen(20, &racks), ["b"]);
        assert_eq!(chosen(21, &racks), ["c"]);
        assert_eq!(chosen(80, &racks), ["a", "b"]);
        assert_eq!(chosen(90, &racks), ["a", "c"]);
    }

    #[test]
    fn a_group_grows_where_it_is() {
        let mut racks = room(&[("a", 4), ("b", 2)]);
        racks.get_mut("a").unwrap().1 = true;
        assert_eq!(fewest(2, &racks), ["a"]);
    }
}
