//! `maar job logs`.

use std::fmt::Write as _;

use anyhow::Context as _;
use futures::{AsyncBufReadExt as _, StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, ResourceExt,
    api::{ListParams, LogParams},
};
use maar_api::names;

use super::show::read;
use crate::commands::{client::Connection, failure::Failure, output::print};

/// What `maar job logs` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The job
    name: String,
    /// Only Pods of this task
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only the Pod of this number in its task
    #[arg(long, value_name = "NUMBER")]
    index: Option<u32>,
    /// Go on while the job runs
    #[arg(long, short)]
    follow: bool,
    /// Only the last lines of each Pod
    #[arg(long, value_name = "LINES")]
    tail: Option<i64>,
}

pub(super) async fn run(connection: &Connection, arguments: &Arguments) -> anyhow::Result<()> {
    // A job that is not there is another answer than one without Pods.
    read(connection, &arguments.name).await?;
    let mut selector = format!("{}={}", names::LABEL_JOB, arguments.name);
    for (label, value) in [
        (names::LABEL_TASK, arguments.task.clone()),
        (names::LABEL_INDEX, arguments.index.map(|index| index.to_string())),
    ] {
        if let Some(value) = value {
            // Writing to a String cannot fail.
            let _ = write!(selector, ",{label}={value}");
        }
    }
    let api: Api<Pod> = Api::namespaced(connection.client.clone(), &connection.namespace);
    let pods = api.list(&ListParams::default().labels(&selector)).await.context("listing the Pods")?.items;
    let started: Vec<String> = pods.iter().filter(|pod| has_log(pod)).map(ResourceExt::name_any).collect();
    if started.is_empty() {
        let message = format!("job {} has no Pod that has started ({} wait)", arguments.name, pods.len());
        return Err(Failure::not_found(message).into());
    }
    let many = started.len() > 1;
    let params = LogParams { follow: arguments.follow, tail_lines: arguments.tail, ..LogParams::default() };
    let follow = started.iter().map(|name| one(&api, name, &params, many));
    if arguments.follow {
        stream::iter(follow.collect::<Vec<_>>()).buffer_unordered(64).try_collect::<()>().await
    } else {
        for log in follow.collect::<Vec<_>>() {
            log.await?;
        }
        Ok(())
    }
}

fn has_log(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    !matches!(phase, None | Some("Pending"))
}

/// The lines of one Pod, with its name in front if there are several.
async fn one(api: &Api<Pod>, name: &str, params: &LogParams, named: bool) -> anyhow::Result<()> {
    let step = || format!("reading the log of Pod {name}");
    let mut lines = api.log_stream(name, params).await.with_context(step)?.lines();
    while let Some(line) = lines.try_next().await.with_context(step)? {
        if named {
            print(&format!("[{name}] {line}\n"));
        } else {
            print(&format!("{line}\n"));
        }
    }
    Ok(())
}
