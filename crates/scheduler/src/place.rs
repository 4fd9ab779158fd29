//! Choosing a node and cards.
//!
//! [`Placer::best`] takes the node where the expected waste of cards grows least: what would be left unused if the node
//! were filled with Pods like those seen lately ([`mix`], [`future`]). Nodes in equal state share the evaluation.
//!
//! For each shape there is an [`index`] of verdicts and scores over all nodes. It follows the ledger's log of changes,
//! so that one placement re-judges one node, not all of them. Questions about the surroundings (affinity, spread,
//! reservations, closing times, volumes, promises) are asked of the best candidates only, in their order.

mod fill;
mod future;
mod index;
mod mix;
pub(crate) mod random;
mod ranking;
mod refusal;
mod scope;
mod score;
#[cfg(test)]
mod tests;
mod view;
mod wishes;

use std::collections::{BTreeMap, HashMap};

use crate::{
    filter::{
        Reason, is_one_per_node, judge_host, judge_node, judge_promises, judge_room, judge_volumes,
        pods_that_fit,
        topology::{Question, Topology},
    },
    ledger::{Ledger, NodeState},
    model::{CardsTaken, NodeId, Pod, Shape, ShapeId},
};

use self::{future::Futures, index::Index, mix::Mix, ranking::Ranking, view::Views, wishes::Wishes};
pub use self::{
    refusal::Refusal,
    scope::{Near, Pools, Scope},
};

/// Most verdicts remembered over all shapes, at twelve bytes each.
const MOST_VERDICTS: usize = 4_000_000;

/// A place for a Pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The node.
    pub node: NodeId,
    /// The cards there.
    pub cards: CardsTaken,
}

/// See the module.
#[derive(Debug)]
pub struct Placer {
    mix: Mix,
    futures: Futures,
    views: Views,
    topology: Topology,
    indexes: HashMap<IndexKey, Index>,
    /// The order of candidates for the gang that was asked about last.
    ranking: Option<Ranking>,
    asked: u64,
}

/// What a verdict on a node depends on, apart from the node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct IndexKey {
    shape: ShapeId,
    pools: Pools,
    lent_nodes: bool,
}

impl Default for Placer {
    fn default() -> Self {
        Self::new(0x5eed)
    }
}

impl Placer {
    /// A placer that learns what Pods to expect from those it sees. The seed fixes the futures it imagines.
    pub fn new(seed: u64) -> Self {
        Self::from_mix(Mix::learning(seed))
    }

    /// A placer that knows what to expect: shapes with how often they come.
    pub fn expecting<'a>(seed: u64, shapes: impl IntoIterator<Item = (&'a Shape, f64)>) -> Self {
        Self::from_mix(Mix::fixed(seed, shapes))
    }

    fn from_mix(mix: Mix) -> Self {
        Self {
            mix,
            futures: Futures::default(),
            views: Views::default(),
            topology: Topology::default(),
            indexes: HashMap::new(),
            ranking: None,
            asked: 0,
        }
    }

    /// The best place for a Pod, or how many nodes each filter removed.
    pub fn best(&mut self, ledger: &Ledger, pod: &Pod, scope: &Scope) -> Result<Placement, Refusal> {
        self.asked += 1;
        self.learn(ledger);
        let (key, index) = self.follow(ledger, pod, scope);
        let chosen = self.choose(ledger, pod, scope, (&key, &index));
        self.indexes.insert(key, index);
        self.forget();
        let (id, state) = chosen.and_then(|id| match ledger.node(id) {
            Some(state) => Ok((id, state)),
            None => Err(Refusal::default()),
        })?;
        let view = self.views.get(ledger, state, &mut self.futures);
        let cards = score::cards(ledger, &pod.shape, state, view, &mut self.futures);
        Ok(Placement { node: id, cards })
    }

    /// Why a Pod cannot go to a node now; the first reason found.
    pub fn judge(&mut self, ledger: &Ledger, pod: &Pod, scope: &Scope, node: NodeId) -> Option<Reason> {
        let Some(state) = ledger.node(node).filter(|state| state.present) else {
            return Some(Reason::NodeName);
        };
        let fixed = judge(ledger, &pod.shape, scope, state);
        let fixed = fixed.or_else(|| scope.judge_time(state));
        let fixed = fixed.or_else(|| judge_volumes(ledger, pod, state));
        fixed.or_else(|| judge_promises(ledger, pod, state)).or_else(|| {
            if !Topology::concerns(ledger, pod) {
                return None;
            }
            self.topology.follow(ledger, pod);
            self.topology.question(pod).judge(&state.node)
        })
    }

    /// How many Pods like this one fit into each value of a node label, for choosing the domains of a gang. Nodes
    /// without the label count under the empty value. What the Pods would do to each other by affinity is not asked.
    pub fn room_by_domain(
        &mut self,
        ledger: &Ledger,
        pod: &Pod,
        scope: &Scope,
        label: &str,
    ) -> BTreeMap<String, u32> {
        let (key, index) = self.follow(ledger, pod, scope);
        let mut rooms = BTreeMap::new();
        let most = if is_one_per_node(pod) { 1 } else { u32::MAX };
        for (id, _) in index.candidates() {
            let Some(state) = ledger.node(id).filter(|state| scope.judge_time(state).is_none()) else {
                continue;
            };
            let value = state.node.labels.get(label).cloned().unwrap_or_default();
            let room: &mut u32 = rooms.entry(value).or_default();
            *room = room.saturating_add(pods_that_fit(ledger, &pod.shape, state).min(most));
        }
        self.indexes.insert(key, index);
        rooms
    }

    /// Learns from Pods not seen before, and imagines other futures when the picture has changed.
    fn learn(&mut self, ledger: &Ledger) {
        self.mix.learn(ledger);
        if let Some(draws) = self.mix.redraw() {
            self.futures = Futures::new(draws);
            self.views.clear();
            self.indexes.clear();
            self.ranking = None;
        }
    }

    /// Takes the verdicts for a shape out and brings them up to date; the caller puts them back.
    fn follow(&mut self, ledger: &Ledger, pod: &Pod, scope: &Scope) -> (IndexKey, Index) {
        // A Pod the ledger does not know is judged anew each time.
        let known = ledger.find_pod(&pod.uid).and_then(|id| ledger.pod(id));
        let known = known.filter(|state| state.pod.shape == pod.shape);
        let shape = known.map_or(ShapeId(u32::MAX), |state| state.shape);
        let key = IndexKey { shape, pools: scope.pools.clone(), lent_nodes: scope.lent_nodes };
        let mut index = self.indexes.remove(&key).unwrap_or_default();
        if shape == ShapeId(u32::MAX) {
            index = Index::default();
        }
        index.asked = self.asked;
        let (views, futures) = (&mut self.views, &mut self.futures);
        index.follow(ledger, |state| match judge(ledger, &pod.shape, scope, state) {
            Some(reason) => Err(reason),
            None => Ok(score::score(ledger, &pod.shape, state, views.get(ledger, state, futures), futures)),
        });
        (key, index)
    }

    /// The best candidate of which all that is left to ask is answered well.
    fn choose(
        &mut self,
        ledger: &Ledger,
        pod: &Pod,
        scope: &Scope,
        (key, index): (&IndexKey, &Index),
    ) -> Result<NodeId, Refusal> {
        let concerned = Topology::concerns(ledger, pod);
        if concerned {
            self.topology.follow(ledger, pod);
        }
        let question = if concerned { self.topology.question(pod) } else { Question::default() };
        let ask = |id: NodeId| {
            let Some(state) = ledger.node(id) else { return Some(Reason::NodeName) };
            scope
                .judge_time(state)
                .or_else(|| question.judge(&state.node))
                .or_else(|| judge_volumes(ledger, pod, state))
                .or_else(|| judge_promises(ledger, pod, state))
        };
        if let Some(promised) = pod.nominated
            && index.admits(promised)
            && ask(promised).is_none()
        {
            return Ok(promised);
        }
        let ranked = scope.near.is_some() || question.has_wishes();
        if !ranked
            && let Some(first) = index.first()
            && ask(first).is_none()
        {
            return Ok(first);
        }
        if let Some(near) = &scope.near
            && !question.has_wishes()
        {
            let mut ranking = Ranking::follow(self.ranking.take(), key, near, ledger, index);
            let found = ranking.first(ledger, index, ask);
            self.ranking = Some(ranking);
            return found;
        }
        let wishes = question.has_wishes().then(|| {
            let nodes = index.candidates().filter_map(|(id, _)| ledger.node(id));
            Wishes::new(&question, &pod.shape, nodes.map(|state| &state.node))
        });
        let rank = |id: NodeId| {
            let Some(state) = ledger.node(id) else { return (u32::MAX, u32::MAX) };
            (scope.distance(&state.node), wishes.as_ref().map_or(0, |wishes| wishes.cost(&state.node)))
        };
        let mut refusal = index.refusal();
        for id in index.in_order(ranked.then_some(&rank)) {
            match ask(id) {
                None => return Ok(id),
                Some(reason) => refusal.count(reason),
            }
        }
        Err(refusal)
    }

    /// Drops the verdicts not asked for longest when there are too many.
    fn forget(&mut self) {
        let mut total: usize = self.indexes.values().map(Index::len).sum();
        while total > MOST_VERDICTS && self.indexes.len() > 1 {
            let oldest = self.indexes.iter().min_by_key(|(_, index)| index.asked).map(|(key, _)| key.clone());
            let Some(index) = oldest.and_then(|key| self.indexes.remove(&key)) else { return };
            total -= index.len();
        }
    }
}

/// Questions whose answers change only with the node or what runs on it.
fn judge(ledger: &Ledger, shape: &Shape, scope: &Scope, state: &NodeState) -> Option<Reason> {
    scope
        .judge_node(&state.node)
        .or_else(|| judge_node(shape, &state.node))
        .or_else(|| judge_room(ledger, shape, state))
        .or_else(|| judge_host(ledger, shape, state))
}
