//! Nodes, and Pods that come and go.

use std::{collections::HashMap, sync::Arc};

use thiserror::Error;

use crate::{
    core::DisruptionBudget,
    ledger::Ledger,
    model::{
        Account, CardKind, Group, Millis, Node, Pod, PodPhase, Resources, ServiceLevel, Shape, StaticVolume,
    },
};

/// A Pod of a trace.
#[derive(Debug, Clone)]
pub struct TracePod {
    /// Its name, once in a trace.
    pub name: Arc<str>,
    /// What it asks for.
    pub shape: Arc<Shape>,
    /// Who pays.
    pub account: Arc<str>,
    /// The member of the account.
    pub user: Arc<str>,
    /// Whether it may be stopped for others.
    pub level: ServiceLevel,
    /// Higher goes first within an account.
    pub priority: i32,
    /// Pods with the same job start together.
    pub job: Option<Arc<str>>,
    /// When it comes.
    pub arrives: Millis,
    /// The node it has already when the trace begins.
    pub node: Option<Arc<str>>,
    /// How long it runs; it stays if nothing is said.
    pub runs: Option<Millis>,
    /// What a recording of a cluster says beyond that.
    pub recorded: Option<Arc<Recorded>>,
}

/// A Pod as it was recorded, with its group. Times are counted from the recording on.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The Pod.
    pub pod: Pod,
    /// What it starts with.
    pub group: Group,
}

/// Why a trace cannot have a load.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum LoadError {
    /// All come at once, or nobody ends.
    #[error("the Pods do not come over time and end: there is no load to change")]
    NoTimes,
    /// There are too few Pods for it.
    #[error(
        "a load of {asked:.0} % cannot be reached: with all Pods there at once, from when they come, it is {most:.1} %"
    )]
    TooMuch {
        /// In percent.
        asked: f64,
        /// In percent.
        most: f64,
    },
}

/// Nodes, and Pods that come and go.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// Names of resources.
    pub resources: Resources,
    /// Kinds of cards.
    pub kinds: Vec<CardKind>,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The Pods, by the time they come.
    pub pods: Vec<TracePod>,
    /// Accounts, as far as they were recorded; those that only Pods name have no limits.
    pub accounts: Vec<Account>,
    /// Disruption budgets, as far as they were recorded.
    pub budgets: Vec<DisruptionBudget>,
    /// Volumes made beforehand, as far as they were recorded.
    pub volumes: Vec<StaticVolume>,
}

impl Trace {
    /// A ledger with the nodes and nothing on them.
    pub fn ledger(&self) -> Ledger {
        let mut ledger = Ledger::new(self.kinds.clone(), self.resources.clone());
        for node in &self.nodes {
            ledger.upsert_node(node.clone());
        }
        ledger
    }

    /// Thousandths of cards on all nodes.
    pub fn card_capacity(&self) -> i64 {
        let cards =
            |node: &Node| self.kinds.iter().map(|kind| node.allocatable.get(kind.resource)).sum::<i64>();
        self.nodes.iter().map(cards).sum()
    }

    /// What Pods ask for over the time in which they come, as a part of all cards; none if they all come at once. What
    /// they run beyond that time does not count: a few that run for months would hide that the cluster is empty.
    pub fn load(&self) -> Option<f64> {
        self.load_at(1.0)
    }

    /// The load if Pods came over a time `scale` times as long.
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    fn load_at(&self, scale: f64) -> Option<f64> {
        let (first, last) = (self.pods.first()?.arrives, self.pods.last()?.arrives);
        let used = |pod: &TracePod| {
            let rest = (last - pod.arrives) as f64 * scale;
            pod.cards() as f64 * pod.runs.map_or(rest, |runs| rest.min(runs as f64))
        };
        let offered = self.card_capacity() as f64 * (last - first) as f64 * scale;
        (offered > 0.0).then(|| self.pods.iter().map(used).sum::<f64>() / offered)
    }

    /// Lets Pods come faster or slower, so that they ask for a part of all cards (1.3 is 130 %).
    pub fn set_load(&mut self, load: f64) -> Result<(), LoadError> {
        if self.pods.iter().all(|pod| pod.runs.is_none()) {
            return Err(LoadError::NoTimes);
        }
        // The shorter the time, the larger the load: halve the interval, in orders of magnitude.
        let (mut fast, mut slow) = (-9.0, 9.0);
        let most = self.load_at(10f64.powf(fast)).ok_or(LoadError::NoTimes)?;
        if load > most {
            return Err(LoadError::TooMuch { asked: load * 100.0, most: most * 100.0 });
        }
        for _ in 0..60 {
            let middle = f64::midpoint(fast, slow);
            let there = self.load_at(10f64.powf(middle)).unwrap_or(0.0);
            if there > load { fast = middle } else { slow = middle }
        }
        let (scale, first) = (10f64.powf(slow), self.pods.first().map_or(0, |pod| pod.arrives));
        for pod in &mut self.pods {
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                reason = "times of a simulation"
            )]
            let arrives = ((pod.arrives - first) as f64 * scale) as Millis;
            pod.arrives = arrives;
        }
        Ok(())
    }

    /// Each shape with how many Pods have it, in the order of first appearance.
    pub fn shapes(&self) -> Vec<(Arc<Shape>, f64)> {
        let mut numbers: HashMap<&Arc<Shape>, usize> = HashMap::new();
        let mut all: Vec<(Arc<Shape>, f64)> = Vec::new();
        for pod in &self.pods {
            let number = *numbers.entry(&pod.shape).or_insert(all.len());
            if number == all.len() {
                all.push((Arc::clone(&pod.shape), 0.0));
            }
            all[number].1 += 1.0;
        }
        all
    }
}

impl TracePod {
    /// Thousandths of cards it asks for; a share by memory counts as a whole card.
    pub fn cards(&self) -> i64 {
        let milli = self.shape.cards.milli(None).unwrap_or(crate::model::WHOLE_CARD);
        i64::from(milli) * i64::from(self.shape.cards.count())
    }

    /// The Pod as the ledger knows it, waiting and of no group. `number` makes it unlike others of its name.
    pub fn pod(&self, number: usize) -> Pod {
        if let Some(recorded) = &self.recorded {
            return Pod {
                uid: format!("{}-{number}", self.name).into(),
                terminating: false,
                phase: PodPhase::Pending,
                nominated: None,
                ..recorded.pod.clone()
            };
        }
        Pod {
            namespace: "simulated".into(),
            name: Arc::clone(&self.name),
            uid: format!("{}-{number}", self.name).into(),
            labels: Arc::default(),
            shape: Arc::clone(&self.shape),
            volumes: Arc::default(),
            group: crate::model::GroupId::NONE,
            task: "".into(),
            priority: self.priority,
            created: self.arrives,
            terminating: false,
            ours: true,
            phase: PodPhase::Pending,
            nominated: None,
        }
    }
}
