//! Many watchers of one namespace, all of which are told of every new Pod.

use anyhow::{Context as _, ensure};
use futures::future::try_join_all;

use super::{Measured, Meter, Ready, make_namespace, post_all};
use crate::client::Watch;
use crate::peer::Peer;
use crate::pods;

const WATCHERS: usize = 50;
const WRITERS: usize = 16;

/// Creates `count` Pods in a new namespace under the eyes of 50 watchers; a thing done is an event received by one.
pub(crate) async fn fan_out(peer: &Peer, round: &str, count: usize) -> anyhow::Result<Measured> {
    let namespace = format!("fan-{round}");
    make_namespace(&peer.door, &namespace).await?;
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    let requests: Vec<Ready> =
        (0..count).map(|number| (path.clone(), pods::body(&pods::pod(&format!("pod-{number}"))))).collect();
    let mut writers = peer.door.open_many(WRITERS).await?;
    let list = writers[0].get(&path).await?;
    let revision = list["metadata"]["resourceVersion"].as_str().context("a list without a revision")?;
    let watch = format!("{path}?watch=1&resourceVersion={revision}");
    let watchers = try_join_all((0..WATCHERS).map(|_| peer.door.watch(&watch))).await?;
    let meter = Meter::start(peer)?;
    // Watchers are tasks of their own, so that each is woken alone.
    let reading: Vec<_> =
        watchers.into_iter().map(|watch| tokio::spawn(count_events(watch, count))).collect();
    post_all(&mut writers, &requests).await?;
    for reader in reading {
        reader.await??;
    }
    meter.stop(count * WATCHERS)
}

/// Reads until there were enough events.
async fn count_events(mut watch: Watch, wanted: usize) -> anyhow::Result<()> {
    let mut seen = 0;
    while seen < wanted {
        seen += watch.lines().await?;
    }
    ensure!(seen == wanted, "a watcher saw {seen} events instead of {wanted}");
    Ok(())
}
