//! A trace in simulated time, through the same core that schedules a live cluster.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, HashMap},
    sync::Arc,
};

use super::{
    budgets,
    outcome::{Life, Outcome, Sample},
    trace::{Trace, TracePod},
};
use crate::{
    core::{Action, Budget, Config, Core},
    model::{Account, CardsTaken, Group, GroupId, Millis, NodeId, Pod, PodId, PodPhase},
};

/// How a trace is run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Settings of the core.
    pub config: Config,
    /// Whether the scheduler is told how long Pods run, as users do by a limit on the run time.
    pub run_times_known: bool,
}

/// Runs a trace until its last Pod has come and all that end have ended.
pub fn run(trace: &Trace, options: &Options) -> Outcome {
    let mut simulation = Simulation::new(trace, options);
    while let Some(now) = simulation.next_time() {
        simulation.step(now);
    }
    simulation.outcome()
}

struct Simulation<'a> {
    trace: &'a Trace,
    options: &'a Options,
    core: Core,
    /// The Pod of the trace that comes next.
    next: usize,
    lives: Vec<Life>,
    numbers: HashMap<PodId, usize>,
    jobs: HashMap<Arc<str>, usize>,
    /// When Pods end, with the start they belong to: who was stopped before has another one.
    ends: BinaryHeap<Reverse<(Millis, usize, u32)>>,
    /// When Pods that were asked to go have stopped, with the start they belong to.
    stops: BinaryHeap<Reverse<(Millis, usize, u32)>>,
    samples: Vec<Sample>,
    now: Millis,
    held: i64,
    waiting: usize,
    evictions: usize,
}

impl<'a> Simulation<'a> {
    fn new(trace: &'a Trace, options: &'a Options) -> Self {
        let mut core = Core::new(options.config.clone(), trace.kinds.clone(), trace.resources.clone());
        for node in &trace.nodes {
            core.upsert_node(node.clone());
        }
        for volume in &trace.volumes {
            core.upsert_volume(volume.clone());
        }
        let mut jobs: HashMap<Arc<str>, usize> = HashMap::new();
        let mut accounts = BTreeSet::new();
        for pod in &trace.pods {
            accounts.insert(Arc::clone(&pod.account));
            if let Some(job) = &pod.job {
                *jobs.entry(Arc::clone(job)).or_default() += 1;
            }
        }
        for account in &trace.accounts {
            accounts.remove(account.name.as_str());
            core.upsert_account(account.clone());
        }
        for name in &accounts {
            core.upsert_account(Account { name: name.to_string(), weight: 1, ..Account::default() });
        }
        Self {
            trace,
            options,
            core,
            next: 0,
            lives: Vec::with_capacity(trace.pods.len()),
            numbers: HashMap::new(),
            jobs,
            ends: BinaryHeap::new(),
            stops: BinaryHeap::new(),
            samples: Vec::new(),
            now: 0,
            held: 0,
            waiting: 0,
            evictions: 0,
        }
    }

    /// When something happens next. Alarms of the core count only as long as something else will happen, too.
    fn next_time(&self) -> Option<Millis> {
        let arrival = self.trace.pods.get(self.next).map(|pod| pod.arrives);
        let end = self.ends.peek().map(|Reverse((at, _, _))| *at);
        let stop = self.stops.peek().map(|Reverse((at, _, _))| *at);
        let event = [arrival, end, stop].into_iter().flatten().min()?;
        let alarm = self.core.next_alarm().filter(|alarm| *alarm > self.now);
        Some(alarm.map_or(event, |alarm| alarm.min(event)))
    }

    /// Lets everything happen that happens at a time, and decides.
    fn step(&mut self, now: Millis) {
        self.now = now;
        while let Some(Reverse((at, number, start))) = self.ends.peek().copied()
            && at <= now
        {
            self.ends.pop();
            self.end(number, start);
        }
        while let Some(Reverse((at, number, start))) = self.stops.peek().copied()
            && at <= now
        {
            self.stops.pop();
            self.make_way(number, start);
        }
        while let Some(pod) = self.trace.pods.get(self.next)
            && pod.arrives <= now
        {
            self.next += 1;
            self.arrive(pod);
        }
        loop {
            budgets::follow(&mut self.core, &self.trace.budgets);
            let actions = self.core.pass(now, Budget::default());
            if actions.is_empty() {
                break;
            }
            for action in actions {
                self.act(&action);
            }
        }
        self.samples.push(Sample { at: now, held: self.held, waiting: self.waiting });
    }

    fn arrive(&mut self, pod: &TracePod) {
        let number = self.lives.len();
        self.lives.push(Life::new(pod));
        self.waiting += 1;
        let placed = pod.node.as_ref().map(|name| self.core.node_id(name));
        self.submit(number, pod, placed);
    }

    /// Hands a Pod to the core; one that ran already when the trace began has its node.
    fn submit(&mut self, number: usize, traced: &TracePod, placed: Option<NodeId>) {
        let group = self.group(traced);
        let mut pod = traced.pod(number);
        pod.uid = format!("{}-{number}-{}", traced.name, self.lives[number].starts).into();
        pod.group = group;
        pod.created = self.now;
        if let Some(node) = placed {
            pod.phase = match traced.recorded.as_ref().map(|recorded| &recorded.pod.phase) {
                Some(PodPhase::Placed { cards, .. }) => {
                    PodPhase::Placed { node, cards: cards.clone(), since: self.now }
                }
                _ => PodPhase::Placed { node, cards: CardsTaken::default(), since: self.now },
            };
        }
        let id = self.core.upsert_pod(pod);
        self.numbers.insert(id, number);
        self.lives[number].id = Some(id);
        if placed.is_some() {
            self.start(number);
        }
    }

    fn group(&mut self, pod: &TracePod) -> GroupId {
        if let Some(recorded) = pod.recorded.as_ref().filter(|_| pod.job.is_none()) {
            return self.core.upsert_group(recorded.group.clone());
        }
        let minimum = pod.job.as_ref().and_then(|job| self.jobs.get(job)).copied().unwrap_or(1);
        self.core.upsert_group(Group {
            name: format!("simulated/{}", pod.job.as_ref().unwrap_or(&pod.name)),
            account: pod.account.to_string(),
            user: pod.user.to_string(),
            level: pod.level,
            priority: pod.priority,
            minimum: u32::try_from(minimum).unwrap_or(u32::MAX),
            created: pod.arrives,
            max_run: pod.runs.filter(|_| self.options.run_times_known),
            lent_nodes: true,
            ..Group::default()
        })
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::Bind { pod, .. } => {
                let Some(number) = self.numbers.get(pod).copied() else { return };
                if let Some(state) = self.core.ledger().pod(*pod) {
                    // As a watch would tell it.
                    let seen = state.pod.clone();
                    self.core.upsert_pod(seen);
                }
                self.start(number);
            }
            Action::Evict { pod, grace, .. } => {
                let Some(number) = self.numbers.get(pod).copied() else { return };
                // It uses up its grace; that it is going is seen at once.
                self.stops.push(Reverse((
                    self.now.saturating_add(*grace),
                    number,
                    self.lives[number].starts,
                )));
                if let Some(state) = self.core.ledger().pod(*pod) {
                    let seen = Pod { terminating: true, ..state.pod.clone() };
                    self.core.upsert_pod(seen);
                }
            }
            Action::Stalled { .. } => {}
        }
    }

    fn start(&mut self, number: usize) {
        let traced = &self.trace.pods[number];
        let life = &mut self.lives[number];
        life.start(self.now);
        self.waiting -= 1;
        self.held += traced.cards();
        if let Some(runs) = traced.runs {
            self.ends.push(Reverse((self.now.saturating_add(runs), number, life.starts)));
        }
    }

    fn end(&mut self, number: usize, start: u32) {
        if self.lives[number].starts == start && self.lives[number].running_since.is_some() {
            self.stop(number);
            self.lives[number].ended = true;
        }
    }

    /// A Pod that was asked to go has stopped, and waits again. Who has ended meanwhile does not.
    fn make_way(&mut self, number: usize, start: u32) {
        if self.lives[number].starts != start || self.lives[number].running_since.is_none() {
            return;
        }
        self.evictions += 1;
        self.stop(number);
        self.waiting += 1;
        let traced = self.trace.pods[number].clone();
        self.submit(number, &traced, None);
    }

    /// Takes a running Pod out of the cluster.
    fn stop(&mut self, number: usize) {
        let traced = &self.trace.pods[number];
        self.held -= traced.cards();
        self.lives[number].stop(self.now, traced.cards());
        let Some(id) = self.lives[number].id.take() else { return };
        self.numbers.remove(&id);
        if let Some(uid) = self.core.ledger().pod(id).map(|state| Arc::clone(&state.pod.uid)) {
            self.core.remove_pod(&uid);
        }
        if traced.job.is_none() && traced.recorded.is_none() {
            self.core.remove_group(&format!("simulated/{}", traced.name));
        }
    }

    fn outcome(mut self) -> Outcome {
        for number in 0..self.lives.len() {
            let cards = self.trace.pods[number].cards();
            let now = self.now;
            self.lives[number].stop(now, cards);
        }
        Outcome::of(self.trace, &self.lives, &self.samples, self.evictions)
    }
}
