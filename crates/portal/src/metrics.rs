//! Every metric of the portal.

use std::time::Duration;

use maar_controller::metrics::Metrics;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Unit,
};

/// Labels: a route by its name, and how it was answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// The name of the route, as in the API's document; never the path, which holds names of people.
    pub route: &'static str,
    /// The status.
    pub code: u16,
}

/// Label: a route by its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RouteLabel {
    /// The name of the route.
    pub route: &'static str,
}

/// Label: what is open.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OpenLabel {
    /// The name of the route.
    pub route: &'static str,
}

/// Label: what the portal holds of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct CacheLabel {
    /// The kind of object, such as `pods`.
    pub cache: &'static str,
}

/// Label: how something ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OutcomeLabel {
    /// `accepted` or `refused`.
    pub outcome: &'static str,
}

/// Label: which way bytes went.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct DirectionLabel {
    /// `received` from a client or `sent` to it.
    pub direction: &'static str,
}

/// Metrics of the portal. Clones count together.
#[derive(Debug, Clone)]
pub struct PortalMetrics {
    /// Requests by route and status.
    pub requests: Family<RequestLabels, Counter>,
    /// Until the head of the answer was there.
    pub latency: Family<RouteLabel, Histogram, fn() -> Histogram>,
    /// Bodies that are being sent: streams of changes, logs, drains, terminals.
    pub open: Family<OpenLabel, Gauge>,
    /// Looks at the cards that failed.
    pub card_failures: Counter,
    /// When the cards were last looked at, in seconds since 1970.
    pub card_time: Gauge,
    /// Sessions that are neither ended nor expired, of all portals that share the records.
    pub sessions: Gauge,
    /// Terminals that are open here.
    pub terminals: Gauge,
    /// Objects that pages are made from.
    pub cache_objects: Family<CacheLabel, Gauge>,
    /// When a cache last heard of a change, in seconds since 1970.
    pub cache_time: Family<CacheLabel, Gauge>,
    /// Changes that were begun by a portal that did not live to tell how they ended.
    pub lost: Counter,
    /// Tries to come by SSH.
    pub ssh_logins: Family<OutcomeLabel, Counter>,
    /// Connections by SSH that are open.
    pub ssh_connections: Gauge,
    /// Bytes of connections by SSH that have ended.
    pub ssh_traffic: Family<DirectionLabel, Counter>,
}

impl Default for PortalMetrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            latency: Family::new_with_constructor(latency),
            open: Family::default(),
            card_failures: Counter::default(),
            card_time: Gauge::default(),
            sessions: Gauge::default(),
            terminals: Gauge::default(),
            cache_objects: Family::default(),
            cache_time: Family::default(),
            lost: Counter::default(),
            ssh_logins: Family::default(),
            ssh_connections: Gauge::default(),
            ssh_traffic: Family::default(),
        }
    }
}

/// From half a millisecond to about 16 seconds.
fn latency() -> Histogram {
    Histogram::new(exponential_buckets(0.0005, 2.0, 16))
}

impl PortalMetrics {
    /// Adds them to those of a process.
    pub fn register(&self, registry: &Metrics) {
        let help = "Requests to the portal, by route (its name in the API's document) and status";
        registry.register("portal_requests", help, None, self.requests.clone());
        let help = "Time from a request to the head of its answer, by route";
        registry.register("portal_request", help, Some(Unit::Seconds), self.latency.clone());
        let help = "Answers that are being sent, by route: streams of changes, logs and terminals stay open for long";
        registry.register("portal_open_answers", help, None, self.open.clone());
        let help = "Looks at the cards that failed; the heat map shows none after three minutes";
        registry.register("portal_card_failures", help, None, self.card_failures.clone());
        let help = "When the cards were last read, in seconds since 1970; 0 if never";
        registry.register("portal_card_read_time", help, Some(Unit::Seconds), self.card_time.clone());
        let help = "Sessions that are neither ended nor expired, of all portals that share the records";
        registry.register("portal_sessions", help, None, self.sessions.clone());
        let help = "Terminals that are open";
        registry.register("portal_terminals", help, None, self.terminals.clone());
        let help = "Objects that pages are made from, by kind";
        registry.register("portal_cache_objects", help, None, self.cache_objects.clone());
        let help =
            "When the cache of a kind last heard of a change, in seconds since 1970; quiet kinds hear seldom";
        registry.register("portal_cache_change_time", help, Some(Unit::Seconds), self.cache_time.clone());
        let help =
            "Changes that a portal began and did not live to tell of; the audit log has them as unknown";
        registry.register("portal_unfinished_changes", help, None, self.lost.clone());
        let help = "Tries to come by SSH, by outcome: accepted or refused";
        registry.register("portal_ssh_logins", help, None, self.ssh_logins.clone());
        let help = "Connections by SSH that are open";
        registry.register("portal_ssh_connections", help, None, self.ssh_connections.clone());
        let help = "Bytes carried by connections by SSH that have ended, by direction";
        registry.register("portal_ssh_traffic", help, Some(Unit::Bytes), self.ssh_traffic.clone());
    }

    pub(crate) fn answered(&self, route: &'static str, code: u16, took: Duration) {
        self.requests.get_or_create(&RequestLabels { route, code }).inc();
        self.latency.get_or_create(&RouteLabel { route }).observe(took.as_secs_f64());
    }

    pub(crate) fn ssh_login(&self, outcome: &'static str) {
        self.ssh_logins.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    pub(crate) fn ssh_bytes(&self, direction: &'static str, count: u64) {
        self.ssh_traffic.get_or_create(&DirectionLabel { direction }).inc_by(count);
    }

    /// Counts an answer as open until what is returned is dropped.
    pub(crate) fn open(&self, route: &'static str) -> Open {
        let gauge = self.open.get_or_create(&OpenLabel { route }).clone();
        gauge.inc();
        Open(gauge)
    }

    /// Counts a terminal as open until what is returned is dropped.
    pub(crate) fn terminal(&self) -> Open {
        self.terminals.inc();
        Open(self.terminals.clone())
    }
}

/// An answer that is being sent, or a terminal.
#[derive(Debug)]
pub(crate) struct Open(Gauge);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_route_and_code() {
        let (registry, metrics) = (Metrics::new(), PortalMetrics::default());
        metrics.register(&registry);
        metrics.answered("listNodes", 200, Duration::from_millis(3));
        let open = metrics.open("streamChanges");
        let text = registry.encode();
        assert!(text.contains("maar_portal_requests_total{route=\"listNodes\",code=\"200\"} 1"), "{text}");
        assert!(text.contains("maar_portal_request_seconds_count{route=\"listNodes\"} 1"), "{text}");
        assert!(text.contains("maar_portal_open_answers{route=\"streamChanges\"} 1"), "{text}");
        let label = CacheLabel { cache: "pods" };
        metrics.cache_objects.get_or_create(&label).set(7);
        metrics.terminals.inc();
        let text = registry.encode();
        assert!(text.contains("maar_portal_cache_objects{cache=\"pods\"} 7"), "{text}");
        assert!(
            text.contains("maar_portal_terminals 1") && text.contains("maar_portal_sessions 0"),
            "{text}"
        );
        drop(open);
        assert!(registry.encode().contains("maar_portal_open_answers{route=\"streamChanges\"} 0"));
    }
}
