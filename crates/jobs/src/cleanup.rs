//! Clean-up: applies the policies of accounts to jobs and workspaces.
//!
//! [`policy`](crate::policy) says what is to become of one piece of work. [`finding`] looks at everything and says it of
//! all, for the preview and for the controller alike, so that both always agree. [`reconcile`] writes: a warning into the
//! status (`cleanup`, condition `CleanupDue`), for people as an annotation and an event, and at last `ending`, upon which
//! the controllers of jobs and workspaces stop the Pods with their usual manners. How much cards are used comes from a
//! [`CardUse`]: Prometheus, or the nodes themselves.

mod card_use;
mod exposition;
mod finding;
mod nightly;
mod nodes;
mod prometheus;
mod reconcile;
mod words;

pub use card_use::{CardUse, Readings, UseError, Uses, uses_of};
pub use exposition::samples;
pub(crate) use finding::is_fresh;
pub use finding::{Everything, Finding, Kind, findings};
pub(crate) use nightly::run as nights;
pub use nightly::{ANNOTATION_SUSPENDED_BY, Night, Nightly, suspend};
pub use nodes::{NodeCards, node_metrics};
pub use prometheus::{Points, Prometheus, PrometheusError, Series};
pub(crate) use reconcile::Cleanup;
pub(crate) use words::{ending, suspended_by};
