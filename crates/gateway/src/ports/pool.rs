//! Connections to apps that are kept for the next request of the same visitor.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::body::Body;
use hyper::client::conn::http1::SendRequest;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::Visit;

/// How long a connection is kept that nobody uses.
pub(super) const IDLE: Duration = Duration::from_secs(20);
/// How many are kept for one visitor of one app.
const MOST: usize = 8;

type Sender = SendRequest<Body>;

/// Connections by visit: two visitors never share one, so that what one leaves behind reaches no other.
#[derive(Clone, Default)]
pub(super) struct Pool(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// With the time since when each is not used; the one that was used last is the last.
    kept: HashMap<Visit, Vec<(Sender, Instant)>>,
    /// Whether somebody takes out what is too old.
    swept: bool,
}

impl Pool {
    /// One that is ready and was used within this time, if there is one.
    pub(super) fn take(&self, visit: &Visit, within: Duration) -> Option<Sender> {
        let mut state = self.0.lock();
        let kept = state.kept.get_mut(visit)?;
        while let Some((sender, _)) = kept.pop_if(|(_, since)| since.elapsed() < within) {
            if sender.is_ready() {
                return Some(sender);
            }
        }
        None
    }

    /// Keeps one as soon as it can take another request.
    pub(super) fn keep(&self, visit: Visit, mut sender: Sender) {
        let pool = self.clone();
        tokio::spawn(async move {
            if sender.ready().await.is_ok() && pool.put(visit, sender) {
                pool.sweep().await;
            }
        });
    }

    /// Whether whoever puts it there has to sweep from now on.
    fn put(&self, visit: Visit, sender: Sender) -> bool {
        let mut state = self.0.lock();
        let kept = state.kept.entry(visit).or_default();
        if kept.len() >= MOST {
            kept.remove(0);
        }
        kept.push((sender, Instant::now()));
        !std::mem::replace(&mut state.swept, true)
    }

    /// Lets go what nobody has used for long, for as long as there is anything: one task for all connections, and not
    /// one for every request.
    async fn sweep(&self) {
        loop {
            sleep(IDLE).await;
            let mut state = self.0.lock();
            state.kept.retain(|_, kept| {
                kept.retain(|(sender, since)| since.elapsed() < IDLE && !sender.is_closed());
                !kept.is_empty()
            });
            if state.kept.is_empty() {
                state.swept = false;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::client::conn::http1::handshake;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, DuplexStream, duplex};

    use super::*;

    fn visit(id: &str) -> Visit {
        Visit { id: id.to_owned(), namespace: "n".to_owned(), pod: "p".to_owned(), port: 8888 }
    }

    /// A connection, and its other end.
    async fn connection() -> (Sender, DuplexStream) {
        let (near, far) = duplex(1024);
        let (mut sender, connection) = handshake(TokioIo::new(near)).await.unwrap();
        tokio::spawn(connection);
        sender.ready().await.unwrap();
        (sender, far)
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_kept_for_its_visitor_and_for_a_while() {
        let (pool, own) = (Pool::default(), visit("own"));
        let (sender, mut far) = connection().await;
        pool.keep(own.clone(), sender);
        sleep(Duration::from_secs(2)).await;
        assert!(pool.take(&visit("other"), IDLE).is_none(), "of another");
        assert!(pool.take(&own, Duration::from_secs(1)).is_none(), "not young enough");
        let sender = pool.take(&own, IDLE).expect("it is kept");
        assert!(pool.take(&own, IDLE).is_none(), "it is taken");
        pool.keep(own.clone(), sender);
        // Closed, though nobody has asked for it again.
        assert_eq!(far.read(&mut [0]).await.unwrap(), 0);
        assert!(pool.0.lock().kept.is_empty() && !pool.0.lock().swept);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_closed_is_not_given_and_there_is_a_most() {
        let (pool, own) = (Pool::default(), visit("own"));
        let (sender, far) = connection().await;
        pool.keep(own.clone(), sender);
        drop(far);
        sleep(Duration::from_millis(1)).await;
        assert!(pool.take(&own, IDLE).is_none());
        let mut ends = Vec::new();
        for _ in 0..=MOST {
            let (sender, far) = connection().await;
            pool.keep(own.clone(), sender);
            ends.push(far);
        }
        sleep(Duration::from_millis(1)).await;
        assert_eq!(pool.0.lock().kept[&own].len(), MOST);
        assert_eq!(ends[0].read(&mut [0]).await.unwrap(), 0, "the oldest goes");
    }
}
