//! Events are forgotten an hour after they were last written.

use std::sync::Arc;

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Event as CoreEvent;
use serde::Deserialize;

use super::base::{self, Base};
use super::view::until;
use super::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};
use crate::verbs::DeleteOptions;

const KEPT: SignedDuration = SignedDuration::from_hours(1);

#[derive(Debug)]
pub(crate) struct EventTtl {
    base: Base,
}

/// The times an Event carries.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Times {
    metadata: Created,
    last_timestamp: Option<Timestamp>,
    event_time: Option<Timestamp>,
    series: Option<Series>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Created {
    creation_timestamp: Option<Timestamp>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Series {
    last_observed_time: Option<Timestamp>,
}

impl Times {
    fn last(&self) -> Option<Timestamp> {
        let observed = self.series.as_ref().and_then(|series| series.last_observed_time);
        [self.metadata.creation_timestamp, self.last_timestamp, self.event_time, observed]
            .into_iter()
            .flatten()
            .max()
    }
}

impl EventTtl {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        Self { base: Base::new(server, "event-ttl") }
    }

    async fn sync(&self, namespace: &str, name: &str) -> Result<Again, ApiError> {
        let Some(entry) = self.base.local.entry::<CoreEvent>(namespace, name) else { return Ok(None) };
        let Some(last) = entry.typed::<Times>().and_then(|times| times.last()) else { return Ok(None) };
        let now = self.base.now();
        let end = last.saturating_add(KEPT).unwrap_or(Timestamp::MAX);
        if end > now {
            return Ok(Some(until(end, now)));
        }
        self.base.local.delete::<CoreEvent>(namespace, name, &DeleteOptions::default()).await?;
        Ok(None)
    }
}

impl Controller for EventTtl {
    fn name(&self) -> &'static str {
        "event-ttl"
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["events"]
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        // A later write moves the end: that is seen when the first end comes.
        if event.deleted || event.previous.is_some() { Vec::new() } else { vec![base::own_key(table, event)] }
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.namespace(), key.name()))
    }
}
