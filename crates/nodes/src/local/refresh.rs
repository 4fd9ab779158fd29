//! Keeping volumes that show ConfigMaps, Secrets, the Pod itself and tokens up to date while containers run, and
//! removing volumes that were deleted.

use std::{sync::Arc, time::Duration};

use super::{
    container::prepare,
    runtime::{Inner, LocalRuntime},
    volume::reclaim,
};
use crate::{pod::Pod, pods::SharedTable};

/// As often as kubelets look.
const INTERVAL: Duration = Duration::from_mins(1);

/// Runs until the node stops.
pub(super) async fn run(inner: Arc<Inner>, table: SharedTable<LocalRuntime>) {
    let forever = async {
        loop {
            tokio::time::sleep(INTERVAL).await;
            for pod in running(&table) {
                if let Err(problem) = prepare::refill(&inner, &pod).await {
                    tracing::warn!(
                        pod.name = pod.key(),
                        "volumes could not be brought up to date: {problem}"
                    );
                }
            }
        }
    };
    let kept = inner.kept_volumes();
    let reclaiming = reclaim::follow(inner.client.clone(), &kept);
    let both = Box::pin(async { tokio::join!(forever, reclaiming) });
    inner.shutdown.run_until_cancelled(both).await;
}

fn running(table: &SharedTable<LocalRuntime>) -> Vec<Pod> {
    let table = table.lock();
    let uids = table.nodes.values().flat_map(crate::table::NodeEntry::pods);
    uids.filter_map(|uid| table.pod(uid))
        .filter(|entry| entry.life.containers.iter().any(crate::lifecycle::ContainerLife::has_run))
        .filter(|entry| !entry.life.is_finished())
        .map(|entry| entry.pod.clone())
        .collect()
}
