//! Whether a component reaches the cluster at all.

use std::collections::BTreeMap;
use std::io;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tower::BoxError;

/// How a cluster is out of reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// Connections are refused, and those that stood are cut: watches end with an error.
    Refuse,
    /// Nothing comes back: requests and watches hang until the outage is over, then they go on.
    Hang,
}

/// Who is cut off, and how. The empty name stands for everybody.
#[derive(Debug, Default)]
pub(super) struct Gate {
    outages: Mutex<BTreeMap<String, Outage>>,
    changed: Notify,
}

impl Gate {
    pub(super) fn cut(&self, component: Option<&str>, outage: Outage) {
        self.outages.lock().insert(component.unwrap_or_default().to_owned(), outage);
        self.changed.notify_waiters();
    }

    pub(super) fn heal(&self) {
        self.outages.lock().clear();
        self.changed.notify_waiters();
    }

    pub(super) fn outage(&self, component: &str) -> Option<Outage> {
        let outages = self.outages.lock();
        outages.get(component).or_else(|| outages.get("")).copied()
    }

    /// Waits until the component is connected, or says that it is refused.
    pub(super) async fn pass(&self, component: &str) -> Result<(), BoxError> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before looking, so that no change can slip in between.
            changed.as_mut().enable();
            match self.outage(component) {
                None => return Ok(()),
                Some(Outage::Refuse) => return Err(refused()),
                Some(Outage::Hang) => changed.await,
            }
        }
    }

    /// Waits until the component is cut off.
    pub(super) async fn cut_off(&self, component: &str) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.outage(component).is_some() {
                return;
            }
            changed.await;
        }
    }
}

/// What a client sees of a cluster that is not there.
pub(super) fn refused() -> BoxError {
    io::Error::new(io::ErrorKind::ConnectionRefused, "the cluster is disconnected (injected)").into()
}

/// What a client sees of an answer that never came.
pub(super) fn timed_out() -> BoxError {
    io::Error::new(io::ErrorKind::TimedOut, "no answer came in time (injected)").into()
}
