//! What the rest of the process sees of an election.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A write was refused because this process does not lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this process does not hold the lease")]
pub struct NotLeader;

/// Tells whether this process leads. Clones tell the same.
#[derive(Debug, Clone)]
pub struct Leadership(watch::Receiver<Option<Term>>);

/// One continuous time of leading.
#[derive(Debug, Clone)]
pub struct Term {
    number: i32,
    lost: CancellationToken,
    deadline: Arc<Mutex<Option<Instant>>>,
}

impl Leadership {
    /// For processes that need no election: they always lead.
    pub fn always() -> Self {
        let (_, receiver) = watch::channel(Some(Term {
            number: 0,
            lost: CancellationToken::new(),
            deadline: Arc::new(Mutex::new(None)),
        }));
        Self(receiver)
    }

    /// That of one term only: what its work has left behind must not write in a later one.
    pub fn during(term: Term) -> Self {
        Self(watch::channel(Some(term)).1)
    }

    /// Whether this process leads at this very moment.
    pub fn is_leader(&self) -> bool {
        self.guard().is_ok()
    }

    /// The present term; to be asked before each write.
    pub fn guard(&self) -> Result<Term, NotLeader> {
        self.0.borrow().as_ref().filter(|term| term.is_current()).cloned().ok_or(NotLeader)
    }

    /// Waits until this process leads. Never returns if the election has ended for good.
    pub async fn acquired(&self) -> Term {
        let mut receiver = self.0.clone();
        loop {
            if let Ok(term) = self.guard() {
                return term;
            }
            if receiver.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Term {
    /// Grows with every change of leader.
    pub fn number(&self) -> i32 {
        self.number
    }

    /// Cancelled when the term ends, which is before anybody else may lead.
    pub fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// How long the term lasts at least, if it is not prolonged; none if it has no end.
    pub fn left(&self) -> Option<Duration> {
        if self.lost.is_cancelled() {
            return Some(Duration::ZERO);
        }
        self.deadline.lock().map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Whether the term is still running, by the clock and not by what some task has noticed.
    pub fn is_current(&self) -> bool {
        !self.lost.is_cancelled() && self.deadline.lock().is_none_or(|deadline| Instant::now() < deadline)
    }
}

/// The elector's end: announces terms.
#[derive(Debug)]
pub(super) struct Announcer {
    sender: watch::Sender<Option<Term>>,
    /// If the elector is dropped without ceremony, the term ends with it.
    running: Option<(Term, DropGuard)>,
}

impl Announcer {
    pub(super) fn new() -> (Self, Leadership) {
        let (sender, receiver) = watch::channel(None);
        (Self { sender, running: None }, Leadership(receiver))
    }

    /// Begins a term, or prolongs the present one. Returns whether it began.
    pub(super) fn extend(&mut self, number: i32, deadline: Instant) -> bool {
        if let Some((term, _)) = self.running.as_ref().filter(|(term, _)| term.is_current()) {
            *term.deadline.lock() = Some(deadline);
            return false;
        }
        let lost = CancellationToken::new();
        let term = Term { number, lost: lost.clone(), deadline: Arc::new(Mutex::new(Some(deadline))) };
        self.running = Some((term.clone(), lost.drop_guard()));
        self.sender.send_replace(Some(term));
        true
    }

    /// Ends the present term. Returns whether there was one.
    pub(super) fn end(&mut self) -> bool {
        let ended = self.running.take().is_some();
        self.sender.send_replace(None);
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_sleeper_that_wakes_up_late_is_told_no_before_anything_else_runs() {
        let (mut announcer, leadership) = Announcer::new();
        assert_eq!(leadership.guard().unwrap_err(), NotLeader);
        announcer.extend(4, Instant::now() + Duration::from_secs(10));
        let term = leadership.acquired().await;
        assert_eq!(term.number(), 4);
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(term.left(), Some(Duration::from_secs(7)));
        // Nobody has cancelled anything; only time has passed.
        tokio::time::advance(Duration::from_secs(7)).await;
        assert_eq!(term.left(), Some(Duration::ZERO));
        assert!(!term.lost().is_cancelled());
        assert!(!term.is_current() && !leadership.is_leader());
    }

    #[tokio::test(start_paused = true)]
    async fn prolonging_keeps_the_term_and_a_late_renewal_begins_a_new_one() {
        let (mut announcer, leadership) = Announcer::new();
        assert!(announcer.extend(1, Instant::now() + Duration::from_secs(10)));
        let first = leadership.guard().unwrap();
        tokio::time::advance(Duration::from_secs(9)).await;
        assert!(!announcer.extend(1, Instant::now() + Duration::from_secs(10)));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert!(first.is_current());
        tokio::time::advance(Duration::from_secs(9)).await;
        assert!(announcer.extend(1, Instant::now() + Duration::from_secs(10)));
        // Work of the first term must not come back to life.
        assert!(first.lost().is_cancelled() && !first.is_current());
        assert!(leadership.is_leader() && !Leadership::during(first).is_leader());
        assert!(Leadership::during(leadership.guard().unwrap()).is_leader());
    }

    #[tokio::test(start_paused = true)]
    async fn the_term_ends_with_its_elector() {
        let (mut announcer, leadership) = Announcer::new();
        announcer.extend(1, Instant::now() + Duration::from_secs(10));
        let term = leadership.guard().unwrap();
        drop(announcer);
        assert!(term.lost().is_cancelled());
        assert!(!leadership.is_leader());
    }

    #[tokio::test]
    async fn without_election_a_process_always_leads() {
        assert!(Leadership::always().is_leader());
        let term = Leadership::always().acquired().await;
        assert!(term.is_current() && term.left().is_none());
    }
}
