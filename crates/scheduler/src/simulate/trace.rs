//! Nodes, and Pods that come and go.

use std::{collections::HashMap, sync::Arc};

use crate::{
    ledger::Ledger,
    model::{CardKind, Millis, Node, Pod, PodPhase, Resources, ServiceLevel, Shape},
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
}

/// Nodes, and Pods that come and go.
#[derive(Debug, Clone)]
pub struct Trace {
    /// Names of resources.
    pub resources: Resources,
    /// Kinds of cards.
    pub kinds: Vec<CardKind>,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The Pods, by the time they come.
    pub pods: Vec<TracePod>,
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

    /// What Pods ask for over the time in which they come, as a part of all cards; none if nobody ends.
    pub fn load(&self) -> Option<f64> {
        let asked: i128 =
            self.pods.iter().filter_map(|pod| Some(i128::from(pod.runs?) * i128::from(pod.cards()))).sum();
        let span = self.pods.last()?.arrives - self.pods.first()?.arrives;
        let offered = i128::from(self.card_capacity()) * i128::from(span);
        #[expect(clippy::cast_precision_loss, reason = "a ratio")]
        let load = asked as f64 / offered as f64;
        (asked > 0 && offered > 0).then_some(load)
    }

    /// Lets Pods come faster or slower, so that they ask for a part of all cards (1.3 is 130 %). Says whether the trace
    /// has what is needed for that: Pods that come over time and end.
    pub fn set_load(&mut self, load: f64) -> bool {
        let Some(now) = self.load().filter(|_| load > 0.0) else { return false };
        for pod in &mut self.pods {
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                reason = "times of a simulation"
            )]
            let arrives = (pod.arrives as f64 * now / load) as Millis;
            pod.arrives = arrives;
        }
        true
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
        Pod {
            namespace: "simulated".into(),
            name: Arc::clone(&self.name),
            uid: format!("{}-{number}", self.name).into(),
            labels: Arc::default(),
            shape: Arc::clone(&self.shape),
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
