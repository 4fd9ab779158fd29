//! Watches that come late, end early or say things twice.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use bytes::{Bytes, BytesMut};
use futures::{StreamExt as _, stream};
use tokio::io::DuplexStream;
use tower::BoxError;

use super::component::Instance;
use super::gate::refused;
use super::{Fault, Plan};

/// The body of a watch as the component gets it.
pub(super) fn through(plan: Arc<Plan>, instance: Instance, fault: Option<&Fault>, body: Body) -> Body {
    let watch = Watch {
        plan,
        instance,
        trouble: Trouble::new(fault),
        inner: body.into_data_stream(),
        partial: BytesMut::new(),
        ready: VecDeque::new(),
        ended: false,
    };
    Body::from_stream(stream::unfold(watch, |mut watch| async move {
        let instance = watch.instance.clone();
        let next = instance.alive(watch.next()).await?;
        Some((next, watch))
    }))
}

/// A body that lasts, such as a log that is followed: it stops with the component, and with its way to the cluster.
pub(super) fn held(plan: Arc<Plan>, instance: Instance, body: Body) -> Body {
    let state = (plan, instance, body.into_data_stream());
    Body::from_stream(stream::unfold(Some(state), |state| async move {
        let (plan, instance, mut inner) = state?;
        let next = async {
            loop {
                if plan.gate.pass(&instance.name).await.is_err() {
                    return Some(Err(refused()));
                }
                tokio::select! {
                    biased;
                    () = plan.gate.cut_off(&instance.name) => {}
                    chunk = inner.next() => return chunk.map(|chunk| chunk.map_err(BoxError::from)),
                }
            }
        };
        let next = instance.alive(next).await?;
        let rest = next.is_ok().then_some((plan, instance, inner));
        Some((next, rest))
    }))
}

/// What a connection that has switched protocols goes through, such as that of an exec.
#[derive(Clone)]
pub(crate) struct Wire {
    plan: Arc<Plan>,
    instance: Instance,
}

impl Wire {
    pub(super) fn new(plan: Arc<Plan>, instance: Instance) -> Self {
        Self { plan, instance }
    }

    /// Carries bytes both ways until either end is closed, the component dies, or its way to the cluster is cut.
    pub(crate) async fn carry(self, near: DuplexStream, far: DuplexStream) {
        tokio::select! {
            () = maar_streams::carry(&self, near, far) => {}
            () = self.instance.death() => {}
        }
    }
}

/// An outage that only hangs is waited for; what is on its way goes on then.
impl maar_streams::Way for Wire {
    async fn open(&self) -> bool {
        self.plan.gate.pass(&self.instance.name).await.is_ok()
    }

    async fn shut(&self) {
        self.plan.gate.cut_off(&self.instance.name).await;
    }
}

struct Watch {
    plan: Arc<Plan>,
    instance: Instance,
    trouble: Trouble,
    inner: BodyDataStream,
    /// The beginning of a line whose end has not come yet.
    partial: BytesMut,
    /// Lines to hand on.
    ready: VecDeque<Bytes>,
    ended: bool,
}

impl Watch {
    async fn next(&mut self) -> Option<Result<Bytes, BoxError>> {
        loop {
            if self.plan.gate.pass(&self.instance.name).await.is_err() {
                self.ended = true;
                self.ready.clear();
                return Some(Err(refused()));
            }
            if !self.ready.is_empty() {
                return Some(Ok(self.ready.drain(..).flatten().collect()));
            }
            if self.ended {
                return None;
            }
            let (gate, name) = (&self.plan.gate, &self.instance.name);
            tokio::select! {
                biased;
                // An outage that only hangs holds back what is on its way: the loop waits for its end.
                () = gate.cut_off(name) => {}
                chunk = self.inner.next() => self.take(chunk).await,
            }
        }
    }

    async fn take(&mut self, chunk: Option<Result<Bytes, axum::Error>>) {
        let Some(Ok(chunk)) = chunk else {
            self.ended = true;
            return;
        };
        if let Some(wait) = self.trouble.late {
            tokio::time::sleep(wait).await;
        }
        self.partial.extend_from_slice(&chunk);
        while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
            let line = self.partial.split_to(end + 1).freeze();
            self.ended |= !self.trouble.pass(line, &mut self.ready);
            if self.ended {
                return;
            }
        }
    }
}

/// What one watch suffers from.
#[derive(Debug, Default)]
struct Trouble {
    late: Option<Duration>,
    /// How many events still come through.
    left: Option<u64>,
    /// How many events come again, and how many have come since the last time.
    repeated: usize,
    since: usize,
    recent: VecDeque<Bytes>,
}

impl Trouble {
    fn new(fault: Option<&Fault>) -> Self {
        match fault {
            Some(Fault::LateWatch(wait)) => Self { late: Some(*wait), ..Self::default() },
            Some(Fault::DroppedWatch { after }) => Self { left: Some(*after), ..Self::default() },
            Some(Fault::RepeatedWatch { events }) => Self { repeated: (*events).max(1), ..Self::default() },
            _ => Self::default(),
        }
    }

    /// Hands a line on; `false` if the watch ends here instead.
    fn pass(&mut self, line: Bytes, ready: &mut VecDeque<Bytes>) -> bool {
        if let Some(left) = &mut self.left {
            if *left == 0 {
                return false;
            }
            *left -= 1;
        }
        ready.push_back(line.clone());
        if self.repeated > 0 {
            self.recent.push_back(line);
            self.since += 1;
            if self.recent.len() > self.repeated {
                self.recent.pop_front();
            }
            // Always up to the newest event: a watch may repeat itself, but it must not end in the past.
            if self.since >= self.repeated {
                self.since = 0;
                ready.extend(self.recent.iter().cloned());
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(fault: &Fault, events: u8) -> String {
        let (mut trouble, mut ready) = (Trouble::new(Some(fault)), VecDeque::new());
        for number in 0..events {
            if !trouble.pass(Bytes::from(vec![b'a' + number]), &mut ready) {
                break;
            }
        }
        ready.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    }

    #[test]
    fn repeated_events_end_with_the_newest_one() {
        assert_eq!(played(&Fault::RepeatedWatch { events: 1 }, 3), "aabbcc");
        assert_eq!(played(&Fault::RepeatedWatch { events: 2 }, 5), "ababcdcde");
    }

    #[test]
    fn a_dropped_watch_ends_after_its_events() {
        assert_eq!(played(&Fault::DroppedWatch { after: 2 }, 5), "ab");
        assert_eq!(played(&Fault::DroppedWatch { after: 0 }, 5), "");
    }
}
