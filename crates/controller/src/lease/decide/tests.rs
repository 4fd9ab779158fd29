//! Single decisions, and a simulated world in which no schedule may make two leaders.

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
    /// Something happens to a process: it acts, its request arrives, or the answer does. A low fate loses it.
    Turn { process: usize, fate: u8 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        prop_oneof![0..300u64, 0..12_000u64].prop_map(Step::Pass),
        (0..2usize, 0..10u8).prop_map(|(process, fate)| Step::Turn { process, fate }),
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

/// Where a process's one request is.
enum Flight {
    None,
    Read,
    Write { sent: Instant, over: Option<String> },
    Seen(Option<(String, Duration, String)>),
    Written { sent: Instant, version: Option<String> },
    Lost,
}

struct Process {
    state: State,
    flight: Flight,
}

impl Process {
    fn turn(&mut self, server: &mut Server, now: Instant, fate: u8) {
        let (retry, lost) = (SECOND * 2, fate == 0);
        self.flight = match std::mem::replace(&mut self.flight, Flight::None) {
            Flight::None => self.act(now, retry),
            Flight::Read | Flight::Write { .. } if lost => Flight::Lost,
            Flight::Read => Flight::Seen(server.seen()),
            Flight::Write { sent, over } => {
                Flight::Written { sent, version: server.write(&self.state.identity, over.as_deref()) }
            }
            answer => {
                match answer {
                    Flight::Seen(lease) if !lost => self.state.saw(now, lease, retry),
                    Flight::Written { sent, version: Some(version) } if !lost => {
                        self.state.wrote(sent, version, &timing(), retry);
                    }
                    Flight::Written { version: None, .. } if !lost => self.state.lost_race(now),
                    _ => self.state.failed(now, retry),
                }
                Flight::None
            }
        };
    }

    fn act(&mut self, now: Instant, retry: Duration) -> Flight {
        let over = match &self.state.view {
            View::Present(sight) => Some(sight.version.clone()),
            _ => None,
        };
        match decide(now, &self.state, &timing()) {
            Action::Wait(_) => return Flight::None,
            Action::StandDown => self.state.stood_down(now, retry),
            Action::Read => return Flight::Read,
            Action::Create | Action::Take | Action::Renew => return Flight::Write { sent: now, over },
        }
        Flight::None
    }

    /// Each believes what its deadline says, whether or not it has had a turn since.
    fn leads(&self, now: Instant) -> bool {
        self.state.deadline(&timing()).is_some_and(|deadline| now < deadline)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]
    #[test]
    fn never_do_two_processes_lead(steps in proptest::collection::vec(step(), 0..600)) {
        let mut now = Instant::now();
        let mut server = Server::default();
        let mut processes =
            ["a", "b"].map(|name| Process { state: State::new(name.into(), now), flight: Flight::None });
        for step in steps {
            match step {
                Step::Pass(millis) => now += Duration::from_millis(millis),
                Step::Turn { process, fate } => processes[process].turn(&mut server, now, fate),
            }
            prop_assert!(processes.iter().filter(|process| process.leads(now)).count() <= 1, "two leaders");
        }
    }
}
