//! One role of Maar: its tasks, its election, its events, and their order of stopping.
//!
//! On shutdown the work stops first, then the lease is given back and the last events are written. Losing the lease
//! stops the tasks of the term, and the role campaigns again; it ends only if a task will not stop, because then two
//! leaders would work at once.

use std::{convert::Infallible, fmt, future::Future, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use kube::Client;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    environment::Environment,
    events::{Limits, Recorder},
    lease::{Elector, ElectorConfig, Leadership, Timing, TimingError, fenced},
    supervisor::{BoxError, Ended, Supervisor},
};

/// How long the election and the events have to end after the work has.
const EPILOGUE: Duration = Duration::from_secs(10);

/// What a task gets.
#[derive(Clone)]
pub struct Context {
    /// Talks to the cluster. In tasks of the leader it refuses writes as soon as the term is over.
    pub client: Client,
    /// Time, chance, numbers, health.
    pub environment: Environment,
    /// Records Kubernetes events.
    pub recorder: Recorder,
    /// Whether this process leads.
    pub leadership: Leadership,
    /// Cancelled when the task has to end.
    pub shutdown: CancellationToken,
}

impl fmt::Debug for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Context").field("leadership", &self.leadership).finish_non_exhaustive()
    }
}

/// Settings of a role.
#[derive(Debug, Clone)]
pub struct RoleConfig {
    /// Unique for each process, also across restarts.
    pub identity: String,
    /// Where and how to elect; without it the role always leads.
    pub election: Option<Election>,
    /// How long tasks have to end.
    pub drain: Duration,
}

/// Settings of an election; the Lease is called after the role.
#[derive(Debug, Clone)]
pub struct Election {
    /// Namespace of the Lease.
    pub namespace: String,
    /// The times.
    pub timing: Timing,
}

/// Why a role ended.
#[derive(Debug, thiserror::Error)]
pub enum RoleError {
    /// The election cannot work.
    #[error("leader election of {role}")]
    Timing {
        /// The role.
        role: &'static str,
        /// What is wrong.
        source: TimingError,
    },
    /// A task ended.
    #[error("role {role}")]
    Ended {
        /// The role.
        role: &'static str,
        /// Which task, and why.
        source: Ended,
    },
}

type Start = Arc<dyn Fn(Context) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync>;

/// A role, before it runs.
#[derive(Clone)]
pub struct Role {
    name: &'static str,
    always: Vec<(&'static str, Start)>,
    leading: Vec<(&'static str, Start)>,
}

impl fmt::Debug for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.always.iter().chain(&self.leading).map(|(name, _)| *name).collect::<Vec<_>>();
        formatter.debug_struct("Role").field("name", &self.name).field("tasks", &names).finish()
    }
}

fn boxed<E, F>(start: impl Fn(Context) -> F + Send + Sync + 'static) -> Start
where
    E: Into<BoxError> + 'static,
    F: Future<Output = Result<(), E>> + Send + 'static,
{
    Arc::new(move |context| {
        let task = start(context);
        Box::pin(async move { task.await.map_err(Into::into) })
    })
}

impl Role {
    /// A role without tasks. The name is part of its Lease, its events and its logs.
    pub fn new(name: &'static str) -> Self {
        Self { name, always: Vec::new(), leading: Vec::new() }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A task that runs in every process of the role, such as a cache or a server.
    pub fn task<E, F>(
        mut self,
        name: &'static str,
        start: impl Fn(Context) -> F + Send + Sync + 'static,
    ) -> Self
    where
        E: Into<BoxError> + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        self.always.push((name, boxed(start)));
        self
    }

    /// A task that runs only while this process leads, once per term.
    pub fn leader_task<E, F>(
        mut self,
        name: &'static str,
        start: impl Fn(Context) -> F + Send + Sync + 'static,
    ) -> Self
    where
        E: Into<BoxError> + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        self.leading.push((name, boxed(start)));
        self
    }

    /// Runs until `shutdown` is cancelled or a task ends by itself.
    pub async fn run(
        self,
        client: Client,
        config: RoleConfig,
        environment: Environment,
        shutdown: CancellationToken,
    ) -> Result<(), RoleError> {
        let work = shutdown.child_token();
        let epilogue = CancellationToken::new();
        let mut background = Supervisor::new(epilogue.clone(), EPILOGUE);
        let leadership = self.elect(&client, &config, &environment, &mut background)?;
        let controller = format!("{}/{}", maar_api::names::GROUP, self.name);
        let (recorder, writer) = Recorder::new(
            client.clone(),
            &controller,
            &config.identity,
            Limits::default(),
            environment.clone(),
        );
        let end = epilogue.clone();
        background.spawn("write events", async move {
            writer.run(end).await;
            Ok::<_, Infallible>(())
        });
        let background = stopping(background, work.clone());
        let context = Context { client, environment, recorder, leadership, shutdown: work.clone() };
        let worked = self.work(&context, config.drain).await;
        epilogue.cancel();
        let ended = background.await.unwrap_or(Ok(()));
        worked.and(ended).map_err(|source| RoleError::Ended { role: self.name, source })
    }

    fn elect(
        &self,
        client: &Client,
        config: &RoleConfig,
        environment: &Environment,
        background: &mut Supervisor,
    ) -> Result<Leadership, RoleError> {
        let Some(Election { namespace, timing }) = config.election.clone() else {
            return Ok(Leadership::always());
        };
        let name = format!("maar-{}", self.name);
        let elector = ElectorConfig { namespace, name, identity: config.identity.clone(), timing };
        let (elector, leadership) = Elector::new(client.clone(), elector, environment.clone())
            .map_err(|source| RoleError::Timing { role: self.name, source })?;
        let stop = background.shutdown().clone();
        background.spawn("leader election", async move {
            elector.run(stop).await;
            Ok::<_, Infallible>(())
        });
        Ok(leadership)
    }

    async fn work(&self, context: &Context, drain: Duration) -> Result<(), Ended> {
        // The inner tasks of a term need their own time to end before the task around them is called stuck.
        let mut supervisor = Supervisor::new(context.shutdown.clone(), drain + Duration::from_secs(1));
        for (name, start) in &self.always {
            supervisor.spawn(*name, start(context.clone()));
        }
        if !self.leading.is_empty() {
            supervisor.spawn("lead", lead(self.leading.clone(), context.clone(), drain));
        }
        supervisor.run().await
    }
}

/// Runs the background tasks and stops the work if one of them ends.
fn stopping(background: Supervisor, work: CancellationToken) -> AbortOnDropHandle<Result<(), Ended>> {
    // With whoever drops the role: a Lease that nobody works under is of no use to anybody.
    AbortOnDropHandle::new(tokio::spawn(async move {
        let ended = background.run().await;
        work.cancel();
        ended
    }))
}

/// Term after term, the tasks of the leader.
async fn lead(tasks: Vec<(&'static str, Start)>, context: Context, drain: Duration) -> Result<(), Ended> {
    loop {
        let term = tokio::select! {
            biased;
            () = context.shutdown.cancelled() => return Ok(()),
            term = context.leadership.acquired() => term,
        };
        let stop = context.shutdown.child_token();
        let client = fenced(&context.client, Leadership::during(term.clone()));
        let mut supervisor = Supervisor::new(stop.clone(), drain);
        for (name, start) in &tasks {
            let context = Context { client: client.clone(), shutdown: stop.clone(), ..context.clone() };
            supervisor.spawn(*name, start(context));
        }
        let mut run = std::pin::pin!(supervisor.run());
        tokio::select! {
            biased;
            () = term.lost().cancelled() => stop.cancel(),
            ended = &mut run => {
                ended?;
                continue;
            }
        }
        run.await?;
    }
}

#[cfg(test)]
mod tests;
