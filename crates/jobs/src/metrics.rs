//! Every metric of jobs. How reconciles end is among those of all pools (`maar_pool_results`).

use std::{collections::BTreeMap, convert::Infallible, time::Duration};

use maar_api::v1alpha1::CleanupRule;
use maar_controller::{Context, metrics::Metrics};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
};
use tokio::time::sleep;

use crate::views::Views;

/// How often objects are counted.
const COUNT: Duration = Duration::from_secs(15);

/// Label: a phase.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, EncodeLabelSet)]
pub struct PhaseLabel {
    /// Such as `Running`; `Malformed` for what cannot be read.
    pub phase: String,
}

/// Labels: what clean-up did, and by which rule.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct CleanupLabels {
    /// `warned`, `taken-back` or `ended`.
    pub action: &'static str,
    /// `LongRunning`, `Idle` or `Waiting`.
    pub rule: String,
}

/// Metrics of jobs. Clones count together.
#[derive(Debug, Clone)]
pub struct JobsMetrics {
    /// Jobs by phase.
    pub jobs: Family<PhaseLabel, Gauge>,
    /// Workspaces by phase.
    pub workspaces: Family<PhaseLabel, Gauge>,
    /// What clean-up did.
    pub cleanup: Family<CleanupLabels, Counter>,
    /// Writes of clean-up that failed.
    pub cleanup_failures: Counter,
    /// Times the use of cards could not be learned.
    pub card_use_failures: Counter,
    /// Writes of the status of accounts.
    pub account_writes: Counter,
}

impl JobsMetrics {
    /// Adds the metrics to those of a process; once, however often the role leads.
    pub fn register(registry: &Metrics) -> Self {
        let metrics = Self {
            jobs: Family::default(),
            workspaces: Family::default(),
            cleanup: Family::default(),
            cleanup_failures: Counter::default(),
            card_use_failures: Counter::default(),
            account_writes: Counter::default(),
        };
        registry.register("jobs", "Jobs by phase", None, metrics.jobs.clone());
        registry.register("workspaces", "Workspaces by phase", None, metrics.workspaces.clone());
        let help =
            "What clean-up did with jobs and workspaces, by action (warned, taken-back, ended) and rule";
        registry.register("cleanup_actions", help, None, metrics.cleanup.clone());
        let help = "Writes of clean-up that failed; the next round tries again";
        registry.register("cleanup_failures", help, None, metrics.cleanup_failures.clone());
        let help = "Times the use of cards could not be learned; nothing counts as idle then";
        registry.register("card_use_failures", help, None, metrics.card_use_failures.clone());
        let help = "Writes of the status of accounts";
        registry.register("account_status_writes", help, None, metrics.account_writes.clone());
        metrics
    }

    pub(crate) fn cleaned(&self, action: &'static str, rule: CleanupRule) {
        self.cleanup.get_or_create(&CleanupLabels { action, rule: rule.to_string() }).inc();
    }
}

/// Counts objects by phase until it is told to end. Who does not lead sees none.
pub(crate) async fn count(context: Context, views: Views, metrics: JobsMetrics) -> Result<(), Infallible> {
    let rounds = async {
        views.ready().await;
        loop {
            let phases = views.jobs.entries().into_iter().map(|entry| match entry {
                Ok(job) => job.status.as_ref().map(|status| status.phase).unwrap_or_default().to_string(),
                Err(_) => "Malformed".to_owned(),
            });
            show(&metrics.jobs, phases);
            let phases = views.workspaces.entries().into_iter().map(|entry| match entry {
                Ok(desk) => desk.status.as_ref().map(|status| status.phase).unwrap_or_default().to_string(),
                Err(_) => "Malformed".to_owned(),
            });
            show(&metrics.workspaces, phases);
            sleep(COUNT).await;
        }
    };
    tokio::select! {
        biased;
        () = context.shutdown.cancelled() => {}
        () = rounds => {}
    }
    metrics.jobs.clear();
    metrics.workspaces.clear();
    Ok(())
}

fn show(family: &Family<PhaseLabel, Gauge>, phases: impl Iterator<Item = String>) {
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    for phase in phases {
        *counts.entry(phase).or_default() += 1;
    }
    family.clear();
    for (phase, count) in counts {
        family.get_or_create(&PhaseLabel { phase }).set(count);
    }
}
