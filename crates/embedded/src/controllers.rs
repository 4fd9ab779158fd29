//! The built-in controllers: what kube-controller-manager and kube-scheduler do, as far as Maar's tests and
//! `maar up` need it. Each is one folder or file with a pure part (what should be) and a [`Controller`] around it.

mod runner;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

pub(crate) use runner::run;

use crate::status::ApiError;
use crate::store::{Event, Key};

/// When to look at an object again although nothing changed.
pub(crate) type Again = Option<Duration>;

/// One control loop. All reconciles of one controller run one after another, in the order keys became due.
pub(crate) trait Controller: Send + Sync + 'static {
    /// Its name, also the name its changes carry.
    fn name(&self) -> &'static str;

    /// The tables it follows.
    fn tables(&self) -> Vec<&'static str>;

    /// The keys to look at because of an event, usually the object itself or its owner. Must be cheap: called
    /// for every event of the tables above. Any `Key` will do, also of another table, also synthetic.
    fn keys(&self, table: &str, event: &Event) -> Vec<Key>;

    /// Brings the world closer to what the object asks for. Called again with back-off on errors.
    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>>;
}

/// A controller behind a pointer.
pub(crate) type BoxController = Arc<dyn Controller>;

/// Every built-in controller.
pub(crate) fn all(_server: &Arc<crate::server::Server>) -> Vec<BoxController> {
    Vec::new()
}
