//! A cluster in which a bind happens at once and an eviction when the test says so.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    core::{Action, Budget, Config, Core},
    model::{
        Account, Amounts, CardKind, CardKindId, CardRequest, CardsTaken, Group, GroupId, LabelSelector,
        Millis, Node, NodeId, Operator, Pod, PodAffinityTerm, PodId, PodPhase, Requirement, ResourceId,
        Resources, ServiceLevel, Shape,
    },
};

pub(super) const KIND: CardKindId = CardKindId(0);

/// What a test submits.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) group: Group,
    /// Pods, by task.
    pub(super) tasks: Vec<(&'static str, u32)>,
    pub(super) cards: CardRequest,
    pub(super) selector: BTreeMap<String, String>,
    /// What else its Pods ask for.
    pub(super) asks: Shape,
}

pub(super) fn job(name: &str, account: &str, pods: u32, cards: u16) -> Job {
    let group = Group {
        name: name.to_owned(),
        account: account.to_owned(),
        user: "ann".to_owned(),
        minimum: pods,
        ..Group::default()
    };
    let cards = CardRequest::whole(KIND, cards);
    Job { group, tasks: vec![("", pods)], cards, selector: BTreeMap::new(), asks: Shape::default() }
}

impl Job {
    pub(super) fn with(mut self, change: impl FnOnce(&mut Group)) -> Self {
        change(&mut self.group);
        self
    }

    pub(super) fn best_effort(self) -> Self {
        self.with(|group| group.level = ServiceLevel::BestEffort)
    }

    pub(super) fn priority(self, priority: i32) -> Self {
        self.with(|group| group.priority = priority)
    }

    pub(super) fn runs(self, millis: Millis) -> Self {
        self.with(|group| group.max_run = Some(millis))
    }

    pub(super) fn due(self, deadline: Millis) -> Self {
        self.with(|group| group.deadline = Some(deadline))
    }

    /// Its Pods take a port of their host.
    pub(super) fn port(mut self, port: u16) -> Self {
        self.asks.host_ports = vec![("0.0.0.0".to_owned(), "TCP".to_owned(), port)];
        self
    }

    /// Its Pods are not put beside Pods of jobs with these names, on one host.
    pub(super) fn away_from(mut self, jobs: &[&str]) -> Self {
        let values = jobs.iter().map(|job| (*job).to_owned()).collect();
        let named = Requirement { key: "job".to_owned(), operator: Operator::In, values };
        self.asks.anti_affinity = vec![PodAffinityTerm {
            selector: LabelSelector(Some(vec![named])),
            namespaces: None,
            topology_key: "kubernetes.io/hostname".to_owned(),
        }];
        self
    }

    pub(super) fn minimum(self, minimum: u32) -> Self {
        self.with(|group| group.minimum = minimum)
    }
}

pub(super) struct World {
    pub(super) core: Core,
    pub(super) now: Millis,
    pub(super) gpu: ResourceId,
    /// Pods as the API server has them.
    pub(super) pods: BTreeMap<PodId, Pod>,
    /// Asked to go, still there.
    pub(super) evicted: BTreeSet<PodId>,
    /// Groups that have lost Pods, of which fewer than the minimum may be there.
    torn: BTreeSet<GroupId>,
    /// What every number ever given to a node stands for: a node that comes back is the same machine.
    machines: BTreeMap<NodeId, String>,
}

pub(super) fn world() -> World {
    world_with(Config::default())
}

pub(super) fn world_with(config: Config) -> World {
    let mut resources = Resources::default();
    let gpu = resources.card("nvidia.com/gpu");
    let kind = CardKind { resource: gpu, memory_label: None, sharers: 4 };
    let core = Core::new(config, vec![kind], resources);
    World {
        core,
        now: 0,
        gpu,
        pods: BTreeMap::new(),
        evicted: BTreeSet::new(),
        torn: BTreeSet::new(),
        machines: BTreeMap::new(),
    }
}

impl World {
    pub(super) fn nodes(mut self, count: u32, cards: i64) -> Self {
        for number in 0..count {
            self.node(&format!("n{number}"), cards, &[]);
        }
        self
    }

    /// Nodes that say what they are called, as kubelets do.
    pub(super) fn hosts(mut self, count: u32, cards: i64) -> Self {
        for number in 0..count {
            let name = format!("n{number}");
            self.node(&name, cards, &[("kubernetes.io/hostname", &name)]);
        }
        self
    }

    pub(super) fn node(&mut self, name: &str, cards: i64, labels: &[(&str, &str)]) -> NodeId {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let mut node = Node { name: name.to_owned(), labels: labels.collect(), ..Node::default() };
        node.allocatable.set(ResourceId::CPU, 100_000);
        node.allocatable.set(ResourceId::PODS, 110);
        node.allocatable.set(self.gpu, cards * 1000);
        let id = self.core.upsert_node(node);
        self.machines.insert(id, name.to_owned());
        id
    }

    /// A node that is there is seen with something changed.
    pub(super) fn change_node(&mut self, id: NodeId, change: impl FnOnce(&mut Node)) {
        let mut node = self.core.ledger().node(id).expect("it exists").node.clone();
        change(&mut node);
        self.core.upsert_node(node);
    }

    pub(super) fn cards(&self, count: i64) -> Amounts {
        let mut all = Amounts::default();
        all.set(self.gpu, count * 1000);
        all
    }

    /// An account that deserves so many cards.
    pub(super) fn account(&mut self, name: &str, parent: Option<&str>, deserved: i64) {
        let account = self.plain(name, parent, deserved);
        self.core.upsert_account(account);
    }

    pub(super) fn plain(&self, name: &str, parent: Option<&str>, deserved: i64) -> Account {
        let (name, parent) = (name.to_owned(), parent.map(str::to_owned));
        Account { name, parent, deserved: self.cards(deserved), weight: 1, ..Account::default() }
    }

    pub(super) fn submit(&mut self, job: &Job) -> GroupId {
        let created = if job.group.created == 0 { self.now } else { job.group.created };
        let id = self.core.upsert_group(Group { created, ..job.group.clone() });
        for (task, count) in &job.tasks {
            for _ in 0..*count {
                self.add_pod(id, job, task);
            }
        }
        id
    }

    pub(super) fn add_pod(&mut self, group: GroupId, job: &Job, task: &str) -> PodId {
        let mut requests = Amounts::default();
        requests.set(ResourceId::CPU, 1000);
        requests.set(ResourceId::PODS, 1);
        let shape =
            Shape { requests, cards: job.cards, node_selector: job.selector.clone(), ..job.asks.clone() };
        let uid = format!("{}-{task}-{}", job.group.name, self.pods.len());
        let pod = Pod {
            namespace: "default".into(),
            name: uid.as_str().into(),
            uid: uid.as_str().into(),
            labels: Arc::new([("job".to_owned(), job.group.name.clone())].into()),
            shape: Arc::new(shape),
            volumes: Arc::default(),
            group,
            task: task.into(),
            priority: 0,
            created: self.now,
            terminating: false,
            ours: true,
            phase: PodPhase::Pending,
            nominated: None,
        };
        let id = self.core.upsert_pod(pod.clone());
        self.pods.insert(id, pod);
        id
    }

    /// One pass, carried out and checked.
    pub(super) fn pass(&mut self) -> Vec<Action> {
        let actions = self.core.pass(self.now, Budget::default());
        for action in &actions {
            match action {
                Action::Bind { pod, node, cards } => self.bind(*pod, *node, cards),
                Action::Evict { pod, .. } => self.evict(*pod),
                Action::Stalled { .. } => {}
            }
        }
        self.check();
        actions
    }

    pub(super) fn pass_at(&mut self, now: Millis) -> Vec<Action> {
        self.now = now;
        self.pass()
    }

    fn bind(&mut self, id: PodId, node: NodeId, cards: &CardsTaken) {
        let takes = self.core.ledger().node(node).is_some_and(|state| !state.node.unschedulable);
        assert!(takes, "something is bound to a node that takes nobody");
        let pod = self.pods.get_mut(&id).expect("binds are of Pods that exist");
        assert_eq!(pod.phase, PodPhase::Pending, "{} is bound twice", pod.name);
        pod.phase = PodPhase::Placed { node, cards: cards.clone(), since: self.now };
        let pod = pod.clone();
        self.core.upsert_pod(pod);
    }

    fn evict(&mut self, id: PodId) {
        let pod = self.pods.get_mut(&id).expect("evictions are of Pods that exist");
        assert!(!pod.terminating, "{} is evicted twice", pod.name);
        assert!(matches!(pod.phase, PodPhase::Placed { .. }));
        pod.terminating = true;
        self.torn.insert(pod.group);
        self.evicted.insert(id);
        let pod = pod.clone();
        self.core.upsert_pod(pod);
    }

    /// The evicted have stopped.
    pub(super) fn evicted_go(&mut self) {
        for id in std::mem::take(&mut self.evicted) {
            self.end(id);
        }
    }

    /// An eviction is refused.
    pub(super) fn stays(&mut self, id: PodId) {
        self.evicted.remove(&id);
        self.core.evict_failed(id);
        let pod = self.pods.get_mut(&id).expect("it has not gone");
        pod.terminating = false;
        let pod = pod.clone();
        self.core.upsert_pod(pod);
    }

    /// A Pod ends and is deleted.
    pub(super) fn end(&mut self, id: PodId) {
        self.evicted.remove(&id);
        if let Some(pod) = self.pods.remove(&id) {
            self.torn.insert(pod.group);
            self.core.remove_pod(&pod.uid);
        }
    }

    pub(super) fn end_group(&mut self, group: GroupId) {
        for id in self.pods_of(group) {
            self.end(id);
        }
    }

    pub(super) fn pods_of(&self, group: GroupId) -> Vec<PodId> {
        self.pods.iter().filter(|(_, pod)| pod.group == group).map(|(id, _)| *id).collect()
    }

    pub(super) fn placed(&self, group: GroupId) -> usize {
        self.pods_of(group)
            .iter()
            .filter(|id| matches!(self.pods[*id].phase, PodPhase::Placed { .. }))
            .count()
    }

    pub(super) fn used(&self, account: &str) -> i64 {
        self.used_milli(account) / 1000
    }

    fn used_milli(&self, account: &str) -> i64 {
        self.used_by(account, |_| true)
    }

    /// Thousandths of cards that run on an account or one below it, of users of whom this is true.
    fn used_by(&self, account: &str, user: impl Fn(&str) -> bool) -> i64 {
        let mine = self.pods.values().filter(|pod| {
            let state = self.core.ledger().group(pod.group);
            matches!(pod.phase, PodPhase::Placed { .. })
                && state.is_some_and(|state| {
                    user(&state.group.user) && self.is_under(&state.group.account, account)
                })
        });
        mine.map(taken).sum::<i64>()
    }

    /// Thousandths of cards an account has or will have at most, with what is on its way in or out.
    pub(super) fn counted(&self, account: &str) -> i64 {
        let ledger = self.core.ledger();
        let id = ledger.find_account(account).expect("it exists");
        (self.used(account) + 1) * 1000 + ledger.usage(id).total().get(self.gpu)
    }

    fn is_under(&self, account: &str, above: &str) -> bool {
        let mut at = Some(account.to_owned());
        while let Some(name) = at {
            if name == above {
                return true;
            }
            at = self.core.tree().accounts().find(|one| one.name == name).and_then(|one| one.parent.clone());
        }
        false
    }

    /// What must hold at all times, of what is really there.
    fn check(&self) {
        self.check_cards();
        self.check_limits();
        self.check_gangs();
    }

    fn check_cards(&self) {
        let mut cards: BTreeMap<(&str, u16), u32> = BTreeMap::new();
        for pod in self.pods.values() {
            let PodPhase::Placed { node, cards: held, .. } = &pod.phase else { continue };
            for index in &held.indices {
                *cards.entry((&self.machines[node], *index)).or_default() += u32::from(held.milli);
            }
        }
        for ((node, card), milli) in cards {
            assert!(milli <= 1000, "card {card} of {node} is given out twice: {milli}");
        }
    }

    fn check_limits(&self) {
        for account in self.core.tree().accounts() {
            for (resource, cap) in &account.capability {
                assert_eq!(*resource, self.gpu);
                assert!(self.used_milli(&account.name) <= *cap, "{} has more than it may", account.name);
            }
            let mut others: BTreeMap<&str, i64> = BTreeMap::new();
            for pod in self.pods.values() {
                let group = self.core.ledger().group(pod.group).map(|state| &state.group);
                if let Some(group) = group.filter(|group| group.account == account.name) {
                    *others.entry(&group.user).or_default() += taken(pod);
                }
            }
            others.retain(|user, _| !account.members.iter().any(|member| member.user == *user));
            let fits = |used: &i64| account.member_capability.iter().all(|(_, cap)| used <= cap);
            assert!(others.values().all(fits), "somebody has more than members may on {}", account.name);
            for member in &account.members {
                let used = self.used_by(&account.name, |user| user == member.user);
                let fits = member.capability.iter().all(|(_, cap)| used <= *cap);
                assert!(fits, "{} has more than it may on {}", member.user, account.name);
            }
        }
    }

    fn check_gangs(&self) {
        let mut placed: BTreeMap<GroupId, usize> = BTreeMap::new();
        for pod in self.pods.values() {
            *placed.entry(pod.group).or_default() +=
                usize::from(matches!(pod.phase, PodPhase::Placed { .. }));
        }
        for (id, placed) in placed.into_iter().filter(|(id, _)| !self.torn.contains(id)) {
            let Some(state) = self.core.ledger().group(id) else { continue };
            let minimum = usize::try_from(state.group.minimum).unwrap();
            assert!(placed == 0 || placed >= minimum, "{} has {placed} of {minimum}", state.group.name);
        }
    }
}

fn taken(pod: &Pod) -> i64 {
    match &pod.phase {
        PodPhase::Placed { cards, .. } => cards.total(),
        _ => 0,
    }
}

pub(super) fn binds(actions: &[Action]) -> usize {
    actions.iter().filter(|action| matches!(action, Action::Bind { .. })).count()
}

pub(super) fn evictions(actions: &[Action]) -> Vec<PodId> {
    let evicted = actions.iter().filter_map(|action| match action {
        Action::Evict { pod, .. } => Some(*pod),
        _ => None,
    });
    evicted.collect()
}

impl World {
    pub(super) fn used_by_all(&self) -> i64 {
        self.pods.values().map(taken).sum::<i64>() / 1000
    }
}
