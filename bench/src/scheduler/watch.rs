//! When Pods got their nodes: one watch, the same for every contender, of Pods that have one, metadata only.

use bytes::BytesMut;
use http::Method;
use http_body_util::{BodyExt as _, Either};
use tokio::time::Instant;

use super::stage::NAMESPACE;
use crate::client::{Answer, Door};

/// Counts Pods as they get their nodes.
pub(crate) struct Bound {
    body: Either<hyper::body::Incoming, kube::client::Body>,
    rest: BytesMut,
}

/// When Pods got their nodes.
#[derive(Debug)]
pub(crate) struct Times {
    pub(crate) first: Instant,
    pub(crate) last: Instant,
    /// The CPU time of the contender at the first.
    pub(crate) cpu: Option<f64>,
}

impl Bound {
    /// Begins to watch; there must be no Pods with nodes yet.
    pub(crate) async fn begin(door: &Door) -> anyhow::Result<Self> {
        let mut lane = door.open().await?;
        let list = lane.get(&format!("/api/v1/namespaces/{NAMESPACE}/pods?limit=1")).await?;
        let version = list["metadata"]["resourceVersion"].as_str().unwrap_or("0").to_owned();
        let path = format!(
            "/api/v1/namespaces/{NAMESPACE}/pods?watch=true&resourceVersion={version}&fieldSelector=spec.nodeName%21%3D"
        );
        let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        let answer: Answer = lane.send_as(Method::GET, &path, accept).await?;
        Ok(Self { body: answer.into_body(), rest: BytesMut::new() })
    }

    /// Waits until so many Pods have their nodes. `cpu` is asked when the first has.
    pub(crate) async fn until(
        mut self,
        count: usize,
        cpu: impl Fn() -> anyhow::Result<Option<f64>>,
    ) -> anyhow::Result<Times> {
        let mut seen = 0;
        let mut times = None;
        loop {
            let frame = self.body.frame().await.ok_or_else(|| anyhow::anyhow!("the watch has ended"))?;
            let frame = frame.map_err(anyhow::Error::from_boxed)?;
            let Some(data) = frame.data_ref() else { continue };
            self.rest.extend_from_slice(data);
            seen += self.take_lines();
            if seen == 0 {
                continue;
            }
            let now = Instant::now();
            let times = match &mut times {
                Some(times) => times,
                none => none.insert(Times { first: now, last: now, cpu: cpu()? }),
            };
            times.last = now;
            if seen >= count {
                return Ok(Times { ..*times });
            }
        }
    }

    /// Takes whole lines out of what came; answers how many Pods got a node.
    fn take_lines(&mut self) -> usize {
        let mut seen = 0;
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line = self.rest.split_to(end + 1);
            seen += usize::from(line.starts_with(b"{\"type\":\"ADDED\""));
        }
        seen
    }
}
