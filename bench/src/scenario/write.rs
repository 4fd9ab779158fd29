//! Creating Pods and placing them, many requests under way at a time.

use super::{Measured, Meter, Ready, make_namespace, post_all};
use crate::peer::Peer;
use crate::pods;

/// Requests under way at a time.
const LANES: usize = 32;
/// Nodes that Pods are bound to.
const NODES: usize = 100;
/// Where the Pods live.
const NAMESPACE: &str = "bench";

fn pods_path() -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/pods")
}

/// Makes the namespace and the nodes.
pub(crate) async fn prepare(peer: &Peer) -> anyhow::Result<()> {
    make_namespace(&peer.door, NAMESPACE).await?;
    let nodes: Vec<Ready> = (0..NODES)
        .map(|number| ("/api/v1/nodes".to_owned(), pods::body(&pods::node(&format!("node-{number}")))))
        .collect();
    post_all(&mut peer.door.open_many(LANES).await?, &nodes).await
}

/// Creates `count` Pods, named after the round.
pub(crate) async fn create(peer: &Peer, round: &str, count: usize) -> anyhow::Result<Measured> {
    let requests: Vec<Ready> = (0..count)
        .map(|number| (pods_path(), pods::body(&pods::pod(&format!("{round}-{number}")))))
        .collect();
    run(peer, &requests).await
}

/// Binds the Pods of the round.
pub(crate) async fn bind(peer: &Peer, round: &str, count: usize) -> anyhow::Result<Measured> {
    let requests: Vec<Ready> = (0..count)
        .map(|number| {
            let (pod, node) = (format!("{round}-{number}"), format!("node-{}", number % NODES));
            (format!("{}/{pod}/binding", pods_path()), pods::body(&pods::binding(&pod, &node)))
        })
        .collect();
    run(peer, &requests).await
}

async fn run(peer: &Peer, requests: &[Ready]) -> anyhow::Result<Measured> {
    let mut lanes = peer.door.open_many(LANES).await?;
    let meter = Meter::start(peer)?;
    post_all(&mut lanes, requests).await?;
    meter.stop(requests.len())
}
