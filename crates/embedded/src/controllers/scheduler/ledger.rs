//! Nodes and what is placed on them, kept up to date event by event, so that placing a Pod reads no Pod but its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use k8s_openapi::api::core::v1::Taint;
use maar_quantities::Quantity;
use maar_quantities::resources::{CPU, MEMORY, PODS};

use super::request::{Amounts, HostPort, Names, Request, Term};
use crate::controllers::view::NodeView;

/// A node and what is free on it.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) name: String,
    /// Whether the node exists; a slot may outlive it while Pods are still assigned to it.
    pub(crate) present: bool,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) taints: Vec<Taint>,
    pub(crate) unschedulable: bool,
    allocatable: Vec<i64>,
    /// Wider than what one Pod may ask for: whoever names a node may ask for all there can be, more than once, and what
    /// was added must come off again.
    used: Vec<i128>,
    pub(crate) most_pods: i64,
    pub(crate) pods: BTreeSet<String>,
    pub(crate) ports: Vec<(String, HostPort)>,
    /// Cores (in thousandths) and memory: what there is, and what is spoken for.
    pub(crate) capacity: (i64, i64),
    pub(crate) load: (i128, i128),
    /// How many Pods of a set are here, by the set's uid.
    sets: HashMap<String, i64>,
}

impl Slot {
    /// How many Pods of a set are here.
    pub(crate) fn of_set(&self, set: &str) -> i64 {
        self.sets.get(set).copied().unwrap_or(0)
    }

    fn leave(&mut self, set: &str) {
        if let Some(count) = self.sets.get_mut(set) {
            *count -= 1;
            if *count == 0 {
                self.sets.remove(set);
            }
        }
    }

    /// How much of a resource is left.
    pub(crate) fn free(&self, resource: usize) -> i128 {
        let there = self.allocatable.get(resource).copied().unwrap_or(0);
        i128::from(there) - self.used.get(resource).copied().unwrap_or(0)
    }

    fn change(&mut self, amounts: &Amounts, weight: (i64, i64), sign: i128) {
        self.load.0 += sign * i128::from(weight.0);
        self.load.1 += sign * i128::from(weight.1);
        for (resource, amount) in amounts {
            if self.used.len() <= *resource {
                self.used.resize(resource + 1, 0);
            }
            self.used[*resource] += sign * i128::from(*amount);
        }
    }
}

/// A Pod that is on a node.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) namespace: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) uid: String,
    pub(crate) node: String,
    pub(crate) deleting: bool,
    amounts: Amounts,
    weight: (i64, i64),
    set: Option<String>,
    /// Whom it refuses to be near.
    pub(crate) apart: Vec<Term>,
}

/// See the module documentation. Pods are known by `namespace/name`.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) names: Names,
    slots: Vec<Slot>,
    by_name: HashMap<String, usize>,
    pub(crate) placed: BTreeMap<String, Placed>,
    /// Those of the placed Pods that refuse company.
    pub(crate) apart: BTreeSet<String>,
    pub(crate) namespaces: BTreeMap<String, BTreeMap<String, String>>,
    present: usize,
}

impl Ledger {
    /// All slots, present or not.
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// How many nodes there are.
    pub(crate) fn nodes(&self) -> usize {
        self.present
    }

    fn slot_mut(&mut self, node: &str) -> &mut Slot {
        let next = self.slots.len();
        let index = *self.by_name.entry(node.to_owned()).or_insert(next);
        if index == next {
            self.slots.push(Slot { name: node.to_owned(), ..Slot::default() });
        }
        &mut self.slots[index]
    }

    /// Takes note of a node. Whether more may fit on it than before.
    pub(crate) fn set_node(&mut self, node: &NodeView) -> bool {
        let mut allocatable = Vec::new();
        let (mut most_pods, mut capacity) = (0, (0, 0));
        for (name, text) in &node.status.allocatable {
            let Ok(quantity) = Quantity::parse(text) else { continue };
            let amount = if name == CPU { quantity.millis() } else { quantity.value() };
            match name.as_str() {
                CPU => capacity.0 = amount,
                MEMORY => capacity.1 = amount,
                PODS => most_pods = amount,
                _ => {}
            }
            let id = self.names.id(name);
            if allocatable.len() <= id {
                allocatable.resize(id + 1, 0);
            }
            allocatable[id] = amount;
        }
        let slot = self.slot_mut(node.name());
        let same = slot.present
            && slot.allocatable == allocatable
            && slot.labels == node.metadata.labels
            && slot.taints == node.spec.taints
            && slot.unschedulable == node.spec.unschedulable;
        let was_present = std::mem::replace(&mut slot.present, true);
        slot.labels.clone_from(&node.metadata.labels);
        slot.taints.clone_from(&node.spec.taints);
        slot.unschedulable = node.spec.unschedulable;
        slot.allocatable = allocatable;
        slot.most_pods = most_pods;
        slot.capacity = capacity;
        self.present += usize::from(!was_present);
        !same
    }

    pub(crate) fn remove_node(&mut self, name: &str) {
        if let Some(index) = self.by_name.get(name) {
            let was_present = std::mem::replace(&mut self.slots[*index].present, false);
            self.present -= usize::from(was_present);
        }
    }

    /// Forgets all nodes, before they are shown anew.
    pub(crate) fn forget_nodes(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.present = false);
        self.present = 0;
    }

    /// Puts a Pod on a node.
    pub(crate) fn place(&mut self, key: &str, request: &Request, node: &str) {
        self.remove(key);
        let slot = self.slot_mut(node);
        slot.change(&request.amounts, request.weight, 1);
        slot.pods.insert(key.to_owned());
        if let Some(set) = &request.set {
            *slot.sets.entry(set.clone()).or_default() += 1;
        }
        slot.ports.extend(request.ports.iter().map(|port| (key.to_owned(), port.clone())));
        if !request.apart.is_empty() {
            self.apart.insert(key.to_owned());
        }
        let placed = Placed {
            namespace: request.namespace.clone(),
            labels: request.labels.clone(),
            uid: request.uid.clone(),
            node: node.to_owned(),
            deleting: false,
            amounts: request.amounts.clone(),
            weight: request.weight,
            set: request.set.clone(),
            apart: request.apart.clone(),
        };
        self.placed.insert(key.to_owned(), placed);
    }

    /// Takes a Pod off its node. Whether it was on one.
    pub(crate) fn remove(&mut self, key: &str) -> bool {
        let Some(placed) = self.placed.remove(key) else { return false };
        self.apart.remove(key);
        let slot = self.slot_mut(&placed.node);
        slot.change(&placed.amounts, placed.weight, -1);
        slot.pods.remove(key);
        if let Some(set) = &placed.set {
            slot.leave(set);
        }
        slot.ports.retain(|(owner, _)| owner != key);
        true
    }

    /// Forgets all Pods but those (by key and uid), before they are shown anew.
    pub(crate) fn forget_pods(&mut self, but: impl Fn(&str, &str) -> bool) {
        let others = self.placed.iter().filter(|(key, placed)| !but(key, &placed.uid));
        let keys: Vec<String> = others.map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.remove(&key);
        }
    }

    /// Takes the Pod of that uid off its node. Whether it was on one.
    pub(crate) fn remove_uid(&mut self, key: &str, uid: &str) -> bool {
        self.placed.get(key).is_some_and(|placed| placed.uid == uid) && self.remove(key)
    }

    /// The Pods a term means, with the slot each is on.
    pub(crate) fn meant<'a>(&'a self, term: &'a Term) -> impl Iterator<Item = &'a Placed> {
        self.placed.values().filter(|placed| {
            term.means(&placed.namespace, self.namespaces.get(&placed.namespace), &placed.labels)
        })
    }

    /// The value a node has for a topology key.
    pub(crate) fn topology<'a>(&'a self, node: &str, key: &str) -> Option<&'a str> {
        let index = self.by_name.get(node)?;
        self.slots[*index].labels.get(key).map(String::as_str)
    }
}
