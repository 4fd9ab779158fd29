//! Which nodes a group may use.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    filter::judge_node,
    ledger::NodeState,
    model::{GroupId, Millis, NodeId, Shape},
    place::{Pools, Scope},
    queue::{Reservation, Seat},
};

use super::Core;

impl Core {
    /// Where the Pods of a group may go now.
    pub(super) fn scope(&mut self, id: GroupId) -> Scope {
        let seat = self.groups.get(&id).map_or(Seat::ROOT, |known| known.payer.seat);
        let pools = self.pools(seat);
        let Some(state) = self.ledger.group(id) else { return Scope::default() };
        let against = |reservation: &&Reservation| self.is_held_against(reservation, id);
        let all_against = self.reservations.iter().all(|reservation| against(&reservation));
        let others = self.reservations.iter().filter(against);
        Scope {
            pools,
            lent_nodes: state.group.lent_nodes,
            ends: state.group.ends_by(self.now),
            held: if all_against { Arc::clone(&self.held) } else { Arc::new(held(others)) },
            near: None,
        }
    }

    /// Whether a group has to respect a reservation: not its own, nor that of one of its account whose turn comes later.
    /// Who comes first in a lane would otherwise wait for a node that is held for somebody who waits behind it, for ever.
    fn is_held_against(&self, reservation: &Reservation, id: GroupId) -> bool {
        if reservation.group == id {
            return false;
        }
        let seat = |group: GroupId| self.groups.get(&group).map(|known| known.payer.seat);
        let rank = |group: GroupId| self.order.place(group).map(|(_, rank)| rank);
        let comes_later = rank(id).zip(rank(reservation.group)).is_some_and(|(own, holder)| own < holder);
        !(comes_later && seat(id) == seat(reservation.group))
    }

    /// To be called when the reservations have changed.
    pub(super) fn reservations_changed(&mut self) {
        self.held = Arc::new(held(self.reservations.iter()));
    }

    /// The pools an account may use: those its nearest list names, and never those of others.
    fn pools(&mut self, seat: Seat) -> Pools {
        if let Some(known) = self.pools.get(&seat) {
            return known.clone();
        }
        let chain: Vec<Seat> = self.tree.chain(seat).collect();
        let above = || chain.iter().filter_map(|seat| self.tree.account(*seat));
        let own: BTreeSet<&String> = above().flat_map(|account| &account.owned_pools).collect();
        let owned = self.tree.accounts().flat_map(|account| &account.owned_pools);
        let foreign: BTreeSet<String> = owned.filter(|pool| !own.contains(pool)).cloned().collect();
        let pools = if let Some(account) = above().find(|account| !account.pools.is_empty()) {
            let named = account.pools.iter().chain(own);
            Pools::Only(Arc::new(named.filter(|pool| !foreign.contains(*pool)).cloned().collect()))
        } else if foreign.is_empty() {
            Pools::All
        } else {
            Pools::Except(Arc::new(foreign))
        };
        self.pools.insert(seat, pools.clone());
        pools
    }

    /// The nodes that Pods of a shape could use if they were empty, in a stable order.
    pub(super) fn candidates<'a>(
        &'a self,
        shape: &'a Shape,
        scope: &'a Scope,
    ) -> impl Iterator<Item = &'a NodeState> + 'a {
        self.ledger.nodes().filter(move |state| {
            scope.judge_node(&state.node).is_none()
                && scope.judge_time(state).is_none()
                && judge_node(shape, &state.node).is_none()
                && self.ledger.has_volumes(shape, &state.node)
        })
    }
}

/// The nodes of reservations. Where nobody can say from when on they are wanted, it is from now on.
fn held<'a>(reservations: impl Iterator<Item = &'a Reservation>) -> BTreeMap<NodeId, Millis> {
    let nodes = reservations.flat_map(|reservation| {
        let from = reservation.start.unwrap_or(Millis::MIN);
        reservation.nodes.iter().map(move |node| (*node, from))
    });
    nodes.collect()
}
