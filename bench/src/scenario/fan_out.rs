//! Many watchers of one namespace, all of which are told of every new Pod.

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use futures::future::try_join_all;
use http::Method;
use http_body_util::BodyExt as _;

use super::{Measured, Meter, Ready, make_namespace, post_all};
use crate::client::{Answer, Lane};
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
    let mut watchers = peer.door.open_many(WATCHERS).await?;
    let begin = |lane| begin(lane, &watch);
    let streams = try_join_all(watchers.iter_mut().map(begin)).await?;
    let meter = Meter::start(peer)?;
    // Watchers are tasks of their own, so that each is woken alone.
    let reading: Vec<_> =
        streams.into_iter().map(|stream| tokio::spawn(count_events(stream, count))).collect();
    post_all(&mut writers, &requests).await?;
    for reader in reading {
        reader.await??;
    }
    meter.stop(count * WATCHERS)
}

async fn begin(lane: &mut Lane, path: &str) -> anyhow::Result<Answer> {
    lane.send(Method::GET, path, Bytes::new()).await
}

/// Reads lines, each of which is an event, until there were enough.
async fn count_events(stream: Answer, wanted: usize) -> anyhow::Result<()> {
    let mut body = stream.into_body();
    let mut seen = 0;
    while seen < wanted {
        let frame = body.frame().await.context("a watch ended early")?.map_err(anyhow::Error::from_boxed)?;
        let data = frame.into_data().unwrap_or_default();
        seen += lines(&data);
    }
    ensure!(seen == wanted, "a watcher saw {seen} events instead of {wanted}");
    Ok(())
}

/// The number of line ends. Written so that the compiler counts many bytes at a time.
fn lines(data: &[u8]) -> usize {
    let counted = data.chunks(255).map(|chunk| chunk.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>());
    counted.map(usize::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_across_chunks() {
        assert_eq!(lines(b""), 0);
        assert_eq!(lines("a\n".repeat(1000).as_bytes()), 1000);
        assert_eq!(lines(&[b'\n'; 600]), 600);
    }
}
