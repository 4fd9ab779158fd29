//! Faults between a component and the cluster, and the log of what happened.
//!
//! A component that takes its client from [`Cluster::client_for`](crate::Cluster::client_for) talks to the cluster
//! through a layer that refuses, delays, loses, repeats and cuts as a [`Rule`] or a seed says. Maar's roles all take a
//! `kube::Client`, so this is where they meet trouble. Nothing of it is in the way of an ordinary client: who does not
//! ask for faults does not pay for them.
//!
//! The built-in controllers have no client: they read the store and write through [`Local`](crate::local::Local).
//! Their writes pass the same rules and chances (conflict, 429, 500, lost answers, slow answers) and the same log, under
//! their own names such as `replicaset-controller`. Their reads cannot be stale and they cannot be crashed alone.
//!
//! Every decision follows from the seed and the order of a component's own requests, so a seed has one history; the
//! [`EventLog`] hashes it as it grows. Start reading at [`Plan::decide`], then `layer`.

mod chances;
mod component;
mod fault;
mod gate;
mod layer;
mod log;
mod rule;
mod subject;
mod watch;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use kube::Client;
use parking_lot::Mutex;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use tower::service_fn;

pub use chances::Chances;
pub use component::Component;
pub use fault::{Fault, Moment};
pub use gate::Outage;
pub use layer::{FaultLayer, FaultService};
pub use log::{EventLog, LogEntry};
pub use rule::Rule;
pub use subject::Subject;

use crate::cluster::connect;
use crate::server::UserInfo;
use crate::status::ApiError;
use crate::store::Store;
use crate::world::Clock;
use component::Instance;
use gate::Gate;
pub(crate) use watch::Wire;

/// What goes wrong in one cluster. Clones speak of the same cluster.
#[derive(Clone, Debug)]
pub struct Faults {
    plan: Arc<Plan>,
    router: Router,
}

impl Faults {
    pub(crate) fn new(plan: Arc<Plan>, router: Router) -> Self {
        Self { plan, router }
    }

    /// Adds a rule. Rules are looked at in the order in which they were added; the first that fires decides.
    pub fn script(&self, rule: Rule) {
        self.plan.decisions.lock().rules.push(rule);
    }

    /// Lets chance decide from here on, by a seed of its own.
    pub fn by_seed(&self, seed: u64, chances: Chances) {
        let mut decisions = self.plan.decisions.lock();
        decisions.seed = seed;
        decisions.dice.clear();
        decisions.chances = chances;
        decisions.chances_of.clear();
    }

    /// Other chances for one component than for the rest; [`Chances::NONE`] spares it.
    pub fn chances_of(&self, component: &str, chances: Chances) {
        self.plan.decisions.lock().chances_of.insert(component.to_owned(), chances);
    }

    /// No more faults: rules are dropped, chance is kept out, outages are over.
    pub fn calm(&self) {
        {
            let mut decisions = self.plan.decisions.lock();
            decisions.rules.clear();
            decisions.chances = Chances::NONE;
            decisions.chances_of.clear();
        }
        self.plan.gate.heal();
    }

    /// Cuts every component off, until [`Faults::heal`].
    pub fn disconnect(&self, outage: Outage) {
        self.plan.gate.cut(None, outage);
    }

    /// Cuts one component off, until [`Faults::heal`].
    pub fn disconnect_component(&self, component: &str, outage: Outage) {
        self.plan.gate.cut(Some(component), outage);
    }

    /// Ends all outages.
    pub fn heal(&self) {
        self.plan.gate.heal();
    }

    /// What happened so far.
    pub fn log(&self) -> &EventLog {
        &self.plan.log
    }

    /// A client without a socket for a component, as administrator, through the faults.
    pub fn client(&self, component: &str) -> Client {
        self.client_as(component, crate::Cluster::admin())
    }

    /// The same, acting as `user`.
    pub fn client_as(&self, component: &str, user: UserInfo) -> Client {
        self.client_of(&Instance::new(component), user)
    }

    /// Puts the faults in front of any client, such as one over TLS or of a real cluster. An exec, attach or port-forward that
    /// stands already is out of their reach there: it goes on through every outage.
    pub fn wrap(&self, component: &str, client: Client) -> Client {
        let namespace = client.default_namespace().to_owned();
        let inner = service_fn(move |request| {
            let client = client.clone();
            async move { client.send(request).await }
        });
        Client::new(FaultService::new(inner, Arc::clone(&self.plan), Instance::new(component)), namespace)
    }

    /// The layer itself, for whoever builds a stack of services.
    pub fn layer(&self, component: &str) -> FaultLayer {
        FaultLayer::new(Arc::clone(&self.plan), Instance::new(component))
    }

    fn client_of(&self, instance: &Instance, user: UserInfo) -> Client {
        let inner = connect::service(self.router.clone(), user);
        Client::new(FaultService::new(inner, Arc::clone(&self.plan), instance.clone()), "default")
    }
}

/// The faults of one cluster as its layer and its own controllers see them.
#[derive(Debug)]
pub(crate) struct Plan {
    decisions: Mutex<Decisions>,
    gate: Gate,
    log: EventLog,
    store: Arc<Store>,
}

#[derive(Debug)]
struct Decisions {
    rules: Vec<Rule>,
    chances: Chances,
    chances_of: BTreeMap<String, Chances>,
    seed: u64,
    /// One source per component, so that what one does never shifts the luck of another.
    dice: BTreeMap<Arc<str>, ChaCha8Rng>,
}

impl Plan {
    pub(crate) fn new(store: Arc<Store>, clock: Clock) -> Self {
        let decisions = Decisions {
            rules: Vec::new(),
            chances: Chances::NONE,
            chances_of: BTreeMap::new(),
            seed: 0,
            dice: BTreeMap::new(),
        };
        Self { decisions: Mutex::new(decisions), gate: Gate::default(), log: EventLog::new(clock), store }
    }

    /// The fault that meets a request, if any.
    fn decide(&self, subject: &Subject) -> Option<Fault> {
        self.decide_among(subject, |_| true)
    }

    /// The same among the faults that can happen to whoever asks.
    fn decide_among(&self, subject: &Subject, possible: fn(&Fault) -> bool) -> Option<Fault> {
        let mut decisions = self.decisions.lock();
        let mut rules = decisions.rules.iter_mut().filter(|rule| possible(rule.fault()));
        let scripted = rules.find_map(|rule| rule.fires(subject));
        if scripted.is_some() {
            return scripted;
        }
        let (seed, all) = (decisions.seed, decisions.chances);
        let chances = decisions.chances_of.get(&*subject.component).copied().unwrap_or(all);
        if chances == Chances::NONE {
            return None;
        }
        let dice = decisions
            .dice
            .entry(Arc::clone(&subject.component))
            .or_insert_with(|| ChaCha8Rng::seed_from_u64(seed ^ name_seed(&subject.component)));
        chances.draw(subject, dice).filter(possible)
    }

    /// A write of a built-in controller, which has no connection to lose.
    pub(crate) async fn controller_write<T>(
        &self,
        subject: &Subject,
        write: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        // It lives as long as the cluster: a crash is left for somebody who can.
        let fault = self.decide_among(subject, |fault| !matches!(fault, Fault::Crash(_)));
        if let Some(fault) = &fault
            && let Some(refusal) = fault.refusal(&subject.resource, &subject.name)
        {
            self.record(subject, Some(fault), &refusal.code.to_string());
            return Err(refusal);
        }
        if let Some(Fault::Slow(wait)) = &fault {
            tokio::time::sleep(*wait).await;
        }
        let result = write.await;
        if fault == Some(Fault::LostAnswer) {
            self.record(subject, fault.as_ref(), "lost");
            return Err(ApiError::new(504, "Timeout", "no answer came in time (injected)"));
        }
        let outcome = result.as_ref().map_or_else(|error| error.code, |_| 200);
        self.record(subject, fault.as_ref(), &outcome.to_string());
        result
    }

    fn record(&self, subject: &Subject, fault: Option<&Fault>, outcome: &str) {
        self.log.append(subject, fault.map_or("", Fault::name), outcome, self.store.revision());
    }
}

/// A number that depends on every byte of a name and on nothing else (FNV-1a).
fn name_seed(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
