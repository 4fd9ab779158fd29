//! What happens next in a Pod's life.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    Action, ContainerLife, End, Happening, Life, State, Step, Stop, Verdict, What, after, condition, earlier,
    phase,
};
use crate::pod::{FailNow, Failing, Pod, Role};

/// Decides and enters what is due at `now`. Stepping twice at the same time changes nothing the second time.
pub(crate) fn step(pod: &Pod, life: &mut Life, now: Timestamp) -> Step {
    let mut step = Step::default();
    if !life.is_finished() {
        let mut stepper = Stepper { pod, life, now, step: &mut step };
        stepper.decide_end();
        if stepper.life.end.is_some() {
            stepper.stop_all();
        } else {
            stepper.carry_on();
        }
        life.phase = phase::of(pod, life);
    }
    condition::refresh(pod, life, now);
    step.remove = pod.deletion.is_some() && life.is_finished();
    step
}

struct Stepper<'a> {
    pod: &'a Pod,
    life: &'a mut Life,
    now: Timestamp,
    step: &'a mut Step,
}

impl Stepper<'_> {
    fn wake(&mut self, at: Timestamp) {
        self.step.wake = earlier(self.step.wake, Some(at));
    }

    /// Whether the Pod as a whole is over: deleted, past its deadline, or evicted.
    fn decide_end(&mut self) {
        if let Some(deletion) = self.pod.deletion {
            self.end_within(deletion.grace);
        }
        if let Some(limit) = self.pod.template.active_deadline {
            let deadline = after(self.life.started, limit);
            if self.now < deadline {
                self.wake(deadline);
            } else {
                let message = "Pod was active on the node longer than the specified deadline";
                self.condemn("DeadlineExceeded", message);
            }
        }
        if let Some(Failing { what: FailNow::Evict(reason), .. }) = &self.pod.fail {
            let reason = reason.clone();
            self.condemn(&reason, "the annotation sim.maar.io/fail-now asked for it");
        }
    }

    fn condemn(&mut self, reason: &str, message: &str) {
        if self.life.verdict.is_none() {
            let verdict = Verdict { reason: reason.into(), message: message.into() };
            self.step.news.push(verdict.happening());
            self.life.verdict = Some(Box::new(verdict));
            self.end_within(self.pod.template.grace);
        }
    }

    /// A second request may shorten the time but not lengthen it.
    fn end_within(&mut self, grace: Duration) {
        let deadline = after(self.now, grace);
        match &mut self.life.end {
            Some(end) => end.deadline = end.deadline.min(deadline),
            None => self.life.end = Some(End { deadline }),
        }
    }

    /// Main containers go first, then the sidecars in the opposite order of their start.
    fn stop_all(&mut self) {
        let deadline = self.life.end.map_or(self.now, |end| end.deadline);
        let first_main = self.pod.template.first_main();
        let active = |life: &Life, position: usize| life.containers[position].is_active();
        let mains_run = (first_main..self.life.containers.len()).any(|position| active(self.life, position));
        if mains_run {
            for position in first_main..self.life.containers.len() {
                self.stop(position, deadline);
            }
        } else if let Some(last) = (0..first_main).rev().find(|&position| active(self.life, position)) {
            self.stop(last, deadline);
        }
        if !self.life.containers.iter().any(ContainerLife::is_active) {
            self.step.wake = None;
        }
    }

    /// Asks the runtime to stop a container; a shorter deadline is passed on, the same one is not repeated.
    fn stop(&mut self, position: usize, deadline: Timestamp) {
        let container = &mut self.life.containers[position];
        match &mut container.state {
            State::Starting { .. } => container.state = State::Idle,
            State::Running { stop: Some(stop), .. } if stop.deadline <= deadline => return,
            State::Running { stop, .. } => {
                if stop.is_none() {
                    let what = What::Killing(container.unhealthy.map(|(probe, _)| probe));
                    self.step.news.push(Happening { container: Some(position), what });
                }
                let since = stop.map_or(self.now, |stop| stop.since);
                *stop = Some(Stop { since, deadline });
                container.ready = false;
            }
            State::Idle | State::Refused { .. } | State::Exited(_) => return,
        }
        self.step.actions.push(Action::Stop { container: position, deadline });
    }

    fn carry_on(&mut self) {
        let first_main = self.pod.template.first_main();
        let begun = self.life.containers[first_main..].iter().any(|container| container.state != State::Idle);
        if self.is_outcome_clear(first_main, begun) {
            return self.stop_sidecars(first_main);
        }
        self.stop_unhealthy();
        if self.initialize(first_main, begun) {
            for position in first_main..self.life.containers.len() {
                self.keep_running(position);
            }
        }
    }

    /// Whether only sidecars keep the Pod from ending: the main containers are over, or will never start.
    fn is_outcome_clear(&self, first_main: usize, begun: bool) -> bool {
        let failed = |position: usize| match &self.life.containers[position].state {
            State::Exited(exit) => exit.code != 0 && self.is_over(position),
            _ => false,
        };
        let mut mains = first_main..self.life.containers.len();
        if begun { mains.all(|position| self.is_over(position)) } else { (0..first_main).any(failed) }
    }

    fn stop_unhealthy(&mut self) {
        for position in 0..self.life.containers.len() {
            if let Some((_, grace)) = self.life.containers[position].unhealthy {
                self.stop(position, after(self.now, grace.unwrap_or(self.pod.template.grace)));
            }
        }
    }

    /// Runs the init containers in order. True when the main containers may run.
    fn initialize(&mut self, first_main: usize, begun: bool) -> bool {
        for position in 0..first_main {
            let role = self.pod.template.containers[position].role;
            if role == Role::Init && (begun || self.is_over(position)) {
                continue;
            }
            self.keep_running(position);
            let own = &self.life.containers[position];
            let serves = role == Role::Sidecar && own.up && matches!(own.state, State::Running { .. });
            if !serves && !begun {
                return false;
            }
        }
        true
    }

    /// Whether the container ended and will not be started again.
    fn is_over(&self, position: usize) -> bool {
        match &self.life.containers[position].state {
            State::Exited(exit) => {
                !self.pod.template.restarts(&self.pod.template.containers[position], exit.code)
            }
            _ => false,
        }
    }

    /// Starts the container unless it runs, is over or has to wait.
    fn keep_running(&mut self, position: usize) {
        let life = &self.life.containers[position];
        let due = match &life.state {
            State::Idle => self.now,
            State::Refused { retry, .. } => *retry,
            State::Exited(exit) if !self.is_over(position) => after(exit.finished, life.back_off()),
            State::Starting { .. } | State::Running { .. } | State::Exited(_) => return,
        };
        if due > self.now {
            return self.wake(due);
        }
        let life = &mut self.life.containers[position];
        if let State::Exited(exit) = std::mem::replace(&mut life.state, State::Starting { since: self.now }) {
            life.restarts = life.restarts.saturating_add(1);
            life.last = Some(exit);
        }
        self.step.actions.push(Action::Start { container: position });
    }

    /// Nothing is left that sidecars could serve: they end one after the other, last one first.
    fn stop_sidecars(&mut self, first_main: usize) {
        let deadline = after(self.now, self.pod.template.grace);
        let last = (0..first_main).rev().find(|&position| self.life.containers[position].is_active());
        if let Some(position) = last {
            self.stop(position, deadline);
        }
    }
}
