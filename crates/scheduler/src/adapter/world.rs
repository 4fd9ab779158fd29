//! What the scheduler has been told about the cluster: takes changes in, keeps the ledger up to date.
//!
//! Plain and synchronous. The ledger is the truth about who holds what; this keeps what lies beside it: which objects
//! are known in which version, what groups ask for, which Pods wait for something that is not the scheduler's to give,
//! and why.

#![expect(
    clippy::needless_pass_by_value,
    clippy::unused_self,
    reason = "what happens to an object of each kind is a function of one form, so that one function can call them all"
)]

mod groups;
mod list;
mod notices;
mod pods;
mod texts;
mod volumes;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use kube::runtime::watcher::Event;

pub(crate) use self::pods::Waiting;
use self::{groups::Groups, list::Lists, pods::Known, texts::Texts};
use super::{
    feed::{Change, Kind},
    settings::Settings,
    translate::{self, CardNames, Shapes, Volumes},
    wire::{self, Labels, Lean, Wire},
};
use crate::{
    core::{Core, DisruptionBudget},
    model::{NodeId, PodId},
};

/// How many Pods that are gone are remembered, so that a late view does not bring them back.
const GONE: usize = 4096;

/// See the module.
#[derive(Debug)]
pub(crate) struct World {
    settings: Settings,
    cards: CardNames,
    shapes: Shapes,
    texts: Texts,
    namespaces: BTreeMap<String, Labels>,
    /// The account of a namespace, where it names one.
    accounts: BTreeMap<String, String>,
    volumes: Volumes,
    limits: BTreeMap<String, BTreeMap<String, u32>>,
    budgets: BTreeMap<String, DisruptionBudget>,
    groups: Groups,
    pods: HashMap<Arc<str>, Known>,
    /// Pods by the claims they use.
    by_claim: HashMap<Arc<str>, BTreeSet<Arc<str>>>,
    gone: (HashSet<Arc<str>>, VecDeque<Arc<str>>),
    /// Pods that were told to go, and when.
    notices: BTreeMap<Arc<str>, Timestamp>,
    /// Nodes with a card that more Pods hold than it bears.
    disputed: BTreeSet<NodeId>,
    lists: Lists,
    /// Kinds that have not been listed yet.
    unknown: BTreeSet<Kind>,
    /// What is told is all there will ever be, so nobody waits for objects that are missing.
    recorded: bool,
    changed: bool,
}

impl World {
    pub(crate) fn new(settings: Settings, cards: CardNames) -> Self {
        Self {
            settings,
            cards,
            shapes: Shapes::default(),
            texts: Texts::default(),
            namespaces: BTreeMap::new(),
            accounts: BTreeMap::new(),
            volumes: Volumes::default(),
            limits: BTreeMap::new(),
            budgets: BTreeMap::new(),
            groups: Groups::default(),
            pods: HashMap::new(),
            by_claim: HashMap::new(),
            gone: (HashSet::new(), VecDeque::new()),
            notices: BTreeMap::new(),
            disputed: BTreeSet::new(),
            lists: Lists::default(),
            unknown: Kind::ALL.into(),
            recorded: false,
            changed: false,
        }
    }

    /// A world that is told once and for all.
    pub(crate) fn of_recording(settings: Settings, cards: CardNames) -> Self {
        Self { recorded: true, ..Self::new(settings, cards) }
    }

    /// Whether everything has been listed once; nothing is decided before.
    pub(crate) fn is_complete(&self) -> bool {
        self.unknown.is_empty()
    }

    /// Whether something happened since the last call that could let a Pod start.
    pub(crate) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    pub(crate) fn cards(&self) -> &CardNames {
        &self.cards
    }

    /// Takes a change in.
    pub(crate) fn apply(&mut self, core: &mut Core, change: Change) {
        match change {
            Change::Pod(event) => self.pod_event(core, event),
            Change::Node(event) => self.event(core, Kind::Nodes, event, Self::node, Self::node_gone),
            Change::CsiNode(event) => {
                self.event(core, Kind::CsiNodes, event, Self::csi_node, Self::csi_node_gone);
            }
            Change::Namespace(event) => {
                self.event(core, Kind::Namespaces, event, Self::namespace, Self::namespace_gone);
            }
            Change::Class(event) => self.event(core, Kind::Classes, event, Self::class, Self::class_gone),
            Change::Volume(event) => self.event(core, Kind::Volumes, event, Self::volume, Self::volume_gone),
            Change::Claim(event) => self.event(core, Kind::Claims, event, Self::claim, Self::claim_gone),
            Change::Budget(event) => self.event(core, Kind::Budgets, event, Self::budget, Self::budget_gone),
            Change::Volcano(event) => {
                self.event(core, Kind::Volcano, event, Self::volcano, Self::volcano_gone);
            }
            Change::Upstream(event) => {
                self.event(core, Kind::Upstream, event, Self::upstream, Self::upstream_gone);
            }
            Change::Job(event) => self.event(core, Kind::Jobs, event, Self::job, Self::job_gone),
            Change::Account(event) => {
                self.event(core, Kind::Accounts, event, Self::account, Self::account_gone);
            }
            Change::Absent(kind) => {
                self.unknown.remove(&kind);
                self.changed = true;
            }
        }
    }

    fn event<K: Wire>(
        &mut self,
        core: &mut Core,
        kind: Kind,
        event: Event<Lean<K>>,
        set: fn(&mut Self, &mut Core, K),
        remove: fn(&mut Self, &mut Core, &str),
    ) {
        match event {
            Event::Init => self.lists.begin(kind),
            Event::InitApply(object) | Event::Apply(object) => match object.object {
                Ok(object) => {
                    self.lists.saw(kind, object_key(object.meta()));
                    set(self, core, object);
                    self.changed = true;
                }
                // The watch has counted and logged it; what was known of the object stays.
                Err(malformed) => self.lists.saw(kind, object_key(&malformed.meta)),
            },
            Event::Delete(object) => {
                let key =
                    object_key(object.object.as_ref().map_or_else(|malformed| &malformed.meta, Wire::meta));
                self.lists.forgot(kind, &key);
                remove(self, core, &key);
                self.changed = true;
            }
            Event::InitDone => {
                for key in self.lists.end(kind) {
                    remove(self, core, &key);
                }
                self.unknown.remove(&kind);
                self.changed = true;
                if matches!(kind, Kind::Volcano | Kind::Upstream | Kind::Namespaces) {
                    // Pods were taken to be alone while nobody served it, and their namespaces to be on the way.
                    self.look_again(core);
                    self.look_again_by_namespace(core);
                }
            }
        }
    }

    fn node(&mut self, core: &mut Core, node: wire::Node) {
        let limits = self.limits.get(&node.metadata.name).cloned().unwrap_or_default();
        let kinds = core.ledger().kinds().to_vec();
        let node = translate::node(&node, limits, &self.cards, &kinds, core.resources_mut());
        core.upsert_node(node);
    }

    fn node_gone(&mut self, core: &mut Core, name: &str) {
        core.remove_node(name);
    }

    fn namespace(&mut self, core: &mut Core, namespace: wire::Namespace) {
        let meta = namespace.metadata;
        let limits = meta.annotations.get(maar_api::names::ANNOTATION_USER_LIMITS).unwrap_or_default();
        let limits = translate::limits(limits, core.resources_mut());
        core.limit_namespace(&meta.name, limits);
        let account = meta.annotations.get(maar_api::names::LABEL_ACCOUNT).map(str::to_owned);
        let before = match account.clone() {
            Some(account) => self.accounts.insert(meta.name.clone(), account),
            None => self.accounts.remove(&meta.name),
        };
        if before != account {
            self.charge_anew(core, &meta.name);
        }
        let before = self.namespaces.insert(meta.name.clone(), meta.labels);
        if self.unknown.contains(&Kind::Namespaces) {
            return;
        }
        if before.is_none() {
            self.look_again(core);
        }
        if before.as_ref() != self.namespaces.get(&meta.name) {
            self.look_again_by_namespace(core);
        }
    }

    fn namespace_gone(&mut self, core: &mut Core, name: &str) {
        core.limit_namespace(name, Vec::new());
        self.namespaces.remove(name);
        self.accounts.remove(name);
        self.look_again_by_namespace(core);
    }

    fn account(&mut self, core: &mut Core, account: wire::Account) {
        let account = translate::account(&account, core.resources_mut());
        core.upsert_account(account);
    }

    fn account_gone(&mut self, core: &mut Core, name: &str) {
        core.remove_account(name);
        if name == self.settings.default_account {
            Self::default_account(&self.settings, core);
        }
    }

    /// The account of those who name none is there without anybody making it, and has no limits then.
    pub(crate) fn default_account(settings: &Settings, core: &mut Core) {
        let name = settings.default_account.clone();
        core.upsert_account(crate::model::Account { name, weight: 1, ..crate::model::Account::default() });
    }

    fn budget(&mut self, core: &mut Core, budget: wire::Budget) {
        match translate::budget(&budget) {
            Ok(known) => self.budgets.insert(budget.metadata.key(), known),
            Err(_) => self.budgets.remove(&budget.metadata.key()),
        };
        core.set_budgets(self.budgets.values().cloned().collect());
    }

    fn budget_gone(&mut self, core: &mut Core, key: &str) {
        self.budgets.remove(key);
        core.set_budgets(self.budgets.values().cloned().collect());
    }

    /// Sets a Pod aside: something refused its bind, and the watch will tell why, or time heals it.
    pub(crate) fn hold(&mut self, core: &mut Core, id: PodId, why: String) {
        self.set_waiting(core, id, crate::model::PodPhase::Gated, Some(why));
    }

    /// Lets a Pod that was set aside be tried again, unless it was looked at anew meanwhile.
    pub(crate) fn release(&mut self, core: &mut Core, id: PodId) {
        self.set_waiting(core, id, crate::model::PodPhase::Pending, None);
        self.changed = true;
    }
}

/// `namespace/name`, or the name of an object without a namespace.
fn object_key(meta: &wire::Meta) -> String {
    if meta.namespace.is_empty() { meta.name.clone() } else { meta.key() }
}

#[cfg(test)]
mod tests;
