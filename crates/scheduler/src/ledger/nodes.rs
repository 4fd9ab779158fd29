//! Nodes with what runs on them, and a log of which changed.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use super::{Ledger, cards::Cards};
use crate::model::{Amounts, CardKind, CardKindId, CardsTaken, Node, NodeId, Pod, PodId, WHOLE_CARD};

/// A node and what is taken of it.
#[derive(Debug, Clone)]
pub struct NodeState {
    /// Its number.
    pub id: NodeId,
    /// The node. Only its name is meant while it is not [`Self::present`].
    pub node: Node,
    /// Whether the node itself has been seen; Pods may be seen first, and outlive it.
    pub present: bool,
    /// What is taken, cards (in thousandths) included.
    pub used: Amounts,
    /// Its cards.
    pub cards: Cards,
    /// The Pods on it.
    pub pods: BTreeSet<PodId>,
    /// Pods that are thought away and may still be there: it keeps its number for them.
    pub(super) lifted: BTreeSet<PodId>,
    /// Those on it that have required anti-affinity.
    pub repelling: BTreeSet<PodId>,
    /// Those on it for whom it matters where others go: they want them near, or would like them near or away.
    pub minding: BTreeSet<PodId>,
    /// Host ports in use, as (address, protocol, port), with how many Pods use them.
    pub ports: BTreeMap<(String, String, u16), u32>,
    /// Volumes attached, by driver and name, with how many Pods use each.
    pub volumes: BTreeMap<String, BTreeMap<String, u32>>,
    /// Grows with every change of this node, and is never the same for two states.
    pub generation: u64,
}

impl NodeState {
    fn absent(id: NodeId, name: &str) -> Self {
        Self {
            id,
            node: Node { name: name.to_owned(), ..Node::default() },
            present: false,
            used: Amounts::default(),
            cards: Cards::default(),
            pods: BTreeSet::new(),
            lifted: BTreeSet::new(),
            repelling: BTreeSet::new(),
            minding: BTreeSet::new(),
            ports: BTreeMap::new(),
            volumes: BTreeMap::new(),
            generation: 0,
        }
    }

    /// How much of a card's memory there is, in MiB.
    pub fn card_memory(&self, kind: CardKindId) -> Option<u32> {
        self.node.card_memory.iter().find(|(other, _)| *other == kind).map(|(_, memory)| *memory)
    }

    /// What Pods may take of it when it is empty: withheld cards do not count.
    pub(crate) fn usable(&self, kinds: &[CardKind]) -> Amounts {
        let mut all = self.node.allocatable.clone();
        for (kind, resource) in (0..).map(CardKindId).zip(kinds.iter().map(|kind| kind.resource)) {
            let usable = self.cards.of_kind(kind).iter().filter(|card| !card.withheld).count();
            all.set(resource, i64::from(WHOLE_CARD) * i64::try_from(usable).unwrap_or(0));
        }
        all
    }

    pub(super) fn count(&mut self, pod: &Pod, amounts: &Amounts, cards: &CardsTaken) {
        self.used += amounts;
        self.cards.take(cards);
        for port in &pod.shape.host_ports {
            *self.ports.entry(port.clone()).or_default() += 1;
        }
        for (driver, volume) in &pod.volumes.attached {
            let of_driver = self.volumes.entry(driver.clone()).or_default();
            *of_driver.entry(volume.clone()).or_default() += 1;
        }
    }

    fn uncount(&mut self, pod: &Pod, amounts: &Amounts, cards: &CardsTaken) {
        self.used -= amounts;
        self.cards.give_back(cards);
        for port in &pod.shape.host_ports {
            if let Some(users) = self.ports.get_mut(port) {
                *users -= 1;
                if *users == 0 {
                    self.ports.remove(port);
                }
            }
        }
        for (driver, volume) in &pod.volumes.attached {
            let Some(of_driver) = self.volumes.get_mut(driver) else { continue };
            if let Some(users) = of_driver.get_mut(volume) {
                *users -= 1;
                if *users == 0 {
                    of_driver.remove(volume);
                }
            }
            if of_driver.is_empty() {
                self.volumes.remove(driver);
            }
        }
    }
}

/// What the nodes of a pool have in all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PoolTotal {
    /// How many nodes.
    pub nodes: usize,
    /// What Pods may take of those that are here for good.
    pub own: Amounts,
    /// What Pods may take of lent ones.
    pub lent: Amounts,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Nodes {
    /// By number. `None` is a node that is gone for good.
    states: Vec<Option<Box<NodeState>>>,
    numbers: HashMap<Arc<str>, NodeId>,
    present: BTreeSet<NodeId>,
    generation: u64,
    /// Generation and node of each change; of a bounded length.
    log: VecDeque<(u64, NodeId)>,
    /// Changes up to this generation are no longer in the log.
    forgotten: u64,
    pools: BTreeMap<Option<String>, PoolTotal>,
    /// How many nodes have cards of a memory size, by kind.
    card_memories: BTreeMap<(CardKindId, u32), usize>,
    /// Placed Pods that have required anti-affinity.
    repelling: usize,
    /// Placed Pods for whom it matters where others go.
    minding: usize,
}

fn state_mut(states: &mut [Option<Box<NodeState>>], id: NodeId) -> Option<&mut NodeState> {
    states.get_mut(usize::try_from(id.0).ok()?)?.as_deref_mut()
}

impl Nodes {
    fn number(&mut self, name: &str) -> NodeId {
        if let Some(known) = self.numbers.get(name) {
            return *known;
        }
        let id = NodeId(u32::try_from(self.states.len()).unwrap_or(u32::MAX));
        self.states.push(Some(Box::new(NodeState::absent(id, name))));
        self.numbers.insert(name.into(), id);
        id
    }

    pub(super) fn get(&self, id: NodeId) -> Option<&NodeState> {
        self.states.get(usize::try_from(id.0).ok()?)?.as_deref()
    }

    fn get_mut(&mut self, id: NodeId) -> Option<&mut NodeState> {
        state_mut(&mut self.states, id)
    }

    pub(super) fn smallest_card(&self, kind: CardKindId) -> Option<u32> {
        self.card_memories.range((kind, 0)..=(kind, u32::MAX)).next().map(|((_, memory), _)| *memory)
    }

    /// Puts a Pod on a node.
    pub(super) fn occupy(
        &mut self,
        node: NodeId,
        id: PodId,
        pod: &Pod,
        amounts: &Amounts,
        cards: &CardsTaken,
    ) {
        if let Some(state) = state_mut(&mut self.states, node) {
            state.pods.insert(id);
            if !pod.shape.anti_affinity.is_empty() && state.repelling.insert(id) {
                self.repelling += 1;
            }
            if pod.shape.minds_others() && state.minding.insert(id) {
                self.minding += 1;
            }
            state.count(pod, amounts, cards);
        }
        self.touch(node);
    }

    /// Takes a Pod off its node.
    pub(super) fn vacate(
        &mut self,
        node: NodeId,
        id: PodId,
        pod: &Pod,
        amounts: &Amounts,
        cards: &CardsTaken,
    ) {
        if let Some(state) = state_mut(&mut self.states, node) {
            state.pods.remove(&id);
            if state.repelling.remove(&id) {
                self.repelling -= 1;
            }
            if state.minding.remove(&id) {
                self.minding -= 1;
            }
            state.uncount(pod, amounts, cards);
        }
        self.touch(node);
    }

    /// Notes that a Pod of a node is thought away, or is so no longer.
    pub(super) fn lifted(&mut self, node: NodeId, pod: PodId, is: bool) {
        if let Some(state) = self.get_mut(node) {
            if is {
                state.lifted.insert(pod)
            } else {
                state.lifted.remove(&pod)
            };
        }
    }

    /// Notes that a node changed.
    pub(super) fn touch(&mut self, id: NodeId) {
        self.generation += 1;
        let generation = self.generation;
        if let Some(state) = self.get_mut(id) {
            state.generation = generation;
        }
        self.log.push_back((generation, id));
        let longest = 1024 + 4 * self.states.len();
        if self.log.len() > longest {
            for (generation, _) in self.log.drain(..longest / 2) {
                self.forgotten = generation;
            }
        }
    }

    /// Drops a node that neither exists nor has Pods, those included that are thought away: were it to come back under
    /// another number, nobody would know that they are still there.
    pub(super) fn forget_if_gone(&mut self, id: NodeId) {
        let Some(state) = self.get(id) else { return };
        if state.present || !state.pods.is_empty() || !state.lifted.is_empty() {
            return;
        }
        let name = state.node.name.clone();
        self.numbers.remove(name.as_str());
        if let Ok(index) = usize::try_from(id.0) {
            self.states[index] = None;
        }
    }

    /// Adds a node to the totals, or takes it out of them.
    fn count_in_totals(&mut self, id: NodeId, kinds: &[CardKind], add: bool) {
        let Some(state) = self.get(id).filter(|state| state.present) else { return };
        let usable = state.usable(kinds);
        let (pool, lent) = (state.node.pool.clone(), state.node.lent.is_some());
        let memories = state.node.card_memory.clone();
        let total = self.pools.entry(pool.clone()).or_default();
        let part = if lent { &mut total.lent } else { &mut total.own };
        if add {
            *part += &usable;
            total.nodes += 1;
        } else {
            *part -= &usable;
            total.nodes -= 1;
            if total.nodes == 0 {
                self.pools.remove(&pool);
            }
        }
        for memory in memories {
            let nodes = self.card_memories.entry(memory).or_default();
            if add {
                *nodes += 1;
            } else {
                *nodes -= 1;
                if *nodes == 0 {
                    self.card_memories.remove(&memory);
                }
            }
        }
    }
}

impl Ledger {
    /// The number of a node by name, also of one that has not been seen yet: Pods may be seen before their node.
    pub fn node_id(&mut self, name: &str) -> NodeId {
        self.nodes.number(name)
    }

    /// The number of a node that has been seen or has Pods.
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        self.nodes.numbers.get(name).copied()
    }

    /// A node was seen.
    pub fn upsert_node(&mut self, node: Node) -> NodeId {
        let id = self.nodes.number(&node.name);
        if self.nodes.get(id).is_some_and(|state| state.present && state.node == node) {
            return id;
        }
        self.nodes.count_in_totals(id, &self.kinds, false);
        let mut cards = Cards::of(&node, &self.kinds);
        for pod in self.nodes.get(id).iter().flat_map(|state| &state.pods) {
            if let Some(taken) = self.pods.cards(*pod) {
                cards.take(taken);
            }
        }
        if let Some(state) = self.nodes.get_mut(id) {
            state.node = node;
            state.present = true;
            state.cards = cards;
        }
        self.nodes.present.insert(id);
        self.nodes.count_in_totals(id, &self.kinds, true);
        self.nodes.touch(id);
        self.presume_missing_cards(id);
        id
    }

    /// A node is gone. Its Pods are not: they go by their own events.
    pub fn remove_node(&mut self, name: &str) {
        let Some(id) = self.find_node(name) else { return };
        self.nodes.count_in_totals(id, &self.kinds, false);
        self.nodes.present.remove(&id);
        if let Some(state) = self.nodes.get_mut(id) {
            state.present = false;
        }
        self.nodes.touch(id);
        self.nodes.forget_if_gone(id);
    }

    /// A node, unless it is gone. Look at [`NodeState::present`].
    pub fn node(&self, id: NodeId) -> Option<&NodeState> {
        self.nodes.get(id)
    }

    /// The nodes that exist, in the order of their numbers.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeState> {
        self.nodes.present.iter().filter_map(|id| self.nodes.get(*id))
    }

    /// How many nodes exist.
    pub fn node_count(&self) -> usize {
        self.nodes.present.len()
    }

    /// How many placed Pods have required anti-affinity, which others must respect.
    pub fn repelling_pods(&self) -> usize {
        self.nodes.repelling
    }

    /// How many placed Pods want others near, or would like them near or away.
    pub fn minding_pods(&self) -> usize {
        self.nodes.minding
    }

    /// The generation of the newest change of any node.
    pub fn generation(&self) -> u64 {
        self.nodes.generation
    }

    /// The nodes that changed after a generation, some perhaps more than once, some perhaps gone. `None` means that it
    /// is too long ago to say: look at all of them.
    pub fn changed_since(&self, generation: u64) -> Option<impl Iterator<Item = NodeId> + '_> {
        if generation < self.nodes.forgotten {
            return None;
        }
        let from = self.nodes.log.partition_point(|(at, _)| *at <= generation);
        Some(self.nodes.log.range(from..).map(|(_, id)| *id))
    }

    /// What each pool has; `None` is the nodes without one.
    pub fn pools(&self) -> impl Iterator<Item = (Option<&str>, &PoolTotal)> {
        self.nodes.pools.iter().map(|(pool, total)| (pool.as_deref(), total))
    }

    /// What all nodes that are here for good have together.
    pub fn total(&self) -> Amounts {
        let mut all = Amounts::default();
        for total in self.nodes.pools.values() {
            all += &total.own;
        }
        all
    }
}
