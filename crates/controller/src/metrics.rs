//! Every metric of this crate, with help text and unit, and the registry that all roles share.
//!
//! Other crates add theirs with [`Metrics::register`]; the metrics reference is generated from
//! [`Metrics::descriptions`], so there is no second list to keep.

use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Metric, Registry, Unit},
};

use parking_lot::Mutex;

/// All metrics of a process.
#[derive(Debug)]
pub struct Metrics {
    registry: Mutex<Registry>,
    descriptions: Mutex<Vec<Description>>,
    /// Of worker pools.
    pub pool: PoolMetrics,
    /// Of leader election.
    pub lease: LeaseMetrics,
    /// Of watches.
    pub watch: WatchMetrics,
    /// Of Kubernetes events.
    pub events: EventMetrics,
}

/// One line of the metrics reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Name as scraped, without the suffixes of counters and histograms.
    pub name: String,
    /// What it tells.
    pub help: &'static str,
    /// What is counted or measured, where that is not a plain number.
    pub unit: Option<String>,
}

/// Label: the name of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct PoolLabel {
    /// The pool.
    pub pool: &'static str,
}

/// Labels: the name of a pool and how work ended there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct PoolResultLabels {
    /// The pool.
    pub pool: &'static str,
    /// `done` or the category of the failure.
    pub result: &'static str,
}

type HistogramFamily<L> = Family<L, Histogram, fn() -> Histogram>;

/// Metrics of worker pools.
#[derive(Debug, Clone)]
pub struct PoolMetrics {
    /// Keys ready to be worked on.
    pub depth: Family<PoolLabel, Gauge>,
    /// Keys being worked on.
    pub running: Family<PoolLabel, Gauge>,
    /// Time between a key becoming ready and work on it starting.
    pub wait: HistogramFamily<PoolLabel>,
    /// Time one piece of work took.
    pub work: HistogramFamily<PoolLabel>,
    /// Ended pieces of work.
    pub results: Family<PoolResultLabels, Counter>,
}

/// Label: the name of a lease.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct LeaseLabel {
    /// The lease.
    pub lease: String,
}

/// Labels: the name of a lease and how an attempt to write it ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct LeaseResultLabels {
    /// The lease.
    pub lease: String,
    /// `done` or the category of the failure.
    pub result: &'static str,
}

/// Metrics of leader election.
#[derive(Debug, Clone)]
pub struct LeaseMetrics {
    /// Whether this process leads.
    pub leader: Family<LeaseLabel, Gauge>,
    /// Attempts to take or renew the lease.
    pub writes: Family<LeaseResultLabels, Counter>,
}

/// Label: the name of a watch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct WatchLabel {
    /// The watch.
    pub watch: &'static str,
}

/// Labels: the name of a watch and why it broke.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct WatchFailureLabels {
    /// The watch.
    pub watch: &'static str,
    /// The category of the failure.
    pub category: &'static str,
}

/// Metrics of watches.
#[derive(Debug, Clone)]
pub struct WatchMetrics {
    /// Whether the watch is connected and has delivered a whole list.
    pub synced: Family<WatchLabel, Gauge>,
    /// Changes received.
    pub changes: Family<WatchLabel, Counter>,
    /// Whole lists read.
    pub lists: Family<WatchLabel, Counter>,
    /// Broken or refused connections.
    pub failures: Family<WatchFailureLabels, Counter>,
    /// Objects that could not be decoded.
    pub malformed: Family<WatchLabel, Counter>,
}

/// Label: what became of an event.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct EventLabel {
    /// `created`, `merged`, `limited`, `overflowed` or `failed`.
    pub result: &'static str,
}

/// Metrics of Kubernetes events.
#[derive(Debug, Clone)]
pub struct EventMetrics {
    /// Events by what became of them.
    pub events: Family<EventLabel, Counter>,
}

/// From 1 ms to about 70 minutes.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 4.0, 12))
}

fn histogram<L: Clone + std::hash::Hash + Eq>() -> HistogramFamily<L> {
    Family::new_with_constructor(seconds)
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// An own registry with this crate's metrics in it.
    pub fn new() -> Self {
        let metrics = Self {
            registry: Mutex::new(Registry::with_prefix("maar")),
            descriptions: Mutex::default(),
            pool: PoolMetrics {
                depth: Family::default(),
                running: Family::default(),
                wait: histogram(),
                work: histogram(),
                results: Family::default(),
            },
            lease: LeaseMetrics { leader: Family::default(), writes: Family::default() },
            watch: WatchMetrics {
                synced: Family::default(),
                changes: Family::default(),
                lists: Family::default(),
                failures: Family::default(),
                malformed: Family::default(),
            },
            events: EventMetrics { events: Family::default() },
        };
        metrics.register_pool();
        metrics.register_others();
        metrics
    }

    fn register_pool(&self) {
        let pool = &self.pool;
        self.register("pool_depth", "Keys ready to be worked on", None, pool.depth.clone());
        self.register("pool_running", "Keys being worked on", None, pool.running.clone());
        let help = "Time from a key becoming ready to work on it starting";
        self.register("pool_wait", help, Some(Unit::Seconds), pool.wait.clone());
        self.register("pool_work", "Time one piece of work took", Some(Unit::Seconds), pool.work.clone());
        let help = "Ended pieces of work, by pool and result (done or the category of the failure)";
        self.register("pool_results", help, None, pool.results.clone());
    }

    fn register_others(&self) {
        let (lease, watch) = (&self.lease, &self.watch);
        self.register(
            "lease_leader",
            "1 while this process holds the lease, else 0",
            None,
            lease.leader.clone(),
        );
        let help = "Attempts to take or renew the lease, by result (done or the category of the failure)";
        self.register("lease_writes", help, None, lease.writes.clone());
        let help = "1 while the watch is connected and its objects are complete, else 0";
        self.register("watch_synced", help, None, watch.synced.clone());
        self.register("watch_changes", "Changes received by the watch", None, watch.changes.clone());
        self.register("watch_lists", "Whole lists read by the watch", None, watch.lists.clone());
        let help = "Refused or broken connections of the watch, by category";
        self.register("watch_failures", help, None, watch.failures.clone());
        let help = "Objects received by the watch that could not be decoded";
        self.register("watch_malformed", help, None, watch.malformed.clone());
        let help = "Kubernetes events by what became of them: created, merged into a series, limited by rate, \
                    overflowed because the queue was full, or failed";
        self.register("events", help, None, self.events.events.clone());
    }

    /// Adds a metric. The registry puts `maar_` in front of the name and the unit behind it.
    pub fn register(&self, name: &str, help: &'static str, unit: Option<Unit>, metric: impl Metric) {
        let suffix = unit.as_ref().map(|unit| format!("_{}", unit.as_str())).unwrap_or_default();
        self.descriptions.lock().push(Description {
            name: format!("maar_{name}{suffix}"),
            help,
            unit: unit.as_ref().map(|unit| unit.as_str().to_owned()),
        });
        let mut registry = self.registry.lock();
        match unit {
            Some(unit) => registry.register_with_unit(name, help, unit, metric),
            None => registry.register(name, help, metric),
        }
    }

    /// What is registered, in the order of the names.
    pub fn descriptions(&self) -> Vec<Description> {
        let mut descriptions = self.descriptions.lock().clone();
        descriptions.sort_by(|left, right| left.name.cmp(&right.name));
        descriptions
    }

    /// The text a scraper reads.
    pub fn encode(&self) -> String {
        let mut body = String::new();
        text::encode(&mut body, &self.registry.lock()).expect("writing into a String does not fail");
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_lists_every_metric_with_help() {
        let metrics = Metrics::new();
        let lines: Vec<String> = metrics
            .descriptions()
            .into_iter()
            .map(|one| format!("{} [{}]: {}", one.name, one.unit.unwrap_or_default(), one.help))
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn scraped_names_are_those_of_the_reference() {
        let metrics = Metrics::new();
        metrics.pool.wait.get_or_create(&PoolLabel { pool: "pods" }).observe(0.5);
        metrics.pool.results.get_or_create(&PoolResultLabels { pool: "pods", result: "done" }).inc();
        let body = metrics.encode();
        assert!(body.contains("maar_pool_results_total{pool=\"pods\",result=\"done\"} 1"), "{body}");
        assert!(body.contains("maar_pool_wait_seconds_count{pool=\"pods\"} 1"), "{body}");
        let described: Vec<String> = metrics.descriptions().into_iter().map(|one| one.name).collect();
        let scraped: Vec<&str> =
            body.lines().filter_map(|line| line.strip_prefix("# HELP ")?.split(' ').next()).collect();
        assert!(scraped.len() >= 2);
        for name in scraped {
            assert!(described.iter().any(|one| one == name), "{name} is not in the reference");
        }
    }
}
