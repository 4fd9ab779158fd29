//! The role `jobs`: watches, queues and workers of all controllers of this crate.

use std::{sync::Arc, time::Duration};

use futures::StreamExt as _;
use k8s_openapi::{NamespaceResourceScope, api::core::v1::Pod};
use kube::Api;
use maar_api::{
    names,
    v1alpha1::{AIJob, Workspace},
};
use maar_controller::{
    Context, Role,
    backoff::Backoff,
    pool::{Pool, PoolError, WorkQueue},
    watch::{Guarded, Selection, Watch},
};

use crate::{
    account::Accounts,
    cleanup::{CardUse, Cleanup, Nightly, nights},
    index::Key,
    job::Jobs,
    key::Entropy,
    metrics::{JobsMetrics, count},
    views::Views,
    workspace::Workspaces,
};

/// Jobs worked on at the same time.
const WORKERS: usize = 16;

/// What the role can be told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Makes the keys and words of jobs.
    pub entropy: Entropy,
    /// Only work of this namespace. Accounts are for the whole cluster, so their status is left to others then.
    pub namespace: Option<String>,
    /// Knows how much cards are used; without it nothing counts as idle.
    pub cards: Option<Arc<dyn CardUse>>,
    /// Between two rounds of clean-up.
    pub cleanup_every: Duration,
    /// Between two writes of the status of an account.
    pub accounts_every: Duration,
    /// Between two looks at a Job of Volcano; it is not watched, because its API may come and go.
    pub volcano_every: Duration,
    /// When workspaces are suspended that nobody protected; never if it is not said.
    pub nightly: Option<Nightly>,
}

impl Settings {
    /// The usual settings.
    pub fn new(entropy: Entropy) -> Self {
        Self {
            entropy,
            namespace: None,
            cards: None,
            cleanup_every: Duration::from_mins(1),
            accounts_every: Duration::from_secs(10),
            volcano_every: Duration::from_secs(5),
            nightly: None,
        }
    }
}

/// The role.
pub fn role(settings: &Settings, metrics: &JobsMetrics) -> Role {
    let views = Views::new(settings.namespace.as_deref());
    let (entropy, seen, every) = (settings.entropy.clone(), views.clone(), settings.volcano_every);
    let role = Role::new("jobs")
        .leader_task("jobs", move |context| jobs(context, seen.clone(), entropy.clone(), every));
    let seen = views.clone();
    let role = role.leader_task("workspaces", move |context| workspaces(context, seen.clone()));
    let (seen, counted, every) = (views.clone(), metrics.clone(), settings.accounts_every);
    let role = role.leader_task("accounts", move |context| {
        Accounts { context, views: seen.clone(), metrics: counted.clone(), every }.run()
    });
    let (seen, counted) = (views.clone(), metrics.clone());
    let role = role.leader_task("numbers", move |context| count(context, seen.clone(), counted.clone()));
    let nightly = settings.nightly.clone();
    let role = role.leader_task("nightly", move |context| nights(context, nightly.clone()));
    let (cards, every, metrics) = (settings.cards.clone(), settings.cleanup_every, metrics.clone());
    role.leader_task("cleanup", move |context| {
        let (views, cards, metrics) = (views.clone(), cards.clone(), metrics.clone());
        Cleanup { context, views, cards, every, metrics }.run()
    })
}

fn watch<K>(
    context: &Context,
    namespace: Option<&str>,
    name: &'static str,
    label: Option<&str>,
) -> Watch<Guarded<K>>
where
    K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned
        + Send
        + 'static,
{
    let client = context.client.clone();
    let api: Api<Guarded<K>> = match namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    };
    let selection = Selection { labels: label.map(str::to_owned), fields: None };
    Watch::new(name, api, selection, context.environment.clone())
}

fn pool(context: &Context, name: &'static str) -> Pool {
    Pool { name, workers: WORKERS, backoff: Backoff::WORK, environment: context.environment.clone() }
}

async fn jobs(
    context: Context,
    views: Views,
    entropy: Entropy,
    volcano_every: Duration,
) -> Result<(), PoolError> {
    let (jobs, pods, namespace) = (views.jobs, views.job_pods, views.namespace.as_deref());
    let volcano_pods = views.volcano_pods;
    jobs.begin();
    pods.begin();
    volcano_pods.begin();
    let queue = WorkQueue::<Key>::new();
    let feed_jobs = watch::<AIJob>(&context, namespace, "aijobs", None).stream().for_each(|event| {
        // A child's change concerns its parent as well.
        let touched = jobs.take(event);
        touched.objects.into_iter().chain(touched.owners).for_each(|key| queue.add(key));
        std::future::ready(())
    });
    let feed_pods =
        watch::<Pod>(&context, namespace, "job pods", Some(names::LABEL_JOB)).stream().for_each(|event| {
            pods.take(event).owners.into_iter().for_each(|owner| queue.add(owner));
            std::future::ready(())
        });
    let selection = Some(names::LABEL_VOLCANO_JOB);
    let feed_volcano =
        watch::<Pod>(&context, namespace, "volcano pods", selection).stream().for_each(|event| {
            volcano_pods.take(event).owners.into_iter().for_each(|owner| queue.add(owner));
            std::future::ready(())
        });
    let worker = Arc::new(Jobs {
        context: context.clone(),
        index: jobs.clone(),
        pods: pods.clone(),
        volcano_pods: volcano_pods.clone(),
        entropy,
        volcano_every,
    });
    let pool = pool(&context, "jobs");
    let work = async {
        // What is not known yet must not be taken for gone.
        tokio::select! {
            biased;
            () = context.shutdown.cancelled() => return Ok(()),
            () = async { tokio::join!(jobs.ready(), pods.ready(), volcano_pods.ready()); } => {}
        }
        pool.run(queue.clone(), context.shutdown.clone(), |key| Arc::clone(&worker).reconcile(key)).await
    };
    // In a fixed order, so that a seed has one history.
    tokio::select! {
        biased;
        () = feed_jobs => Ok(()),
        () = feed_pods => Ok(()),
        () = feed_volcano => Ok(()),
        ended = work => ended,
    }
}

async fn workspaces(context: Context, views: Views) -> Result<(), PoolError> {
    let (workspaces, pods) = (views.workspaces, views.workspace_pods);
    let namespace = views.namespace.as_deref();
    workspaces.begin();
    pods.begin();
    let queue = WorkQueue::<Key>::new();
    let feed_workspaces =
        watch::<Workspace>(&context, namespace, "workspaces", None).stream().for_each(|event| {
            workspaces.take(event).objects.into_iter().for_each(|key| queue.add(key));
            std::future::ready(())
        });
    let selection = Some(names::LABEL_WORKSPACE);
    let feed_pods =
        watch::<Pod>(&context, namespace, "workspace pods", selection).stream().for_each(|event| {
            pods.take(event).owners.into_iter().for_each(|owner| queue.add(owner));
            std::future::ready(())
        });
    let worker =
        Arc::new(Workspaces { context: context.clone(), index: workspaces.clone(), pods: pods.clone() });
    let pool = pool(&context, "workspaces");
    let work = async {
        tokio::select! {
            biased;
            () = context.shutdown.cancelled() => return Ok(()),
            () = async { tokio::join!(workspaces.ready(), pods.ready()); } => {}
        }
        pool.run(queue.clone(), context.shutdown.clone(), |key| Arc::clone(&worker).reconcile(key)).await
    };
    // In a fixed order, so that a seed has one history.
    tokio::select! {
        biased;
        () = feed_workspaces => Ok(()),
        () = feed_pods => Ok(()),
        ended = work => ended,
    }
}
