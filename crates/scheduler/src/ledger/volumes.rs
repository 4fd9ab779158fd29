//! Volumes made beforehand, and whose they are: no volume is handed out twice.
//!
//! A Pod that is given a place holds volumes there for its claims until the cluster shows the promise, or the place is
//! taken back. Pods with the same claim hold the same volume. Of claims that are for one Pod at a time, it is kept which
//! are in use.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::Ledger;
use crate::{
    filter::{matches_selector, matches_term},
    model::{Node, Pod, PodId, PodVolumes, Shape, StaticClaim, StaticVolume},
};

#[derive(Debug, Clone, Default)]
pub(super) struct Volumes {
    all: BTreeMap<Arc<str>, State>,
    /// By class; smallest first.
    by_size: BTreeMap<String, BTreeSet<(i64, Arc<str>)>>,
    /// The volumes of a claim; more than one only if somebody else gave it another.
    of_claim: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    /// What Pods hold.
    held: BTreeMap<PodId, Vec<Held>>,
    /// Claims that no two Pods may use at a time, with those that have places. More than one only if somebody else
    /// bound them.
    users: BTreeMap<String, BTreeSet<PodId>>,
}

#[derive(Debug, Clone)]
struct State {
    volume: StaticVolume,
    /// The claim for which Pods hold it, and how many do.
    held_for: Option<Arc<str>>,
    holders: u32,
}

impl State {
    /// Whose it is: what the cluster says goes first.
    fn claim(&self) -> Option<&Arc<str>> {
        self.volume.claim.as_ref().or(self.held_for.as_ref())
    }
}

/// A volume that a Pod holds for a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The claim.
    pub claim: StaticClaim,
    /// The volume.
    pub volume: Arc<str>,
}

impl Volumes {
    fn upsert(&mut self, volume: StaticVolume) {
        let name = Arc::clone(&volume.name);
        let old = self.take_out(&name);
        let (held_for, holders) = old.map_or((None, 0), |old| (old.held_for, old.holders));
        self.put_in(State { volume, held_for, holders });
    }

    fn put_in(&mut self, state: State) {
        let name = Arc::clone(&state.volume.name);
        let of_class = self.by_size.entry(state.volume.class.clone()).or_default();
        of_class.insert((state.volume.size, Arc::clone(&name)));
        if let Some(claim) = state.claim() {
            self.of_claim.entry(Arc::clone(claim)).or_default().insert(Arc::clone(&name));
        }
        self.all.insert(name, state);
    }

    fn take_out(&mut self, name: &str) -> Option<State> {
        let state = self.all.remove(name)?;
        let volume = &state.volume;
        if let Some(of_class) = self.by_size.get_mut(&volume.class) {
            of_class.remove(&(volume.size, Arc::clone(&volume.name)));
            if of_class.is_empty() {
                self.by_size.remove(&volume.class);
            }
        }
        if let Some(claim) = state.claim()
            && let Some(volumes) = self.of_claim.get_mut(claim)
        {
            volumes.remove(name);
            if volumes.is_empty() {
                self.of_claim.remove(claim);
            }
        }
        Some(state)
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut State)) {
        if let Some(mut state) = self.take_out(name) {
            change(&mut state);
            self.put_in(state);
        }
    }

    /// A volume for each claim on a node: the one promised to it, else the smallest that is free and suits.
    fn choose(&self, claims: &[StaticClaim], node: &Node) -> Option<Vec<Arc<str>>> {
        let mut chosen: Vec<Arc<str>> = Vec::with_capacity(claims.len());
        for claim in claims {
            let suits = |name: &&Arc<str>| {
                self.all.get(&***name).is_some_and(|state| {
                    !chosen.contains(name) && suits(&state.volume, claim) && reaches(&state.volume, node)
                })
            };
            let found = match self.of_claim.get(&*claim.uid) {
                Some(promised) => promised.iter().find(suits),
                None => self
                    .by_size
                    .get(&claim.class)?
                    .range((claim.size, Arc::<str>::from(""))..)
                    .map(|(_, name)| name)
                    .filter(|name| self.all.get(&***name).is_some_and(|state| state.claim().is_none()))
                    .find(suits),
            };
            let found = Arc::clone(found?);
            chosen.push(found);
        }
        Some(chosen)
    }

    /// Holds volumes for the claims of a Pod that gets a place on a node.
    pub(super) fn hold(&mut self, pod: PodId, claims: &[StaticClaim], node: &Node) {
        if claims.is_empty() {
            return;
        }
        let mut held = Vec::new();
        for (claim, volume) in claims.iter().zip(self.choose(claims, node).unwrap_or_default()) {
            self.change(&volume, |state| {
                state.holders += 1;
                state.held_for = Some(claim.uid.as_str().into());
            });
            held.push(Held { claim: claim.clone(), volume });
        }
        self.held.insert(pod, held);
    }

    /// A Pod has a place: the claims that it has to itself are in use.
    pub(super) fn take_claims(&mut self, pod: PodId, volumes: &PodVolumes) {
        for claim in &volumes.exclusive {
            self.users.entry(claim.clone()).or_default().insert(pod);
        }
    }

    /// A Pod has no place any more.
    pub(super) fn give_back_claims(&mut self, pod: PodId, volumes: &PodVolumes) {
        for claim in &volumes.exclusive {
            if let Some(users) = self.users.get_mut(claim) {
                users.remove(&pod);
                if users.is_empty() {
                    self.users.remove(claim);
                }
            }
        }
    }

    /// The Pod has given up its place: what it held is free again, unless the cluster says otherwise.
    pub(super) fn release(&mut self, pod: PodId) {
        for held in self.held.remove(&pod).unwrap_or_default() {
            self.change(&held.volume, State::let_go);
        }
    }

    /// The Pod has its place in the cluster, and so have its claims their volumes: the watch of volumes will say so, too.
    pub(super) fn settle(&mut self, pod: PodId) {
        for held in self.held.remove(&pod).unwrap_or_default() {
            self.change(&held.volume, |state| {
                state.let_go();
                state.volume.claim.get_or_insert_with(|| held.claim.uid.as_str().into());
            });
        }
    }
}

impl State {
    fn let_go(&mut self) {
        self.holders = self.holders.saturating_sub(1);
        if self.holders == 0 {
            self.held_for = None;
        }
    }
}

/// Whether a volume is what a claim asks for.
fn suits(volume: &StaticVolume, claim: &StaticClaim) -> bool {
    volume.class == claim.class
        && volume.size >= claim.size
        && volume.block == claim.block
        && claim.modes.iter().all(|mode| volume.modes.contains(mode))
        && matches_selector(&claim.selector, &volume.labels)
}

/// Whether a volume can be used on a node.
fn reaches(volume: &StaticVolume, node: &Node) -> bool {
    let holds = |terms: &Vec<_>| terms.iter().any(|term| matches_term(term, &node.labels, &node.name));
    volume.nodes.as_ref().is_none_or(holds)
}

impl Ledger {
    /// A volume was seen that a claim may get.
    pub fn upsert_volume(&mut self, volume: StaticVolume) {
        self.volumes.upsert(volume);
    }

    /// A volume is gone, or is the business of its claim alone.
    pub fn remove_volume(&mut self, name: &str) {
        self.volumes.take_out(name);
    }

    /// A volume that a claim may get, or has been promised.
    pub fn volume(&self, name: &str) -> Option<&StaticVolume> {
        self.volumes.all.get(name).map(|state| &state.volume)
    }

    /// All of them, by name.
    pub fn volumes(&self) -> impl Iterator<Item = &StaticVolume> {
        self.volumes.all.values().map(|state| &state.volume)
    }

    /// Whether there is a volume on a node for each claim that gets one made beforehand.
    pub fn has_volumes(&self, shape: &Shape, node: &Node) -> bool {
        shape.static_claims.is_empty() || self.volumes.choose(&shape.static_claims, node).is_some()
    }

    /// Whether a claim that a Pod must have to itself is in use by one that has a place.
    pub fn lacks_claim(&self, pod: &Pod) -> bool {
        pod.volumes.exclusive.iter().any(|claim| self.volumes.users.contains_key(claim))
    }

    /// The volumes that a Pod holds whose place the cluster does not show yet.
    pub fn volumes_held(&self, pod: PodId) -> &[Held] {
        self.volumes.held.get(&pod).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests;
