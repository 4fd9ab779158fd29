//! The life of a Pod on its node, as a state machine without I/O, clock or randomness.
//!
//! Three steps repeat: a [`Runtime`](crate::runtime::Runtime) says what happened to containers (a [`Report`] each,
//! entered with [`Life::report`]), [`step`] decides what to do next, and [`status::render`] shows the result as the
//! Pod's status. A whole life can be taken up again from what the API shows ([`resume`]).
//!
//! Invariants: a phase that is `Succeeded` or `Failed` never changes; it is only shown when no container runs;
//! main containers start only after every init container is done; whatever is started was announced as an [`Action`].

pub(crate) mod admission;
pub(crate) mod condition;
pub(crate) mod phase;
pub(crate) mod resume;
pub(crate) mod status;
mod step;
#[cfg(test)]
mod tests;

use std::{net::IpAddr, time::Duration};

use jiff::{SignedDuration, Timestamp};

pub(crate) use step::step;

/// First wait of a container that keeps ending.
const BACK_OFF_START: Duration = Duration::from_secs(10);
/// Longest wait.
const BACK_OFF_LIMIT: Duration = Duration::from_mins(5);
/// A container that ran this long starts anew with the waits.
const BACK_OFF_FORGIVEN: Duration = Duration::from_mins(10);
/// Why a container whose volumes cannot be had is refused.
pub(crate) const FAILED_MOUNT: &str = "FailedMount";
/// Wait after a container could not be started at all.
const REFUSED_RETRY: Duration = Duration::from_secs(10);
/// And after its volumes could not be had.
const MOUNT_RETRY: Duration = Duration::from_secs(3);

/// Everything that happened to one Pod.
#[derive(Debug, Clone)]
pub(crate) struct Life {
    /// When the kubelet took the Pod on: `status.startTime`.
    pub(crate) started: Timestamp,
    pub(crate) phase: Phase,
    /// One for each container of the template.
    pub(crate) containers: Box<[ContainerLife]>,
    /// Address of the Pod; shown as soon as a container ran.
    pub(crate) ip: Option<IpAddr>,
    /// Why the whole Pod is being ended, once it is.
    pub(crate) end: Option<End>,
    /// `status.reason` and `status.message`.
    pub(crate) verdict: Option<Box<Verdict>>,
    /// Truth and time of last change, by [`condition::Kind`].
    pub(crate) conditions: [(bool, Timestamp); condition::COUNT],
}

/// Kubernetes' summary of a Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed,
}

impl Phase {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }

    pub(crate) fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// A Pod being ended as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    /// When what still runs is killed.
    pub(crate) deadline: Timestamp,
}

/// A reason and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) reason: Box<str>,
    pub(crate) message: Box<str>,
}

impl Verdict {
    /// The end of a Pod as people hear of it.
    pub(crate) fn happening(&self) -> Happening {
        let what = What::Ended { reason: self.reason.clone(), message: self.message.clone() };
        Happening { container: None, what }
    }
}

/// Everything that happened to one container.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContainerLife {
    pub(crate) state: State,
    /// The exit before the current state.
    pub(crate) last: Option<Box<Exit>>,
    pub(crate) restarts: u32,
    /// Exits in a row without a long run in between; decides the wait.
    pub(crate) streak: u32,
    /// Started up, as its startup probe says.
    pub(crate) up: bool,
    pub(crate) ready: bool,
    /// The probe that found it unhealthy: it is to be stopped and started again, within the grace of the probe if it has one.
    pub(crate) unhealthy: Option<(Probe, Option<Duration>)>,
}

/// What a container is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// Not asked for yet.
    #[default]
    Idle,
    /// The runtime was asked to start it.
    Starting { since: Timestamp },
    /// The runtime could not start it.
    Refused { verdict: Box<Verdict>, retry: Timestamp },
    /// It runs, perhaps having been asked to stop.
    Running { since: Timestamp, stop: Option<Stop> },
    /// It ended.
    Exited(Box<Exit>),
}

/// A container being stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) since: Timestamp,
    pub(crate) deadline: Timestamp,
}

/// How a container ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) code: i32,
    pub(crate) reason: Box<str>,
    pub(crate) message: Option<Box<str>>,
    /// Nothing is known when nobody was looking.
    pub(crate) started: Option<Timestamp>,
    pub(crate) finished: Timestamp,
    /// Number of restarts before this run; names the run together with the container.
    pub(crate) run: u32,
}

/// What a runtime says about one container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
    Started {
        at: Timestamp,
    },
    /// It could not be started.
    Refused {
        at: Timestamp,
        reason: &'static str,
        message: String,
    },
    Exited {
        at: Timestamp,
        code: i32,
        reason: Option<&'static str>,
        message: Option<String>,
    },
    /// The startup probe passed.
    Up,
    Ready(bool),
    /// A liveness or startup probe failed too often. It may know a grace of its own.
    Unhealthy {
        probe: Probe,
        grace: Option<Duration>,
    },
    /// Something people should hear of that changes nothing by itself.
    Note {
        reason: &'static str,
        message: String,
    },
}

/// A probe that decides whether a container lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probe {
    Startup,
    Liveness,
}

impl Probe {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Liveness => "liveness",
        }
    }
}

/// Something that people are told of; `events` words it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Happening {
    /// Position of the container it happened to; without one, it happened to the Pod.
    pub(crate) container: Option<usize>,
    pub(crate) what: What,
}

/// See [`Happening`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    Started,
    Refused {
        reason: &'static str,
        message: String,
    },
    /// It ended too soon and has to wait.
    BackOff,
    /// It is asked to end, perhaps because a probe failed.
    Killing(Option<Probe>),
    /// The Pod was refused or is ended as a whole.
    Ended {
        reason: Box<str>,
        message: Box<str>,
    },
    /// The runtime warns.
    Noted {
        reason: &'static str,
        message: String,
    },
}

/// What the kubelet must make the runtime do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    Start {
        container: usize,
    },
    /// Ask it to end, and kill it at the deadline. Also takes back a start.
    Stop {
        container: usize,
        deadline: Timestamp,
    },
}

/// The outcome of one [`step`].
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) actions: Vec<Action>,
    /// What people should hear of.
    pub(crate) news: Vec<Happening>,
    /// When to step again although nothing is reported.
    pub(crate) wake: Option<Timestamp>,
    /// Deletion was asked for and nothing runs: the API object may go once the status is written.
    pub(crate) remove: bool,
}

impl Life {
    /// The life of a Pod that was just taken on.
    pub(crate) fn new(containers: usize, now: Timestamp) -> Self {
        Self {
            started: now,
            phase: Phase::Pending,
            containers: vec![ContainerLife::default(); containers].into(),
            ip: None,
            end: None,
            verdict: None,
            conditions: [(false, now); condition::COUNT],
        }
    }

    /// The life of a Pod that the kubelet refused.
    pub(crate) fn rejected(containers: usize, verdict: Verdict, now: Timestamp) -> Self {
        let mut life = Self::new(containers, now);
        life.phase = Phase::Failed;
        life.verdict = Some(Box::new(verdict));
        life
    }

    /// Whether nothing will happen any more.
    pub(crate) fn is_finished(&self) -> bool {
        self.phase.is_terminal() && !self.containers.iter().any(ContainerLife::is_active)
    }

    /// Somebody else declared the Pod failed in the API (a node controller, an eviction): it ends.
    pub(crate) fn condemn_by_api(&mut self, verdict: Verdict, deadline: Timestamp) {
        if self.phase.is_terminal() || self.end.is_some() {
            return;
        }
        self.verdict.get_or_insert_with(|| Box::new(verdict));
        self.end = Some(End { deadline });
    }

    /// Enters what the runtime says about `container`; returns what people should hear of it.
    pub(crate) fn report(&mut self, container: usize, report: Report) -> Option<Happening> {
        let what = self.containers.get_mut(container)?.report(report)?;
        Some(Happening { container: Some(container), what })
    }
}

impl ContainerLife {
    /// Whether the runtime has something of it.
    pub(crate) fn is_active(&self) -> bool {
        matches!(self.state, State::Starting { .. } | State::Running { .. })
    }

    /// Whether it ran at least once.
    pub(crate) fn has_run(&self) -> bool {
        self.last.is_some() || matches!(self.state, State::Running { .. } | State::Exited(_))
    }

    /// The exit that the current state or the one before ended with.
    pub(crate) fn latest_exit(&self) -> Option<&Exit> {
        match &self.state {
            State::Exited(exit) => Some(exit),
            _ => self.last.as_deref(),
        }
    }

    /// What comes too late, about a run that was called off or has ended, is dropped.
    fn report(&mut self, report: Report) -> Option<What> {
        let fits = match report {
            Report::Started { .. } | Report::Refused { .. } => matches!(self.state, State::Starting { .. }),
            Report::Exited { .. } => self.is_active(),
            Report::Up | Report::Ready(_) | Report::Unhealthy { .. } => {
                matches!(self.state, State::Running { .. })
            }
            Report::Note { .. } => true,
        };
        if !fits {
            return None;
        }
        match report {
            Report::Started { at } => {
                self.state = State::Running { since: at, stop: None };
                (self.up, self.ready, self.unhealthy) = (false, false, None);
                return Some(What::Started);
            }
            Report::Refused { at, reason, message } => {
                let shown = shown_reason(reason);
                let verdict = Box::new(Verdict { reason: shown.into(), message: message.clone().into() });
                // Volumes often show what another controller makes a moment later.
                let wait = if reason == FAILED_MOUNT { MOUNT_RETRY } else { REFUSED_RETRY };
                self.state = State::Refused { verdict, retry: after(at, wait) };
                return Some(What::Refused { reason, message });
            }
            Report::Note { reason, message } => {
                return Some(What::Noted { reason, message });
            }
            Report::Exited { at, code, reason, message } => self.exit(at, code, reason, message),
            Report::Up => self.up = true,
            // A container that is on its way out does not become ready again.
            Report::Ready(ready) => {
                self.ready = ready && !matches!(self.state, State::Running { stop: Some(_), .. });
            }
            Report::Unhealthy { probe, grace } => self.unhealthy = Some((probe, grace)),
        }
        None
    }

    fn exit(&mut self, at: Timestamp, code: i32, reason: Option<&'static str>, message: Option<String>) {
        let started = match self.state {
            State::Running { since, .. } => Some(since),
            _ => None,
        };
        let ran = started.map_or(SignedDuration::ZERO, |since| at.duration_since(since));
        let long = ran > signed(BACK_OFF_FORGIVEN);
        self.streak = if long { 1 } else { self.streak.saturating_add(1) };
        let usual = if code == 0 { "Completed" } else { "Error" };
        self.state = State::Exited(Box::new(Exit {
            code,
            reason: reason.unwrap_or(usual).into(),
            message: message.map(Into::into),
            started,
            finished: at,
            run: self.restarts,
        }));
        (self.up, self.ready, self.unhealthy) = (false, false, None);
    }

    /// How long to wait after the last exit before starting again.
    pub(crate) fn back_off(&self) -> Duration {
        match self.streak {
            0 | 1 => Duration::ZERO,
            streak => BACK_OFF_START.saturating_mul(1 << (streak - 2).min(10)).min(BACK_OFF_LIMIT),
        }
    }
}

/// A container whose volumes are not there yet is being created, as kubelets show it; people read why in the Event.
fn shown_reason(reason: &'static str) -> &'static str {
    if reason == FAILED_MOUNT { "ContainerCreating" } else { reason }
}

/// `time` plus `delay`, at most the end of time.
pub(crate) fn after(time: Timestamp, delay: Duration) -> Timestamp {
    time.saturating_add(signed(delay)).unwrap_or(Timestamp::MAX)
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

/// The earlier of two times that may be missing.
pub(crate) fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
