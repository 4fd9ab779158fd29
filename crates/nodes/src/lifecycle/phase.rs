//! The phase that follows from the states of the containers.

use super::{Life, Phase, State};
use crate::pod::{Pod, Role};

/// What the containers add up to.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says that some container is so; they go together in any way"
)]
struct Tally {
    init_pending: bool,
    init_failed: bool,
    sidecar_pending: bool,
    waiting: bool,
    active: bool,
    restarting: bool,
    failed: bool,
}

pub(super) fn of(pod: &Pod, life: &Life) -> Phase {
    if life.phase.is_terminal() {
        return life.phase;
    }
    let tally = tally(pod, life);
    if life.end.is_some() && !tally.active {
        return last_word(life, &tally);
    }
    if tally.init_failed && !tally.active {
        return Phase::Failed;
    }
    if tally.init_pending || tally.init_failed || tally.sidecar_pending || tally.waiting {
        // What ran once does not fall back to Pending because a sidecar restarts.
        return Phase::Pending;
    }
    if tally.active || tally.restarting {
        return Phase::Running;
    }
    if tally.failed { Phase::Failed } else { Phase::Succeeded }
}

/// The Pod was ended: only a Pod whose main containers all ran and ended well succeeded.
fn last_word(life: &Life, tally: &Tally) -> Phase {
    let incomplete = tally.init_pending || tally.init_failed || tally.waiting || tally.failed;
    if incomplete || life.verdict.is_some() { Phase::Failed } else { Phase::Succeeded }
}

fn tally(pod: &Pod, life: &Life) -> Tally {
    let mut tally = Tally::default();
    let first_main = pod.template.first_main();
    let begun = life.containers[first_main..].iter().any(super::ContainerLife::has_run);
    for (container, own) in pod.template.containers.iter().zip(&life.containers) {
        let is_starting = matches!(own.state, State::Starting { .. });
        let is_running = matches!(own.state, State::Running { .. });
        tally.active |= is_running || is_starting;
        match container.role {
            Role::Init => match own.latest_exit() {
                _ if begun => {}
                Some(exit) if exit.code == 0 && !is_running => {}
                Some(exit) if !is_running && !is_starting && !pod.template.restarts(container, exit.code) => {
                    tally.init_failed = true;
                }
                _ => tally.init_pending = true,
            },
            Role::Sidecar => tally.sidecar_pending |= !(begun || is_running && own.up),
            Role::Main => match own.latest_exit() {
                _ if is_running => {}
                Some(exit) => {
                    tally.failed |= exit.code != 0;
                    tally.restarting |= pod.template.restarts(container, exit.code);
                }
                None => tally.waiting = true,
            },
        }
    }
    tally
}
