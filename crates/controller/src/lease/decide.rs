//! The decisions of an election, without client, clock or randomness.

use std::time::Duration;

use tokio::time::Instant;

use super::Timing;

/// What a candidate knows.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) identity: String,
    pub(super) view: View,
    /// When the last successful write of the present term was sent; `None` when not leading.
    pub(super) renewed: Option<Instant>,
    /// Nothing needs to be sent before.
    pub(super) next_attempt: Instant,
}

/// The Lease as last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum View {
    /// Not seen yet, or something happened since.
    Unknown,
    /// There is none.
    Absent,
    /// There is one.
    Present(Sight),
}

/// A Lease in one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sight {
    /// Who holds it; empty when released.
    pub(super) holder: String,
    /// How long its holder asked others to wait.
    pub(super) duration: Duration,
    /// Changes with every write.
    pub(super) version: String,
    /// When this version was first seen, on the local clock.
    pub(super) first_seen: Instant,
}

/// What to do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Look at the Lease.
    Read,
    /// Make it, held by this process.
    Create,
    /// Write this process into the version seen.
    Take,
    /// Write the time into the version seen.
    Renew,
    /// Nothing before then.
    Wait(Instant),
    /// The term is over.
    StandDown,
}

pub(super) fn decide(now: Instant, state: &State, timing: &Timing) -> Action {
    if let Some(deadline) = state.deadline(timing) {
        let taken = matches!(&state.view, View::Present(sight) if sight.holder != state.identity);
        if now >= deadline || taken {
            return Action::StandDown;
        }
    }
    if now < state.next_attempt {
        let deadline = state.deadline(timing).unwrap_or(state.next_attempt);
        return Action::Wait(state.next_attempt.min(deadline));
    }
    match &state.view {
        View::Absent => Action::Create,
        View::Present(sight) if state.renewed.is_some() => {
            debug_assert_eq!(sight.holder, state.identity);
            Action::Renew
        }
        View::Present(sight) if sight.is_free_for(&state.identity, now) => Action::Take,
        View::Unknown | View::Present(_) => Action::Read,
    }
}

impl Sight {
    fn is_free_for(&self, identity: &str, now: Instant) -> bool {
        self.holder.is_empty() || self.holder == identity || now >= self.first_seen + self.duration
    }
}

impl State {
    pub(super) fn new(identity: String, now: Instant) -> Self {
        Self { identity, view: View::Unknown, renewed: None, next_attempt: now }
    }

    /// When the present term ends unless it is renewed.
    pub(super) fn deadline(&self, timing: &Timing) -> Option<Instant> {
        self.renewed.map(|renewed| renewed + timing.renew_deadline)
    }

    /// A read answered. `retry` is how long to wait where there is nothing to do.
    pub(super) fn saw(&mut self, now: Instant, lease: Option<(String, Duration, String)>, retry: Duration) {
        let Some((holder, duration, version)) = lease else {
            self.view = View::Absent;
            return;
        };
        // Only a version that had not been seen restarts the wait.
        let first_seen = match &self.view {
            View::Present(before) if before.version == version => before.first_seen,
            _ => now,
        };
        let sight = Sight { holder, duration, version, first_seen };
        if !sight.is_free_for(&self.identity, now) {
            self.next_attempt = (now + retry).min(sight.first_seen + sight.duration);
        }
        self.view = View::Present(sight);
    }

    /// A write that was sent at `sent` succeeded: this process leads.
    pub(super) fn wrote(&mut self, sent: Instant, version: String, timing: &Timing, retry: Duration) {
        self.renewed = Some(sent);
        self.next_attempt = sent + retry;
        self.view = View::Present(Sight {
            holder: self.identity.clone(),
            duration: timing.lease_duration,
            version,
            first_seen: sent,
        });
    }

    /// Somebody else wrote first: look at once.
    pub(super) fn lost_race(&mut self, now: Instant) {
        self.forget();
        self.next_attempt = now;
    }

    /// A call failed, and whether it took effect is unknown: look again, but not at once.
    pub(super) fn failed(&mut self, now: Instant, retry: Duration) {
        if self.renewed.is_some() {
            // A leader must not trust the version it wrote over, and has a term to save.
            self.forget();
            self.next_attempt = now + retry / 4;
        } else {
            // A candidate keeps what it saw and since when.
            self.next_attempt = now + retry;
        }
    }

    /// The term is over.
    pub(super) fn stood_down(&mut self, now: Instant, retry: Duration) {
        self.renewed = None;
        self.next_attempt = now + retry;
    }

    fn forget(&mut self) {
        self.view = View::Unknown;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn timing() -> Timing {
        Timing::default()
    }

    #[expect(clippy::unnecessary_wraps, reason = "it stands for the answer to a read")]
    fn seen(holder: &str, version: &str) -> Option<(String, Duration, String)> {
        Some((holder.to_owned(), SECOND * 15, version.to_owned()))
    }

    fn candidate(now: Instant) -> State {
        State::new("me".to_owned(), now)
    }

    #[test]
    fn a_candidate_reads_then_takes_what_is_free() {
        let now = Instant::now();
        let rows = [
            (None, Action::Create),
            (seen("", "1"), Action::Take),
            (seen("me", "1"), Action::Take),
            (seen("other", "1"), Action::Wait(now + SECOND * 2)),
        ];
        for (lease, want) in rows {
            let mut state = candidate(now);
            assert_eq!(decide(now, &state, &timing()), Action::Read);
            state.saw(now, lease, SECOND * 2);
            assert_eq!(decide(now, &state, &timing()), want);
        }
    }

    #[test]
    fn a_held_lease_is_taken_only_after_standing_unchanged_for_its_duration() {
        let now = Instant::now();
        let mut state = candidate(now);
        state.saw(now, seen("other", "1"), SECOND * 2);
        for second in (2..14).step_by(2) {
            let later = now + SECOND * second;
            assert_eq!(decide(later, &state, &timing()), Action::Read, "second {second}");
            state.saw(later, seen("other", "1"), SECOND * 2);
        }
        // The last look is clipped to the moment of expiry.
        state.saw(now + SECOND * 14, seen("other", "1"), SECOND * 2);
        assert_eq!(decide(now + SECOND * 14, &state, &timing()), Action::Wait(now + SECOND * 15));
        assert_eq!(decide(now + SECOND * 15, &state, &timing()), Action::Take);
    }

    #[test]
    fn every_renewal_that_is_seen_restarts_the_wait() {
        let now = Instant::now();
        let mut state = candidate(now);
        state.saw(now, seen("other", "1"), SECOND * 2);
        state.saw(now + SECOND * 14, seen("other", "2"), SECOND * 2);
        assert_eq!(decide(now + SECOND * 16, &state, &timing()), Action::Read);
        assert_eq!(decide(now + SECOND * 29, &state, &timing()), Action::Take);
    }

    #[test]
    fn a_leader_renews_and_stops_at_its_deadline_counted_from_sending() {
        let now = Instant::now();
        let mut state = candidate(now);
        state.wrote(now, "1".to_owned(), &timing(), SECOND * 2);
        assert_eq!(decide(now + SECOND, &state, &timing()), Action::Wait(now + SECOND * 2));
        assert_eq!(decide(now + SECOND * 2, &state, &timing()), Action::Renew);
        state.failed(now + SECOND * 9, SECOND * 8);
        assert_eq!(decide(now + SECOND * 9, &state, &timing()), Action::Wait(now + SECOND * 10));
        assert_eq!(decide(now + SECOND * 10, &state, &timing()), Action::StandDown);
    }

    #[test]
    fn a_leader_that_sees_another_holder_stops_at_once() {
        let now = Instant::now();
        let mut state = candidate(now);
        state.wrote(now, "1".to_owned(), &timing(), SECOND * 2);
        state.lost_race(now + SECOND * 2);
        assert_eq!(decide(now + SECOND * 2, &state, &timing()), Action::Read);
        state.saw(now + SECOND * 2, seen("other", "7"), SECOND * 2);
        assert_eq!(decide(now + SECOND * 2, &state, &timing()), Action::StandDown);
    }

    #[test]
    fn a_renewal_of_unknown_outcome_is_looked_up_and_continued() {
        let now = Instant::now();
        let mut state = candidate(now);
        state.wrote(now, "1".to_owned(), &timing(), SECOND * 2);
        state.failed(now + SECOND * 3, SECOND * 2);
        assert_eq!(decide(now + SECOND * 4, &state, &timing()), Action::Read);
        state.saw(now + SECOND * 4, seen("me", "2"), SECOND * 2);
        assert_eq!(decide(now + SECOND * 4, &state, &timing()), Action::Renew);
    }

    #[test]
    fn a_candidate_that_cannot_read_keeps_counting() {
        let now = Instant::now();
        let mut state = candidate(now);
        state.saw(now, seen("other", "1"), SECOND * 2);
        state.failed(now + SECOND * 14, SECOND * 2);
        // It may try; the write carries the version it saw and fails if the holder renewed meanwhile.
        assert_eq!(decide(now + SECOND * 16, &state, &timing()), Action::Take);
    }

    /// One step of a world in which two processes share one Lease over an unreliable network.
    #[derive(Debug, Clone)]
    enum Step {
        /// Time passes.
        Pass(u64),
        /// A process does what `decide` says; the network drops the request, the answer, or nothing.
        Act { process: usize, fate: u8, travel: u64 },
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..4000u64).prop_map(Step::Pass),
            (0..2usize, 0..10u8, 0..3000u64).prop_map(|(process, fate, travel)| Step::Act {
                process,
                fate,
                travel
            }),
        ]
    }

    /// The server's side: one record, one version.
    #[derive(Default)]
    struct Server {
        lease: Option<(String, u64)>,
    }

    impl Server {
        fn seen(&self) -> Option<(String, Duration, String)> {
            let (holder, version) = self.lease.as_ref()?;
            seen(holder, &version.to_string())
        }

        /// A write on top of the version `over` (none: creation).
        fn write(&mut self, holder: &str, over: Option<&str>) -> Option<String> {
            let current = self.lease.as_ref().map(|(_, version)| version.to_string());
            if current.as_deref() != over {
                return None;
            }
            let version = self.lease.as_ref().map_or(1, |(_, version)| version + 1);
            self.lease = Some((holder.to_owned(), version));
            Some(version.to_string())
        }
    }

    fn act(server: &mut Server, state: &mut State, now: &mut Instant, fate: u8, travel: Duration) {
        let retry = SECOND * 2;
        let sent = *now;
        let over = match &state.view {
            View::Present(sight) => Some(sight.version.clone()),
            _ => None,
        };
        match decide(sent, state, &timing()) {
            Action::Wait(_) => {}
            Action::StandDown => state.stood_down(sent, retry),
            Action::Read => {
                let lease = server.seen();
                *now += travel;
                if fate < 2 { state.failed(*now, retry) } else { state.saw(*now, lease, retry) }
            }
            Action::Create | Action::Take | Action::Renew => {
                *now += travel;
                if fate == 0 {
                    return state.failed(*now, retry);
                }
                let written = server.write(&state.identity.clone(), over.as_deref());
                *now += travel;
                match written {
                    _ if fate == 1 => state.failed(*now, retry),
                    Some(version) => state.wrote(sent, version, &timing(), retry),
                    None => state.lost_race(*now),
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn never_do_two_processes_lead(steps in proptest::collection::vec(step(), 0..400)) {
            let mut now = Instant::now();
            let mut server = Server::default();
            let mut states = [State::new("a".into(), now), State::new("b".into(), now)];
            for step in steps {
                match step {
                    Step::Pass(millis) => now += Duration::from_millis(millis),
                    Step::Act { process, fate, travel } => {
                        act(&mut server, &mut states[process], &mut now, fate, Duration::from_millis(travel));
                    }
                }
                // Each believes what its deadline says, whether or not it has been polled since.
                let leading = states.iter().filter(|state| state.deadline(&timing()).is_some_and(|end| now < end)).count();
                prop_assert!(leading <= 1, "two leaders");
            }
        }
    }
}
