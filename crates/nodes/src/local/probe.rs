//! Startup, readiness and liveness probes.

mod grpc;
mod network;
mod page;
mod tls;

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{Container, Probe};

use super::{exec::Entrance, runtime::Inner};
use crate::{lifecycle::Report, pod::Pod};

pub(super) use page::hook;

/// When and how often a probe is made, and what it takes to change one's mind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rhythm {
    delay: Duration,
    period: Duration,
    patience: Duration,
    successes: u32,
    failures: u32,
}

impl Rhythm {
    fn of(probe: &Probe) -> Self {
        let seconds = |value: Option<i32>, usual: u64| {
            Duration::from_secs(
                value.and_then(|value| u64::try_from(value).ok()).filter(|value| *value > 0).unwrap_or(usual),
            )
        };
        let count = |value: Option<i32>, usual: u32| {
            value.and_then(|value| u32::try_from(value).ok()).filter(|value| *value > 0).unwrap_or(usual)
        };
        Self {
            delay: seconds(probe.initial_delay_seconds, 0),
            period: seconds(probe.period_seconds, 10),
            patience: seconds(probe.timeout_seconds, 1),
            successes: count(probe.success_threshold, 1),
            failures: count(probe.failure_threshold, 3),
        }
    }
}

/// Counts results until they add up to an opinion.
#[derive(Debug)]
struct Opinion {
    rhythm: Rhythm,
    last: Option<bool>,
    run: u32,
}

impl Opinion {
    fn new(rhythm: Rhythm) -> Self {
        Self { rhythm, last: None, run: 0 }
    }

    /// Enters a result; says what it amounts to when there are enough of the same kind in a row.
    fn hear(&mut self, success: bool) -> Option<bool> {
        self.run = if self.last == Some(success) { self.run.saturating_add(1) } else { 1 };
        self.last = Some(success);
        let enough = if success { self.rhythm.successes } else { self.rhythm.failures };
        (self.run >= enough).then_some(success)
    }
}

/// Probes a container for as long as it runs and reports what comes of it. Ends only when dropped.
pub(super) async fn watch(
    inner: &Inner,
    pod: &Arc<Pod>,
    position: usize,
    container: &Container,
    entrance: &Entrance,
) {
    let report = |report| inner.report(&pod.uid, position, report);
    let prober = Prober { container, entrance, report: &report };
    if let Some(probe) = &container.startup_probe
        && !prober.until_decided(probe).await
    {
        return report(unhealthy(crate::lifecycle::Probe::Startup, probe));
    }
    report(Report::Up);
    let readiness = async {
        let Some(probe) = &container.readiness_probe else { return report(Report::Ready(true)) };
        prober.follow("Readiness", probe, |ready| report(Report::Ready(ready))).await;
    };
    let liveness = async {
        let Some(probe) = &container.liveness_probe else { return };
        prober
            .follow("Liveness", probe, |alive| {
                if !alive {
                    report(unhealthy(crate::lifecycle::Probe::Liveness, probe));
                }
            })
            .await;
    };
    tokio::join!(readiness, liveness);
}

fn unhealthy(kind: crate::lifecycle::Probe, probe: &Probe) -> Report {
    let seconds = probe.termination_grace_period_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    Report::Unhealthy { probe: kind, grace: seconds.map(Duration::from_secs) }
}

struct Prober<'a, F> {
    container: &'a Container,
    entrance: &'a Entrance,
    report: &'a F,
}

impl<F: Fn(Report)> Prober<'_, F> {
    /// Probes until there is an opinion.
    async fn until_decided(&self, probe: &Probe) -> bool {
        let rhythm = Rhythm::of(probe);
        let mut opinion = Opinion::new(rhythm);
        tokio::time::sleep(rhythm.delay).await;
        loop {
            if let Some(decided) = opinion.hear(self.once("Startup", probe, rhythm.patience).await) {
                return decided;
            }
            tokio::time::sleep(rhythm.period).await;
        }
    }

    /// Probes for ever and tells every change of opinion.
    async fn follow(&self, kind: &str, probe: &Probe, mut tell: impl FnMut(bool)) {
        let rhythm = Rhythm::of(probe);
        let mut opinion = Opinion::new(rhythm);
        let mut told = None;
        tokio::time::sleep(rhythm.delay).await;
        loop {
            let heard = opinion.hear(self.once(kind, probe, rhythm.patience).await);
            if heard.is_some() && heard != told {
                told = heard;
                heard.map(&mut tell);
            }
            tokio::time::sleep(rhythm.period).await;
        }
    }

    async fn once(&self, kind: &str, probe: &Probe, patience: Duration) -> bool {
        let outcome = if let Some(exec) = &probe.exec {
            let said = self.entrance.ask(exec.command.as_deref().unwrap_or_default(), patience).await;
            match said {
                Ok(said) if said.code == 0 => Ok(()),
                Ok(said) => Err(said.text),
                Err(error) => Err(error.to_string()),
            }
        } else if let Some(http) = &probe.http_get {
            page::probe(self.container, http, patience).await
        } else if let Some(tcp) = &probe.tcp_socket {
            network::tcp(self.container, tcp, patience).await
        } else if let Some(action) = &probe.grpc {
            grpc::check(action, patience).await
        } else {
            Err("it names no way to probe".to_owned())
        };
        if let Err(output) = &outcome {
            let message = format!("{kind} probe failed: {output}");
            (self.report)(Report::Note { reason: "Unhealthy", message });
        }
        outcome.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opinion_takes_several_results_in_a_row() {
        let probe = Probe { success_threshold: Some(2), failure_threshold: Some(3), ..Probe::default() };
        let mut opinion = Opinion::new(Rhythm::of(&probe));
        let heard: Vec<_> = [true, true, false, false, true, false, false, false, false]
            .map(|result| opinion.hear(result))
            .to_vec();
        let want = [None, Some(true), None, None, None, None, None, Some(false), Some(false)];
        assert_eq!(heard, want);
    }

    #[test]
    fn a_rhythm_has_the_defaults_of_kubernetes() {
        let rhythm = Rhythm::of(&Probe::default());
        let second = Duration::from_secs(1);
        let want = Rhythm {
            delay: Duration::ZERO,
            period: second * 10,
            patience: second,
            successes: 1,
            failures: 3,
        };
        assert_eq!(rhythm, want);
    }
}
