//! A cluster in memory on which the core decides.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Context as _;
use maar_api::resources;
use maar_scheduler::{
    core::{Action, Budget, Config, Core},
    model::{
        Account, Amounts, CardKind, CardKindId, CardRequest, Group, GroupId, Millis, Node, NodeId, Pod,
        PodId, PodPhase, ResourceId, Resources, Shape,
    },
};

use crate::process::cpu_seconds;

const KIND: CardKindId = CardKindId(0);

/// See the module.
pub(super) struct Stage {
    pub(super) core: Core,
    gpu: ResourceId,
    pods: u32,
    pub(super) now: Millis,
}

/// What came of passes.
#[derive(Debug, Default)]
pub(super) struct Played {
    pub(super) bound: Vec<(PodId, NodeId)>,
    pub(super) evicted: Vec<PodId>,
}

impl Stage {
    /// Nodes with eight cards each; so many to a rack.
    pub(super) fn new(nodes: u32, per_rack: u32) -> Self {
        let mut names = Resources::default();
        let gpu = names.card(resources::NVIDIA_GPU);
        let kind = CardKind { resource: gpu, memory_label: None, sharers: 16 };
        let mut core = Core::new(Config::default(), vec![kind], names);
        for number in 0..nodes {
            let mut node = Node { name: format!("node-{number}"), ..Node::default() };
            node.labels.insert("rack".to_owned(), format!("rack-{}", number / per_rack.max(1)));
            node.labels.insert("kubernetes.io/hostname".to_owned(), node.name.clone());
            for (resource, amount) in
                [(ResourceId::CPU, 96_000), (ResourceId::MEMORY, 1 << 40), (ResourceId::PODS, 110)]
            {
                node.allocatable.set(resource, amount);
            }
            node.allocatable.set(gpu, 8000);
            core.upsert_node(node);
        }
        Self { core, gpu, pods: 0, now: 0 }
    }

    /// An account that deserves, and at most may have, so many cards.
    pub(super) fn account(&mut self, name: &str, parent: Option<&str>, deserved: i64, most: Option<i64>) {
        let mut amounts = Amounts::default();
        amounts.set(self.gpu, deserved * 1000);
        self.core.upsert_account(Account {
            name: name.to_owned(),
            parent: parent.map(str::to_owned),
            deserved: amounts,
            capability: most.map(|most| (self.gpu, most * 1000)).into_iter().collect(),
            weight: 1,
            ..Account::default()
        });
    }

    /// Cards an account and all below it use.
    pub(super) fn used(&self, account: &str) -> i64 {
        let ledger = self.core.ledger();
        ledger.find_account(account).map_or(0, |id| ledger.usage(id).total().get(self.gpu)) / 1000
    }

    /// A group of equal Pods that start together.
    pub(super) fn submit(&mut self, group: Group, cards: u16) -> GroupId {
        let count = group.minimum;
        self.submit_pods(group, &Arc::new(Self::shape(cards)), count)
    }

    /// What a Pod with so many cards asks for.
    pub(super) fn shape(cards: u16) -> Shape {
        let mut requests = Amounts::default();
        requests.set(ResourceId::CPU, 4000);
        requests.set(ResourceId::PODS, 1);
        Shape {
            namespace: "bench".to_owned(),
            requests,
            cards: CardRequest::whole(KIND, cards),
            ..Shape::default()
        }
    }

    /// A group of so many equal Pods.
    pub(super) fn submit_pods(&mut self, group: Group, shape: &Arc<Shape>, count: u32) -> GroupId {
        let name = group.name.clone();
        let labels = Arc::new(BTreeMap::from([("job".to_owned(), name.clone())]));
        let id = self.core.upsert_group(Group { created: self.now, ..group });
        for _ in 0..count {
            self.pods += 1;
            let uid: Arc<str> = format!("{name}-{}", self.pods).into();
            self.core.upsert_pod(Pod {
                namespace: "bench".into(),
                name: Arc::clone(&uid),
                uid,
                labels: Arc::clone(&labels),
                shape: Arc::clone(shape),
                volumes: Arc::default(),
                group: id,
                task: "".into(),
                priority: 0,
                created: self.now,
                terminating: false,
                ours: true,
                phase: PodPhase::Pending,
                nominated: None,
            });
        }
        id
    }

    /// Passes until nothing more is to be done; binds happen at once.
    pub(super) fn play(&mut self) -> Played {
        let mut played = Played::default();
        loop {
            let actions = self.core.pass(self.now, Budget::default());
            if actions.is_empty() {
                return played;
            }
            for action in actions {
                match action {
                    Action::Bind { pod, node, .. } => {
                        self.saw(pod);
                        played.bound.push((pod, node));
                    }
                    Action::Evict { pod, .. } => played.evicted.push(pod),
                    Action::Stalled { .. } => {}
                }
            }
        }
    }

    /// The watch shows a Pod as the core has it.
    fn saw(&mut self, pod: PodId) {
        if let Some(state) = self.core.ledger().pod(pod) {
            let seen = state.pod.clone();
            self.core.upsert_pod(seen);
        }
    }

    /// Pods are gone.
    pub(super) fn end(&mut self, pods: &[PodId]) {
        for pod in pods {
            if let Some(uid) = self.core.ledger().pod(*pod).map(|state| Arc::clone(&state.pod.uid)) {
                self.core.remove_pod(&uid);
            }
        }
    }
}

/// A group of one account.
pub(super) fn group(name: String, account: &str, pods: u32) -> Group {
    Group { name, account: account.to_owned(), user: "ann".to_owned(), minimum: pods, ..Group::default() }
}

/// What something costs this process, in seconds of CPU time.
pub(super) fn cpu_time<T>(work: impl FnOnce() -> T) -> anyhow::Result<(T, f64)> {
    let me = [std::process::id()];
    let before = cpu_seconds(&me).context("reading the CPU time of this process")?;
    let done = work();
    Ok((done, cpu_seconds(&me)? - before))
}

/// A count as a number to calculate with.
pub(super) fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
