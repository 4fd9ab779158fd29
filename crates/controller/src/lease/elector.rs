//! Does what `decide` says.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};
use maar_api::names;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{
    Leadership, Timing, TimingError,
    decide::{Action, State, decide},
    leadership::Announcer,
};
use crate::{
    environment::Environment,
    error::{Categorized, Category, Error, chain},
    health::{Check, Patience},
    metrics::{LeaseLabel, LeaseResultLabels},
};

/// Who elects for what.
#[derive(Debug, Clone)]
pub struct ElectorConfig {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease; one per role.
    pub name: String,
    /// Unique for each process, also across restarts.
    pub identity: String,
    /// The times.
    pub timing: Timing,
}

/// Takes part in an election until told to stop.
#[derive(Debug)]
pub struct Elector {
    api: Api<Lease>,
    config: ElectorConfig,
    state: State,
    /// The Lease as last read or written; a write starts from it, so that fields of others survive.
    lease: Lease,
    announcer: Announcer,
    environment: Environment,
    health: Check,
}

impl Elector {
    /// Prepares an election. `client` must be a plain one: a fenced one could never be elected.
    pub fn new(
        client: Client,
        config: ElectorConfig,
        environment: Environment,
    ) -> Result<(Self, Leadership), TimingError> {
        config.timing.validate()?;
        let (announcer, leadership) = Announcer::new();
        let duration = config.timing.lease_duration;
        let patience = Patience { failing: duration, silence: duration * 2, hanging: duration * 4 };
        let health =
            environment.health.check(format!("lease {}/{}", config.namespace, config.name), patience);
        let elector = Self {
            api: Api::namespaced(client, &config.namespace),
            state: State::new(config.identity.clone(), Instant::now()),
            lease: Lease::default(),
            config,
            announcer,
            environment,
            health,
        };
        Ok((elector, leadership))
    }

    /// Campaigns, leads, loses and campaigns again until `stop` is cancelled; then gives the Lease back, so that
    /// another process need not wait for it to run out. Cancel `stop` only after the work of the term has ended.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            let action = decide(Instant::now(), &self.state, &self.config.timing);
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = self.act(action) => {}
            }
        }
        self.release().await;
    }

    async fn act(&mut self, action: Action) {
        match action {
            Action::Wait(until) => sleep_until(until).await,
            Action::Read => self.read().await,
            Action::Create | Action::Take | Action::Renew => self.write(action == Action::Create).await,
            Action::StandDown => self.stand_down(),
        }
    }

    async fn read(&mut self) {
        let answer = timeout_at(self.patience(), self.api.get_opt(&self.config.name)).await;
        let retry = self.retry();
        match answer {
            Ok(Ok(lease)) => {
                self.health.ok(lease.as_ref().map_or_else(|| "no lease yet".to_owned(), describe));
                let sight = lease.as_ref().map(|lease| self.sight(lease));
                self.lease = lease.unwrap_or_default();
                self.state.saw(Instant::now(), sight, retry);
            }
            Ok(Err(error)) => self.failed("read", Some(error), retry),
            Err(_) => self.failed("read", None, retry),
        }
    }

    async fn write(&mut self, create: bool) {
        let sent = Instant::now();
        let wanted = self.wanted(create);
        let answer = timeout_at(self.patience(), self.send(create, &wanted)).await;
        let retry = self.retry();
        match answer {
            Ok(Ok(lease)) => self.wrote(sent, lease, retry),
            Ok(Err(error)) if error.category() == Category::Conflict => {
                self.count(Category::Conflict.as_str());
                self.state.lost_race(Instant::now());
            }
            Ok(Err(error)) => {
                self.count(error.category().as_str());
                self.failed("write", Some(error), retry);
            }
            Err(_) => {
                self.count(Category::Transient.as_str());
                self.failed("write", None, retry);
            }
        }
    }

    async fn send(&self, create: bool, lease: &Lease) -> kube::Result<Lease> {
        let params =
            PostParams { field_manager: Some(names::MANAGED_BY.to_owned()), ..PostParams::default() };
        if create {
            self.api.create(&params, lease).await
        } else {
            self.api.replace(&self.config.name, &params, lease).await
        }
    }

    fn wrote(&mut self, sent: Instant, lease: Lease, retry: Duration) {
        self.count("done");
        let version = lease.metadata.resource_version.clone().unwrap_or_default();
        let transitions = lease.spec.as_ref().and_then(|spec| spec.lease_transitions).unwrap_or(0);
        self.lease = lease;
        self.state.wrote(sent, version, &self.config.timing, retry);
        let deadline = sent + self.config.timing.renew_deadline;
        if Instant::now() >= deadline {
            // The answer took so long that the term is over already; `decide` ends it.
            return;
        }
        if self.announcer.extend(transitions, deadline) {
            tracing::info!(lease.name = self.config.name, term = transitions, "leading");
        }
        self.environment.metrics.lease.leader.get_or_create(&self.label()).set(1);
        self.health.ok(format!("leading, term {transitions}"));
    }

    fn stand_down(&mut self) {
        if self.announcer.end() {
            tracing::warn!(lease.name = self.config.name, "not leading any more");
        }
        self.environment.metrics.lease.leader.get_or_create(&self.label()).set(0);
        let retry = self.retry();
        self.state.stood_down(Instant::now(), retry);
    }

    fn failed(&mut self, verb: &str, error: Option<kube::Error>, retry: Duration) {
        let step = format!("{verb} lease {}/{}", self.config.namespace, self.config.name);
        let text = match error {
            Some(error) => chain(&Error::in_step(step, error)),
            None => format!("{step}: no answer in time"),
        };
        tracing::warn!("{text}");
        self.health.fail(text);
        self.state.failed(Instant::now(), retry);
    }

    /// Gives the Lease back if it is held. The term is over before the write is sent.
    async fn release(mut self) {
        let led = self.announcer.end();
        self.environment.metrics.lease.leader.get_or_create(&self.label()).set(0);
        if !led {
            return;
        }
        let patience = Instant::now() + self.config.timing.retry_period;
        match timeout_at(patience, self.give_back()).await {
            Ok(Ok(())) => tracing::info!(lease.name = self.config.name, "lease given back"),
            Ok(Err(error)) => tracing::warn!("{}", chain(&Error::in_step("give the lease back", error))),
            Err(_) => tracing::warn!("give the lease back: no answer in time"),
        }
    }

    async fn give_back(&mut self) -> kube::Result<()> {
        let first = self.send(false, &self.released()).await;
        if !first.as_ref().is_err_and(|error| error.category() == Category::Conflict) {
            return first.map(drop);
        }
        // A renewal that was interrupted by the stop may have arrived nevertheless.
        self.lease = self.api.get(&self.config.name).await?;
        let holder = self.lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
        if holder == Some(&self.config.identity) {
            self.send(false, &self.released()).await?;
        }
        Ok(())
    }

    fn released(&self) -> Lease {
        let mut lease = self.lease.clone();
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(MicroTime(self.now()));
        lease
    }

    /// The Lease as it shall be.
    fn wanted(&self, create: bool) -> Lease {
        let mut lease = if create { self.blank() } else { self.lease.clone() };
        let now = MicroTime(self.now());
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() != Some(&self.config.identity) {
            if !create {
                spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0).saturating_add(1));
            }
            spec.acquire_time = Some(now.clone());
        }
        spec.holder_identity = Some(self.config.identity.clone());
        let seconds = self.config.timing.lease_duration.as_secs();
        spec.lease_duration_seconds = Some(i32::try_from(seconds).unwrap_or(i32::MAX));
        spec.renew_time = Some(now);
        lease
    }

    fn blank(&self) -> Lease {
        let labels = [(names::LABEL_MANAGED_BY.to_owned(), names::MANAGED_BY.to_owned())];
        let metadata = ObjectMeta {
            name: Some(self.config.name.clone()),
            labels: Some(labels.into()),
            ..ObjectMeta::default()
        };
        Lease { metadata, spec: Some(LeaseSpec { lease_transitions: Some(0), ..LeaseSpec::default() }) }
    }

    fn sight(&self, lease: &Lease) -> (String, Duration, String) {
        let spec = lease.spec.clone().unwrap_or_default();
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let duration = seconds.map_or(self.config.timing.lease_duration, Duration::from_secs);
        let version = lease.metadata.resource_version.clone().unwrap_or_default();
        (spec.holder_identity.unwrap_or_default(), duration, version)
    }

    /// How long to wait for an answer: a leader not past its deadline, others as long as a leader would.
    fn patience(&self) -> Instant {
        let timing = &self.config.timing;
        let attempt = Instant::now() + timing.renew_deadline / 2;
        self.state.deadline(timing).map_or(attempt, |deadline| attempt.min(deadline))
    }

    fn retry(&self) -> Duration {
        let timing = &self.config.timing;
        timing.retry_period.mul_f64(1.0 + timing.jitter * self.environment.dice.fraction())
    }

    /// Kubernetes keeps microseconds; more digits would only be cut off.
    fn now(&self) -> Timestamp {
        let now = self.environment.clock.now();
        Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
    }

    fn label(&self) -> LeaseLabel {
        LeaseLabel { lease: self.config.name.clone() }
    }

    fn count(&self, result: &'static str) {
        let labels = LeaseResultLabels { lease: self.config.name.clone(), result };
        self.environment.metrics.lease.writes.get_or_create(&labels).inc();
    }
}

fn describe(lease: &Lease) -> String {
    match lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default() {
        "" => "the lease is free".to_owned(),
        holder => format!("standing by, {holder} leads"),
    }
}
