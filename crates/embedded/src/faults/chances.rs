//! Faults by seed: how likely each kind is.

use std::time::Duration;

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::{Fault, Moment, Subject};

/// How likely each kind of fault is for each request it can meet, from 0 to 1.
///
/// Chance keeps to what Kubernetes allows: creations do not conflict, and only lists that are content with an older
/// state (`resourceVersion=0`) get one. A [`Rule`](super::Rule) is bound by neither.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chances {
    /// Of updates, patches and deletions.
    pub conflict: f64,
    /// Of any request.
    pub too_many_requests: f64,
    /// Of any request.
    pub internal_error: f64,
    /// Of writes.
    pub lost_answer: f64,
    /// Of any request.
    pub slow: f64,
    /// The longest wait of a slow request or a late watch.
    pub slowest: Duration,
    /// Of lists that ask for `resourceVersion=0`.
    pub stale_list: f64,
    /// Of watches.
    pub late_watch: f64,
    /// Of watches.
    pub dropped_watch: f64,
    /// Of watches.
    pub repeated_watch: f64,
    /// Of writes: the component dies, half the time after the write took effect.
    pub crash: f64,
}

impl Chances {
    /// Nothing goes wrong.
    pub const NONE: Self = Self {
        conflict: 0.0,
        too_many_requests: 0.0,
        internal_error: 0.0,
        lost_answer: 0.0,
        slow: 0.0,
        slowest: Duration::ZERO,
        stale_list: 0.0,
        late_watch: 0.0,
        dropped_watch: 0.0,
        repeated_watch: 0.0,
        crash: 0.0,
    };

    /// A bad day: every kind happens now and then, and work still gets done.
    pub const ROUGH: Self = Self {
        conflict: 0.05,
        too_many_requests: 0.02,
        internal_error: 0.02,
        lost_answer: 0.02,
        slow: 0.05,
        slowest: Duration::from_secs(3),
        stale_list: 0.3,
        late_watch: 0.1,
        dropped_watch: 0.2,
        repeated_watch: 0.2,
        crash: 0.0,
    };

    pub(super) fn draw(&self, subject: &Subject, dice: &mut ChaCha8Rng) -> Option<Fault> {
        // One number decides which, further ones how much: a request that is spared costs one number.
        let mut left: f64 = dice.random();
        for (chance, make) in self.kinds(subject) {
            if left < chance {
                return Some(make(self, dice));
            }
            left -= chance;
        }
        None
    }

    fn kinds(&self, subject: &Subject) -> Vec<(f64, Make)> {
        let mut kinds: Vec<(f64, Make)> = vec![
            (self.too_many_requests, |_, dice| Fault::TooManyRequests {
                retry_seconds: dice.random_range(1..=5),
            }),
            (self.internal_error, |_, _| Fault::InternalError),
            (self.slow, |chances, dice| Fault::Slow(chances.wait(dice))),
        ];
        if subject.is_write() {
            if subject.verb != "create" {
                kinds.push((self.conflict, |_, _| Fault::Conflict));
            }
            kinds.push((self.lost_answer, |_, _| Fault::LostAnswer));
            kinds.push((self.crash, |_, dice| {
                Fault::Crash(if dice.random() { Moment::Before } else { Moment::After })
            }));
        }
        if subject.verb == "list" && subject.lenient {
            kinds.push((self.stale_list, |_, dice| Fault::StaleList { behind: dice.random_range(1..=50) }));
        }
        if subject.verb == "watch" {
            kinds.push((self.late_watch, |chances, dice| Fault::LateWatch(chances.wait(dice))));
            kinds.push((self.dropped_watch, |_, dice| Fault::DroppedWatch {
                after: dice.random_range(0..=20),
            }));
            kinds.push((self.repeated_watch, |_, dice| Fault::RepeatedWatch {
                events: dice.random_range(1..=5),
            }));
        }
        kinds
    }

    fn wait(&self, dice: &mut ChaCha8Rng) -> Duration {
        self.slowest.mul_f64(dice.random())
    }
}

type Make = fn(&Chances, &mut ChaCha8Rng) -> Fault;

#[cfg(test)]
mod tests {
    use http::{Method, Uri};
    use rand::SeedableRng;

    use super::*;

    fn drawn(chances: Chances, method: &Method, path: &'static str) -> Vec<Option<Fault>> {
        let subject = Subject::of_request(&"a".into(), method, &Uri::from_static(path));
        let mut dice = ChaCha8Rng::seed_from_u64(1);
        (0..2000).map(|_| chances.draw(&subject, &mut dice)).collect()
    }

    fn share(faults: &[Option<Fault>], name: &str) -> usize {
        faults.iter().flatten().filter(|fault| fault.name() == name).count()
    }

    #[test]
    fn chance_keeps_to_its_shares_and_to_what_kubernetes_allows() {
        let created = drawn(Chances::ROUGH, &Method::POST, "/api/v1/namespaces/n/pods");
        assert_eq!(share(&created, "conflict"), 0);
        assert!((20..80).contains(&share(&created, "lost-answer")), "{}", share(&created, "lost-answer"));
        let updated = drawn(Chances::ROUGH, &Method::PUT, "/api/v1/namespaces/n/pods/p");
        assert!((60..140).contains(&share(&updated, "conflict")), "{}", share(&updated, "conflict"));
        let listed = drawn(Chances::ROUGH, &Method::GET, "/api/v1/namespaces/n/pods");
        assert_eq!(share(&listed, "stale-list"), 0, "a list of the newest state is never stale");
        let lenient = drawn(Chances::ROUGH, &Method::GET, "/api/v1/namespaces/n/pods?resourceVersion=0");
        assert!(share(&lenient, "stale-list") > 400);
        let watched = drawn(Chances::ROUGH, &Method::GET, "/api/v1/pods?watch=1");
        for name in ["late-watch", "dropped-watch", "repeated-watch"] {
            assert!(share(&watched, name) > 100, "{name}");
        }
    }
}
