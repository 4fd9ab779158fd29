//! Whose turn it is.
//!
//! Groups stand in lanes, lanes at their account, accounts under their parents, each of these sorted at all times. The
//! next group is found by walking down, and a change costs the height of the tree, not the number of groups.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use crate::model::{GroupId, ServiceLevel};

use super::{Blocked, LaneId, LaneKey, Rank, Seat, Share, Tree, entry::by_level, lane::Lane};

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Order {
    seats: Vec<Line>,
    lanes: Vec<Option<Lane>>,
    unused: Vec<LaneId>,
    by_key: HashMap<LaneKey, LaneId>,
    of_group: HashMap<GroupId, (LaneId, Rank)>,
    /// Lanes to ask again when there is more room, and when there are other nodes.
    for_room: BTreeSet<LaneId>,
    for_nodes: BTreeSet<LaneId>,
}

/// What waits at one account.
#[derive(Debug, Clone, Default)]
struct Line {
    /// The first group of each lane that may be asked, by level.
    heads: [BTreeSet<(Rank, LaneId)>; 2],
    /// Accounts below at which something may be asked, by level.
    children: [BTreeSet<(Share, Seat)>; 2],
    /// The share under which this account stands in its parent's line, by level.
    listed: [Option<Share>; 2],
    /// Lanes that wait for this account to give something back.
    for_limit: BTreeSet<LaneId>,
    /// All lanes of this account.
    lanes: BTreeSet<LaneId>,
}

impl Line {
    fn is_empty(&self, level: usize) -> bool {
        self.heads[level].is_empty() && self.children[level].is_empty()
    }
}

impl Order {
    /// Puts a group where its key and rank say; from where it was, if it stood elsewhere.
    pub fn insert(&mut self, tree: &Tree, key: LaneKey, rank: Rank) {
        if let Some((lane, known)) = self.of_group.get(&rank.group) {
            if *known == rank && self.lane(*lane).is_some_and(|lane| lane.key == key) {
                return;
            }
            self.remove(tree, rank.group);
        }
        self.grow(tree);
        let id = self.open_lane(key);
        let Some(lane) = self.lane_mut(id) else { return };
        let old = lane.waiting.first().copied();
        lane.waiting.insert(rank);
        self.of_group.insert(rank.group, (id, rank));
        self.follow_head(tree, id, old);
    }

    /// Takes a group out.
    pub fn remove(&mut self, tree: &Tree, group: GroupId) {
        let Some((id, rank)) = self.of_group.remove(&group) else { return };
        let Some(lane) = self.lane_mut(id) else { return };
        let old = lane.waiting.first().copied();
        lane.waiting.remove(&rank);
        self.follow_head(tree, id, old);
        self.close_if_empty(id);
    }

    /// Whose turn it is.
    pub fn next(&self, tree: &Tree, level: ServiceLevel) -> Option<(LaneId, Rank)> {
        let (index, mut seat) = (by_level(level), Seat::ROOT);
        loop {
            let here = self.seats.get(seat.index())?;
            match (here.heads[index].first(), here.children[index].first()) {
                (Some((rank, lane)), Some((share, _))) if tree.own_share(seat, level) <= *share => {
                    return Some((*lane, *rank));
                }
                (_, Some((_, child))) => seat = *child,
                (Some((rank, lane)), None) => return Some((*lane, *rank)),
                (None, None) => return None,
            }
        }
    }

    /// The first of a lane cannot start: nobody in it is asked until [`Blocked`] says so.
    pub fn block(&mut self, tree: &Tree, id: LaneId, blocked: Blocked) {
        let Some(lane) = self.lane(id) else { return };
        let (seat, head) = (lane.key.payer.seat, lane.waiting.first().copied());
        self.wake(tree, id);
        match &blocked {
            Blocked::Limit(limit) => {
                let account = limit.account().unwrap_or(Seat::ROOT);
                self.seats[account.index()].for_limit.insert(id);
            }
            Blocked::Room => {
                self.for_room.insert(id);
            }
            Blocked::Never => {
                self.for_nodes.insert(id);
            }
        }
        let Some(lane) = self.lane_mut(id) else { return };
        let level = by_level(lane.key.payer.level);
        lane.blocked = Some(blocked);
        if let Some(head) = head {
            self.seats[seat.index()].heads[level].remove(&(head, id));
            self.list(tree, seat, level);
        }
    }

    /// Why a lane is not asked.
    pub fn blocked(&self, id: LaneId) -> Option<&Blocked> {
        self.lane(id)?.blocked.as_ref()
    }

    /// Asks a lane again.
    pub fn wake(&mut self, tree: &Tree, id: LaneId) {
        let Some(lane) = self.lane_mut(id) else { return };
        let Some(blocked) = lane.blocked.take() else { return };
        let (payer, head) = (lane.key.payer, lane.waiting.first().copied());
        self.forget(id, &blocked);
        if let Some(head) = head {
            self.seats[payer.seat.index()].heads[by_level(payer.level)].insert((head, id));
            self.list(tree, payer.seat, by_level(payer.level));
        }
    }

    /// Takes a lane off the list on which it waits.
    fn forget(&mut self, id: LaneId, blocked: &Blocked) {
        match blocked {
            Blocked::Limit(limit) => {
                let account = limit.account().unwrap_or(Seat::ROOT);
                self.seats[account.index()].for_limit.remove(&id);
            }
            Blocked::Room => {
                self.for_room.remove(&id);
            }
            Blocked::Never => {
                self.for_nodes.remove(&id);
            }
        }
    }

    /// A Pod has gone: those who wait for room are asked again.
    pub fn more_room(&mut self, tree: &Tree) {
        for lane in std::mem::take(&mut self.for_room) {
            self.wake(tree, lane);
        }
    }

    /// Nodes have come or changed.
    pub fn other_nodes(&mut self, tree: &Tree) {
        self.more_room(tree);
        for lane in std::mem::take(&mut self.for_nodes) {
            self.wake(tree, lane);
        }
    }

    /// An account has given something back, and so have all above it.
    pub fn less_used(&mut self, tree: &Tree, seat: Seat) {
        self.grow(tree);
        let chain: Vec<Seat> = tree.chain(seat).collect();
        for seat in chain {
            for lane in std::mem::take(&mut self.seats[seat.index()].for_limit) {
                self.wake(tree, lane);
            }
        }
    }

    /// The use of an account has changed, and so has its turn.
    pub fn shares_changed(&mut self, tree: &Tree, seat: Seat) {
        self.grow(tree);
        for level in 0..2 {
            self.list(tree, seat, level);
        }
    }

    /// The tree is another one: everything is put in its place anew, and everybody is asked again.
    pub fn rebuild(&mut self, tree: &Tree) {
        self.grow(tree);
        for line in &mut self.seats {
            let lanes = std::mem::take(&mut line.lanes);
            *line = Line { lanes, ..Line::default() };
        }
        self.for_room.clear();
        self.for_nodes.clear();
        for index in 0..self.lanes.len() {
            let Some(lane) = &mut self.lanes[index] else { continue };
            lane.blocked = None;
            let id = LaneId(u32::try_from(index).unwrap_or(u32::MAX));
            let (payer, head) = (lane.key.payer, lane.waiting.first().copied());
            if let Some(head) = head {
                self.seats[payer.seat.index()].heads[by_level(payer.level)].insert((head, id));
            }
        }
        for index in 0..self.seats.len() {
            let seat = Seat(u32::try_from(index).unwrap_or(u32::MAX));
            self.list(tree, seat, 0);
            self.list(tree, seat, 1);
        }
    }

    /// What the groups of a lane have in common.
    pub fn key(&self, id: LaneId) -> Option<LaneKey> {
        Some(self.lane(id)?.key)
    }

    /// The first groups of a lane, at most so many.
    pub fn first(&self, id: LaneId, most: usize) -> Vec<Rank> {
        self.lane(id).map(|lane| lane.waiting.iter().take(most).copied().collect()).unwrap_or_default()
    }

    /// Where a group stands.
    pub fn place(&self, group: GroupId) -> Option<(LaneId, Rank)> {
        self.of_group.get(&group).copied()
    }

    /// Groups of an account and level that come before a rank, in no particular order.
    pub fn ahead(&self, seat: Seat, level: ServiceLevel, rank: Rank) -> impl Iterator<Item = Rank> + '_ {
        let lanes = self.seats.get(seat.index()).into_iter().flat_map(|line| &line.lanes);
        let lanes = lanes.filter_map(|id| self.lane(*id)).filter(move |lane| lane.key.payer.level == level);
        lanes.flat_map(move |lane| lane.waiting.range(..rank)).copied()
    }

    /// Accounts beside an account, or beside one above it, that have something to ask and go first.
    pub fn accounts_before<'a>(
        &'a self,
        tree: &'a Tree,
        seat: Seat,
        level: ServiceLevel,
    ) -> impl Iterator<Item = Seat> + 'a {
        tree.chain(seat).flat_map(move |seat| {
            let line = tree.parent(seat).and_then(|parent| self.seats.get(parent.index()));
            let before = line.into_iter().flat_map(move |line| &line.children[by_level(level)]);
            before.take_while(move |(share, _)| *share < tree.share(seat, level)).map(|(_, other)| *other)
        })
    }

    /// All lanes: why each is not asked, and how many stand in it.
    pub fn lanes(&self) -> impl Iterator<Item = (Option<&Blocked>, usize)> {
        self.lanes.iter().flatten().map(|lane| (lane.blocked.as_ref(), lane.waiting.len()))
    }

    /// How many groups wait.
    pub fn waiting(&self) -> usize {
        self.of_group.len()
    }

    fn lane(&self, id: LaneId) -> Option<&Lane> {
        self.lanes.get(usize::try_from(id.0).ok()?)?.as_ref()
    }

    fn lane_mut(&mut self, id: LaneId) -> Option<&mut Lane> {
        self.lanes.get_mut(usize::try_from(id.0).ok()?)?.as_mut()
    }

    fn grow(&mut self, tree: &Tree) {
        if self.seats.len() < tree.len() {
            self.seats.resize_with(tree.len(), Line::default);
        }
    }

    fn open_lane(&mut self, key: LaneKey) -> LaneId {
        if let Some(id) = self.by_key.get(&key) {
            return *id;
        }
        let lane = Lane { key, waiting: BTreeSet::new(), blocked: None };
        let id = self.unused.pop().unwrap_or_else(|| {
            self.lanes.push(None);
            LaneId(u32::try_from(self.lanes.len() - 1).unwrap_or(u32::MAX))
        });
        if let Some(slot) = self.lanes.get_mut(usize::try_from(id.0).unwrap_or(usize::MAX)) {
            *slot = Some(lane);
        }
        self.by_key.insert(key, id);
        self.seats[key.payer.seat.index()].lanes.insert(id);
        id
    }

    fn close_if_empty(&mut self, id: LaneId) {
        let Some(lane) = self.lane(id).filter(|lane| lane.waiting.is_empty()) else { return };
        let (key, blocked) = (lane.key, lane.blocked.clone());
        if let Some(blocked) = blocked {
            self.forget(id, &blocked);
        }
        self.by_key.remove(&key);
        self.seats[key.payer.seat.index()].lanes.remove(&id);
        if let Some(slot) = self.lanes.get_mut(usize::try_from(id.0).unwrap_or(usize::MAX)) {
            *slot = None;
        }
        self.unused.push(id);
    }

    /// Keeps the line of an account right after the first of one of its lanes may have changed. A new first means a
    /// new question, unless a limit refuses the whole lane.
    fn follow_head(&mut self, tree: &Tree, id: LaneId, old: Option<Rank>) {
        let Some(lane) = self.lane(id) else { return };
        let (payer, head, blocked) = (lane.key.payer, lane.waiting.first().copied(), lane.blocked.is_some());
        if head == old || blocked {
            return;
        }
        let level = by_level(payer.level);
        let heads = &mut self.seats[payer.seat.index()].heads[level];
        if let Some(old) = old {
            heads.remove(&(old, id));
        }
        if let Some(head) = head {
            heads.insert((head, id));
        }
        self.list(tree, payer.seat, level);
    }

    /// Keeps an account, and all above it, in its parent's line under its present share.
    fn list(&mut self, tree: &Tree, seat: Seat, level: usize) {
        let mut at = seat;
        while let Some(parent) = tree.parent(at) {
            let kind = if level == 0 { ServiceLevel::Guaranteed } else { ServiceLevel::BestEffort };
            let line = &mut self.seats[at.index()];
            let want = (!line.is_empty(level)).then(|| tree.share(at, kind));
            let had = std::mem::replace(&mut line.listed[level], want);
            if had != want {
                let children = &mut self.seats[parent.index()].children[level];
                if let Some(share) = had {
                    children.remove(&(share, at));
                }
                if let Some(share) = want {
                    children.insert((share, at));
                }
            }
            at = parent;
        }
    }
}
