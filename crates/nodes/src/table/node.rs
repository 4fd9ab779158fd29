//! One node in the table.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use k8s_openapi::api::core::v1::Taint;
use maar_quantities::{Quantity, ResourceList};
use tokio::sync::watch;

use super::cards::{CardBoard, CardHolder};
use crate::{
    card::Card,
    failure::Failures,
    lifecycle::{Life, admission::Place, status::Host},
    pod::Pod,
    profile::Cards,
};

/// See the module.
#[derive(Debug)]
pub(crate) struct NodeEntry {
    pub(crate) name: Arc<str>,
    pub(crate) address: IpAddr,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) taints: Vec<Taint>,
    /// What it offers when nothing is broken.
    sound: Arc<ResourceList>,
    /// What it offers now.
    pub(crate) allocatable: Arc<ResourceList>,
    pub(crate) failures: Failures,
    /// Whether nothing reaches it, for connections that stand.
    pub(crate) cut_off: watch::Sender<bool>,
    pub(crate) cards: Option<CardBoard>,
    /// Pods have the address of the node.
    pub(crate) shared_network: bool,
    used: ResourceList,
    pods: BTreeSet<Arc<str>>,
    /// Pods that hold resources: not those that ended.
    holding: BTreeSet<Arc<str>>,
    addresses: Addresses,
}

impl NodeEntry {
    pub(crate) fn new(
        name: Arc<str>,
        address: IpAddr,
        network: Ipv4Addr,
        allocatable: Arc<ResourceList>,
        cards: Option<Arc<Cards>>,
    ) -> Self {
        Self {
            name,
            address,
            labels: BTreeMap::new(),
            taints: Vec::new(),
            sound: allocatable.clone(),
            allocatable,
            failures: Failures::default(),
            cut_off: watch::Sender::new(false),
            cards: cards.map(CardBoard::new),
            shared_network: false,
            used: ResourceList::new(),
            pods: BTreeSet::new(),
            holding: BTreeSet::new(),
            addresses: Addresses { network, taken: [0; 4] },
        }
    }

    /// Breaks or heals it. Broken cards are not offered any more, but who holds one keeps it.
    pub(crate) fn set_failures(&mut self, failures: Failures) {
        self.failures = failures;
        self.cut_off.send_replace(failures.network);
        self.allocatable = self.sound.clone();
        if let Some(board) = &self.cards
            && failures.cards > 0
        {
            let broken = i64::from(failures.cards) * i64::from(board.kind.replicas);
            let left =
                (self.sound.get(&board.kind.resource) - Quantity::from_units(broken)).max(Quantity::ZERO);
            let mut offered = (*self.sound).clone();
            offered.insert(board.kind.resource.clone(), left);
            self.allocatable = Arc::new(offered);
        }
    }

    /// Card `index` of this node; the last ones are the ones that break.
    pub(crate) fn card<'a>(&'a self, kind: &'a Cards, index: usize, seed: u64) -> Card<'a> {
        let sound = kind.count.saturating_sub(self.failures.cards);
        let broken = u32::try_from(index).is_ok_and(|index| index >= sound);
        Card { kind, node: &self.name, index, seed, broken }
    }

    pub(crate) fn host(&self, scheme: &'static str) -> Host {
        Host { scheme, address: self.address }
    }

    pub(crate) fn place(&self) -> Place<'_> {
        Place {
            name: &self.name,
            labels: &self.labels,
            taints: &self.taints,
            allocatable: &self.allocatable,
            used: &self.used,
            pods: i64::try_from(self.holding.len()).unwrap_or(i64::MAX),
        }
    }

    /// All Pods assigned to the node.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &Arc<str>> {
        self.pods.iter()
    }

    /// The Pod is on this node from now on: it gets resources, cards and an address.
    pub(super) fn join(&mut self, pod: &Pod, life: &mut Life) {
        self.pods.insert(pod.uid.clone());
        if life.is_finished() {
            return;
        }
        self.holding.insert(pod.uid.clone());
        for (name, amount) in &pod.template.requests {
            self.used.insert(name.to_string(), self.used.get(name) + *amount);
        }
        if let Some(board) = &mut self.cards {
            for container in 0..pod.template.containers.len() {
                let wanted = pod.template.requested(container, &board.kind.resource);
                board.take(&CardHolder { uid: pod.uid.clone(), container }, wanted);
            }
        }
        if self.shared_network {
            life.ip = Some(self.address);
        } else if !pod.template.host_network {
            life.ip = Some(self.addresses.take(life.ip));
        }
    }

    /// The Pod ended: what it held is free.
    pub(super) fn release(&mut self, pod: &Pod) {
        if !self.holding.remove(&pod.uid) {
            return;
        }
        for (name, amount) in &pod.template.requests {
            self.used.insert(name.to_string(), self.used.get(name) - *amount);
        }
        if let Some(board) = &mut self.cards {
            board.release(&pod.uid);
        }
    }

    /// The Pod is gone.
    pub(super) fn leave(&mut self, pod: &Pod, ip: Option<IpAddr>) {
        self.release(pod);
        self.pods.remove(&pod.uid);
        if let Some(ip) = ip {
            self.addresses.release(ip);
        }
    }
}

/// The addresses of one node's Pods: a network of 256, without the first and the last.
#[derive(Debug)]
struct Addresses {
    network: Ipv4Addr,
    taken: [u64; 4],
}

impl Addresses {
    /// The address `wished` for if it is ours, else a free one. A node with more Pods than addresses shares the last.
    fn take(&mut self, wished: Option<IpAddr>) -> IpAddr {
        let number = match wished {
            Some(wished) => match self.number(wished) {
                Some(number) => number,
                // From before the node had this network: what is shown stays as it is.
                None => return wished,
            },
            None => (1..255).find(|&number| !self.is_taken(number)).unwrap_or(254),
        };
        self.taken[usize::from(number / 64)] |= 1 << (number % 64);
        let [a, b, c, _] = self.network.octets();
        Ipv4Addr::new(a, b, c, number).into()
    }

    fn is_taken(&self, number: u8) -> bool {
        self.taken[usize::from(number / 64)] & (1 << (number % 64)) != 0
    }

    fn release(&mut self, ip: IpAddr) {
        if let Some(number) = self.number(ip) {
            self.taken[usize::from(number / 64)] &= !(1 << (number % 64));
        }
    }

    fn number(&self, ip: IpAddr) -> Option<u8> {
        let IpAddr::V4(ip) = ip else { return None };
        let [network @ .., _] = self.network.octets();
        let [theirs @ .., number] = ip.octets();
        (network == theirs).then_some(number)
    }
}
