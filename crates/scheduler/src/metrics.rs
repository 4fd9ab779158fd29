//! Every metric of the scheduler.

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

/// Label: how a write ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ResultLabel {
    /// `done`, or what went wrong in one word.
    pub result: &'static str,
}

/// Label: where Pods stand.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StateLabel {
    /// `pending`, `held`, `placed` or `refused`.
    pub state: &'static str,
}

/// Label: why groups wait.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ReasonLabel {
    /// One word of a short list, as in the status of jobs.
    pub reason: &'static str,
}

/// Metrics of the scheduler. Clones count together.
#[derive(Debug, Clone)]
pub struct SchedulerMetrics {
    /// Binds that ended, by result.
    pub binds: Family<ResultLabel, Counter>,
    /// How long binds took, from sending to the answer.
    pub bind_time: Histogram,
    /// Binds under way.
    pub binding: Gauge,
    /// From the making of a Pod to its bind.
    pub start_time: Histogram,
    /// How long a pass took.
    pub pass_time: Histogram,
    /// Pods by state.
    pub pods: Family<StateLabel, Gauge>,
    /// Evictions that ended, by result.
    pub evictions: Family<ResultLabel, Counter>,
    /// Pods stopped because another was given their card before them.
    pub conflicts: Counter,
    /// Groups that wait.
    pub groups: Gauge,
    /// Groups that wait, by reason.
    pub waiting: Family<ReasonLabel, Gauge>,
    /// Nodes that are known.
    pub nodes: Gauge,
}

impl SchedulerMetrics {
    /// Adds the metrics to those of a process; once, however often the role leads.
    pub fn register(registry: &Metrics) -> Self {
        let metrics = Self {
            binds: Family::default(),
            bind_time: Histogram::new(exponential_buckets(0.001, 2.0, 14)),
            binding: Gauge::default(),
            start_time: Histogram::new(exponential_buckets(0.01, 4.0, 12)),
            pass_time: Histogram::new(exponential_buckets(0.000_1, 4.0, 10)),
            pods: Family::default(),
            evictions: Family::default(),
            conflicts: Counter::default(),
            groups: Gauge::default(),
            waiting: Family::default(),
            nodes: Gauge::default(),
        };
        let seconds = || Some(Unit::Seconds);
        let help = "Binds that ended, by result: done, refused (the server will not have it), unknown (no answer \
                    yet; its place is kept, and it is counted again when it is known), stopped (this process leads no more)";
        registry.register("scheduler_binds", help, None, metrics.binds.clone());
        let help = "Time of a bind, retries included";
        registry.register("scheduler_bind", help, seconds(), metrics.bind_time.clone());
        registry.register("scheduler_binds_under_way", "Binds under way", None, metrics.binding.clone());
        let help = "Time from the making of a Pod to its bind";
        registry.register("scheduler_start", help, seconds(), metrics.start_time.clone());
        let help = "Time of one scheduling pass";
        registry.register("scheduler_pass", help, seconds(), metrics.pass_time.clone());
        let help = "Pods of this scheduler by state: pending, held (gates, volumes, a group that is not there), \
                    placed, refused (cannot be understood)";
        registry.register("scheduler_pods", help, None, metrics.pods.clone());
        let help = "Evictions that ended, by result: done, refused, withdrawn (nobody needs the place any more), stopped";
        registry.register("scheduler_evictions", help, None, metrics.evictions.clone());
        let help =
            "Pods stopped because another was given their card before them: a bind arrived after all limits";
        registry.register("scheduler_card_conflicts", help, None, metrics.conflicts.clone());
        registry.register(
            "scheduler_groups_pending",
            "Groups with Pods that wait",
            None,
            metrics.groups.clone(),
        );
        let help = "Groups that wait, by reason: Suspended, UnknownGroup, WaitingForPods, LimitReached, NoRoom, NeverFits, \
                    MakingRoom, DeadlinePassed, Next; looked at a few at a time, each every half minute at most";
        registry.register("scheduler_waiting", help, None, metrics.waiting.clone());
        registry.register("scheduler_nodes", "Nodes that are known", None, metrics.nodes.clone());
        metrics
    }
}
