//! Answering why a group waits. Looks at everything anew, and only when asked.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    explain::{
        Amount, Chance, Ending, Explanation, LONGEST_LIST, LimitReached, Nodes, Outlook, Position, Removed,
        State,
    },
    model::{GroupId, Millis, NodeId, PodId, ResourceId, WHOLE_CARD},
    place::Refusal,
    queue::{Blocked, Excess, LaneKey, Limit, Rank},
};

use super::{
    Core, Wait,
    hold::Forecast,
    need::{Need, need},
};

impl Core {
    /// Why a group waits, or that it does not; `None` if there is no such group. May look at every node and every Pod.
    pub fn explain(&mut self, id: GroupId, now: Millis) -> Option<Explanation> {
        self.answer(id, now, true)
    }

    /// The same without looking at nodes: that there is no room is known from the last pass, why there is none is not said.
    pub fn explain_briefly(&mut self, id: GroupId, now: Millis) -> Option<Explanation> {
        self.answer(id, now, false)
    }

    /// What a group in the queue has in common with others, and whether it comes first of them. What refuses it refuses
    /// them too.
    pub fn lane_of(&self, id: GroupId) -> Option<(LaneKey, bool)> {
        let (lane, rank) = self.order.place(id)?;
        Some((self.order.key(lane)?, self.order.first(lane, 1) == [rank]))
    }

    fn answer(&mut self, id: GroupId, now: Millis, whole: bool) -> Option<Explanation> {
        self.now = now.max(self.now);
        let state = self.ledger.group(id)?;
        let mut answer = Explanation {
            group: state.group.name.clone(),
            account: self.tree.name(self.groups.get(&id)?.payer.seat).to_owned(),
            state: State::Next,
            queue: None,
            nodes: None,
            must_end: Vec::new(),
            start: None,
            deadline: None,
            reserved: self.reservations.iter().any(|reservation| reservation.group == id),
        };
        if let Some(start) = self.deferred.of(id) {
            answer.state =
                State::MakingRoom { leaving: u32::try_from(start.awaited.len()).unwrap_or(u32::MAX) };
            answer.start = start.awaited.iter().map(|pod| self.leaves_by(*pod)).max();
            answer.deadline = self.outlook(id, answer.start);
            return Some(answer);
        }
        match need(&self.ledger, state) {
            Err(Wait::Nothing) => {
                answer.state = State::Placed { pods: u32::try_from(state.placed.len()).unwrap_or(u32::MAX) };
            }
            Err(Wait::Suspended) => answer.state = State::Suspended,
            Err(Wait::Unknown) => answer.state = State::Unknown,
            Err(Wait::Pods { have, need, task }) => {
                let task = task.and_then(|number| state.group.task_minimums.get(number));
                let task = task.map(|task| task.task.clone()).filter(|task| !task.is_empty());
                answer.state = State::WaitsForPods { have, need, task };
            }
            Ok(_) if self.is_too_late(id) => answer.state = State::TooLate,
            Ok(need) => self.explain_waiting(id, &need, &mut answer, whole),
        }
        if !matches!(answer.state, State::Placed { .. } | State::TooLate) {
            answer.deadline = self.outlook(id, answer.start);
        }
        Some(answer)
    }

    /// Whether a group that waits can keep its deadline, if it has one.
    fn outlook(&self, id: GroupId, start: Option<Millis>) -> Option<Outlook> {
        let group = &self.ledger.group(id)?.group;
        let at = group.deadline?;
        let from = start.unwrap_or(self.now).max(self.now);
        let needs = group.max_run.unwrap_or(0);
        let chance = match start {
            _ if from >= at => Chance::Missed,
            _ if from.saturating_add(needs) > at => Chance::CutShort,
            Some(_) if group.max_run.is_some() => Chance::Kept,
            _ => Chance::Unknown,
        };
        Some(Outlook { at, chance })
    }

    /// How many groups wait, by why.
    pub fn waiting_by_reason(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for (blocked, groups) in self.order.lanes() {
            let reason = match blocked {
                None => "next",
                Some(Blocked::Limit(_)) => "limit",
                Some(Blocked::Room) => "room",
                Some(Blocked::Never) => "never",
            };
            *counts.entry(reason).or_default() += groups;
        }
        counts
    }

    fn explain_waiting(&mut self, id: GroupId, need: &Need, answer: &mut Explanation, whole: bool) {
        let Some(payer) = self.groups.get(&id).map(|known| known.payer) else { return };
        answer.queue = self.order.place(id).map(|(_, rank)| self.position(id, rank));
        if let Err(limit) = self.admit(payer, need) {
            answer.state = State::Limited { limit: self.limit_reached(&limit) };
            return;
        }
        let pods = u32::try_from(need.count()).unwrap_or(u32::MAX);
        if !whole {
            match self.order.place(id).and_then(|(lane, _)| self.order.blocked(lane)) {
                Some(Blocked::Room) => answer.state = State::NoRoom { pods, fit: None },
                Some(Blocked::Never) => answer.state = State::NeverFits { pods },
                Some(Blocked::Limit(_)) | None => {}
            }
            return;
        }
        let (fit, refusal) = self.try_out(id, need);
        let Some(refusal) = refusal else { return };
        answer.nodes = Some(self.nodes_refused(&refusal));
        answer.state = State::NoRoom { pods, fit: Some(fit) };
        match self.forecast(id, need) {
            Forecast::Never => answer.state = State::NeverFits { pods },
            Forecast::At { start, nodes } => {
                let held = self.reservations.iter().find(|reservation| reservation.group == id);
                let (start, nodes) = held.map_or((start, nodes), |held| (held.start, held.nodes.clone()));
                answer.must_end = self.must_end(start, &nodes);
                answer.start = start;
            }
        }
    }

    /// How many of its Pods would find places, and why the next would not.
    fn try_out(&mut self, id: GroupId, need: &Need) -> (u32, Option<Refusal>) {
        let scope = self.scope(id);
        let mut placed = Vec::new();
        let mut refused = None;
        for pod in need.pods() {
            match self.place_one(pod, &scope) {
                Ok(()) => placed.push(pod),
                Err(refusal) => {
                    refused = Some(refusal);
                    break;
                }
            }
        }
        self.unplace_all(&placed);
        (u32::try_from(placed.len()).unwrap_or(u32::MAX), refused)
    }

    fn nodes_refused(&self, refusal: &Refusal) -> Nodes {
        let removed = refusal
            .ranked()
            .into_iter()
            .map(|(reason, nodes)| Removed { nodes, why: reason.phrase(&self.ledger, nodes) });
        Nodes { total: refusal.nodes, removed: removed.collect() }
    }

    fn position(&self, id: GroupId, rank: Rank) -> Position {
        let Some(payer) = self.groups.get(&id).map(|known| known.payer) else {
            return Position { ahead: 0, first: Vec::new(), share: 0.0, accounts: Vec::new() };
        };
        let mut first: BTreeSet<Rank> = BTreeSet::new();
        let mut ahead = 0;
        for rank in self.order.ahead(payer.seat, payer.level, rank) {
            ahead += 1;
            first.insert(rank);
            if first.len() > LONGEST_LIST {
                first.pop_last();
            }
        }
        let names = first.iter().filter_map(|rank| self.ledger.group(rank.group));
        let accounts = self.order.accounts_before(&self.tree, payer.seat, payer.level);
        Position {
            ahead,
            first: names.map(|state| state.group.name.clone()).collect(),
            share: self.tree.fullness(payer.seat, payer.level),
            accounts: accounts.take(LONGEST_LIST).map(|seat| self.tree.name(seat).to_owned()).collect(),
        }
    }

    /// Whose end makes room on these nodes by then.
    fn must_end(&self, start: Option<Millis>, nodes: &[NodeId]) -> Vec<Ending> {
        let mut endings: BTreeMap<(Millis, String), usize> = BTreeMap::new();
        let pods = nodes.iter().filter_map(|node| self.ledger.node(*node)).flat_map(|state| &state.pods);
        for pod in pods {
            let end = self.end_of(*pod);
            let Some(state) = self.ledger.pod(*pod) else { continue };
            if end <= start.unwrap_or(Millis::MAX) {
                let group = self.ledger.group(state.pod.group);
                let name = group.map_or_else(
                    || format!("{}/{}", state.pod.namespace, state.pod.name),
                    |state| state.group.name.clone(),
                );
                *endings.entry((end, name)).or_default() += 1;
            }
        }
        let endings = endings.into_iter().take(LONGEST_LIST).map(|((end, name), pods)| Ending {
            name,
            pods,
            ends: (end != Millis::MAX).then_some(end),
        });
        endings.collect()
    }

    fn leaves_by(&self, pod: PodId) -> Millis {
        let group = self.ledger.pod(pod).and_then(|state| self.ledger.group(state.pod.group));
        self.now.saturating_add(group.and_then(|state| state.group.grace).unwrap_or(self.config.grace))
    }

    fn limit_reached(&self, limit: &Limit) -> LimitReached {
        match limit {
            Limit::NoAccount { .. } => LimitReached::NoAccount,
            Limit::Capability { account, excess } => LimitReached::Capability {
                account: self.tree.name(*account).to_owned(),
                amount: self.amount(excess),
            },
            Limit::Member { account, user, excess } => LimitReached::Member {
                account: self.tree.name(*account).to_owned(),
                user: self.tree.user_name(*user).to_owned(),
                amount: self.amount(excess),
            },
            Limit::Space { space, excess } => LimitReached::Namespace {
                namespace: self.tree.space_name(*space).to_owned(),
                amount: self.amount(excess),
            },
            Limit::Kept { excess } => LimitReached::KeptForOthers { amount: self.amount(excess) },
        }
    }

    fn amount(&self, excess: &Excess) -> Amount {
        let write = |amount: i64| self.as_written(excess.resource, amount);
        Amount {
            resource: self.ledger.resources().name(excess.resource).to_owned(),
            used: write(excess.used),
            asked: write(excess.asked),
            cap: write(excess.cap),
        }
    }

    /// An amount as people write it: cards and cores in ones, memory in larger units.
    fn as_written(&self, resource: ResourceId, amount: i64) -> String {
        let is_card = self.ledger.kinds().iter().any(|kind| kind.resource == resource);
        let thousand = i64::from(WHOLE_CARD);
        if is_card || resource == ResourceId::CPU {
            let (ones, rest) = (amount / thousand, (amount % thousand).abs());
            return if rest == 0 {
                ones.to_string()
            } else {
                format!("{ones}.{rest:03}").trim_end_matches('0').to_owned()
            };
        }
        let bytes = resource == ResourceId::MEMORY || resource == ResourceId::EPHEMERAL_STORAGE;
        let units = [(1i64 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")];
        let unit = units.into_iter().find(|(unit, _)| bytes && amount != 0 && amount % unit == 0);
        unit.map_or_else(|| amount.to_string(), |(unit, name)| format!("{}{name}", amount / unit))
    }
}
