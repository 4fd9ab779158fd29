//! The role `jobs`: watches, queues and workers of all controllers of this crate.

use std::sync::Arc;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
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
    index::{Index, Key},
    job::Jobs,
    key::Entropy,
    workspace::Workspaces,
};

/// Jobs worked on at the same time.
const WORKERS: usize = 16;

/// The role. `entropy` makes the keys and words of jobs.
pub fn role(entropy: &Entropy) -> Role {
    let entropy = entropy.clone();
    let others = entropy.clone();
    Role::new("jobs")
        .leader_task("jobs", move |context| jobs(context, entropy.clone()))
        .leader_task("workspaces", move |context| workspaces(context, others.clone()))
}

fn watch<K>(context: &Context, name: &'static str, label: Option<&str>) -> Watch<Guarded<K>>
where
    K: kube::Resource<DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned
        + Send
        + 'static,
{
    let api: Api<Guarded<K>> = Api::all(context.client.clone());
    let selection = Selection { labels: label.map(str::to_owned), fields: None };
    Watch::new(name, api, selection, context.environment.clone())
}

fn pool(context: &Context, name: &'static str) -> Pool {
    Pool { name, workers: WORKERS, backoff: Backoff::WORK, environment: context.environment.clone() }
}

async fn jobs(context: Context, entropy: Entropy) -> Result<(), PoolError> {
    let (jobs, pods) = (Index::<AIJob>::new(names::LABEL_PARENT), Index::<Pod>::new(names::LABEL_JOB));
    let queue = WorkQueue::<Key>::new();
    let feed_jobs = watch::<AIJob>(&context, "aijobs", None).stream().for_each(|event| {
        // A child's change concerns its parent as well.
        let touched = jobs.take(event);
        touched.objects.into_iter().chain(touched.owners).for_each(|key| queue.add(key));
        std::future::ready(())
    });
    let feed_pods = watch::<Pod>(&context, "job pods", Some(names::LABEL_JOB)).stream().for_each(|event| {
        pods.take(event).owners.into_iter().for_each(|owner| queue.add(owner));
        std::future::ready(())
    });
    let worker =
        Arc::new(Jobs { context: context.clone(), index: jobs.clone(), pods: pods.clone(), entropy });
    let pool = pool(&context, "jobs");
    let work = async {
        // What is not known yet must not be taken for gone.
        tokio::select! {
            () = context.shutdown.cancelled() => return Ok(()),
            () = async { tokio::join!(jobs.ready(), pods.ready()); } => {}
        }
        pool.run(queue.clone(), context.shutdown.clone(), |key| Arc::clone(&worker).reconcile(key)).await
    };
    tokio::select! {
        () = feed_jobs => Ok(()),
        () = feed_pods => Ok(()),
        ended = work => ended,
    }
}

async fn workspaces(context: Context, entropy: Entropy) -> Result<(), PoolError> {
    // No workspace belongs to another, so the label of its own index is one that none has.
    let workspaces = Index::<Workspace>::new(names::LABEL_PARENT);
    let pods = Index::<Pod>::new(names::LABEL_WORKSPACE);
    let queue = WorkQueue::<Key>::new();
    let feed_workspaces = watch::<Workspace>(&context, "workspaces", None).stream().for_each(|event| {
        workspaces.take(event).objects.into_iter().for_each(|key| queue.add(key));
        std::future::ready(())
    });
    let selection = Some(names::LABEL_WORKSPACE);
    let feed_pods = watch::<Pod>(&context, "workspace pods", selection).stream().for_each(|event| {
        pods.take(event).owners.into_iter().for_each(|owner| queue.add(owner));
        std::future::ready(())
    });
    let worker = Arc::new(Workspaces {
        context: context.clone(),
        index: workspaces.clone(),
        pods: pods.clone(),
        entropy,
    });
    let pool = pool(&context, "workspaces");
    let work = async {
        tokio::select! {
            () = context.shutdown.cancelled() => return Ok(()),
            () = async { tokio::join!(workspaces.ready(), pods.ready()); } => {}
        }
        pool.run(queue.clone(), context.shutdown.clone(), |key| Arc::clone(&worker).reconcile(key)).await
    };
    tokio::select! {
        () = feed_workspaces => Ok(()),
        () = feed_pods => Ok(()),
        ended = work => ended,
    }
}
