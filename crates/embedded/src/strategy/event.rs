//! Events, in the form of the core group and of `events.k8s.io`.

use serde_json::Value;

use super::Strategy;

/// The strategy of Events.
#[derive(Debug)]
pub(crate) struct Event;

impl Strategy for Event {}
