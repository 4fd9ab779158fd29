//! How a simulated container behaves: the `sim.maar.io/` annotations of its Pod.
//!
//! An annotation holds for the Pod's main containers; with the name of a container and a dot before the last part
//! (`sim.maar.io/prepare.run-time`) it holds for that container only, whatever its kind. A command that only sleeps
//! stands in for a run time that no annotation gives.

use std::{collections::BTreeMap, time::Duration};

use super::{Role, sleep::Sleep};
use crate::duration;

/// Domain of the annotations.
pub(crate) const PREFIX: &str = "sim.maar.io/";

/// An ordinary init container that nothing is said about takes this long.
const INIT_RUN_TIME: Duration = Duration::from_secs(1);

/// What the annotations and the command say about one container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Behaviour {
    /// `start-delay`: from being assigned to running.
    pub(crate) start_delay: Option<Duration>,
    /// `run-time`: from running to the exit; without it the container runs until it is stopped.
    pub(crate) run_time: Option<Duration>,
    /// `exit-code` at the end of the run time.
    pub(crate) exit_code: i32,
    /// `crash-after`: exits with 1, or with `exit-code` if that is not 0.
    pub(crate) crash_after: Option<Duration>,
    /// `ready-after`: from running to ready.
    pub(crate) ready_after: Option<Duration>,
    /// `stop-delay`: how long the container takes to end when asked to.
    pub(crate) stop_delay: Duration,
}

/// `sim.maar.io/fail-now`: what befalls the running containers at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FailNow {
    /// They exit with this code.
    Exit(i32),
    /// They are killed for using too much memory.
    OutOfMemory,
    /// The kubelet ends the whole Pod with this reason.
    Evict(Box<str>),
}

impl FailNow {
    /// Reads an exit code or a reason. Text after a slash is ignored, so that the same failure can be asked for again
    /// (`137/second`).
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.split('/').next().unwrap_or_default().trim();
        if let Ok(code) = text.parse::<i32>() {
            return match code {
                0..=255 => Ok(Self::Exit(code)),
                _ => Err(refusal("fail-now", text, "an exit code from 0 to 255")),
            };
        }
        let is_reason = text.starts_with(|first: char| first.is_ascii_uppercase())
            && text.chars().all(|character| character.is_ascii_alphanumeric());
        match text {
            "OOMKilled" => Ok(Self::OutOfMemory),
            reason if is_reason => Ok(Self::Evict(reason.into())),
            _ => Err(refusal("fail-now", text, "an exit code, OOMKilled, or a reason such as Evicted")),
        }
    }
}

fn refusal(name: &str, value: &str, allowed: &str) -> String {
    format!("annotation {PREFIX}{name}: {value:?} is not allowed; use {allowed}")
}

/// The annotations of one Pod, read for one container after the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Annotations<'a>(pub(crate) Option<&'a BTreeMap<String, String>>);

impl<'a> Annotations<'a> {
    fn get(self, key: &str) -> Option<&'a str> {
        self.0?.get(key).map(String::as_str)
    }

    /// The value for `container`: its own one, or the Pod's if the container is a main one.
    fn value(self, container: &str, is_main: bool, name: &str) -> Option<&'a str> {
        let general = || if is_main { self.get(&format!("{PREFIX}{name}")) } else { None };
        self.get(&format!("{PREFIX}{container}.{name}")).or_else(general)
    }

    fn time(self, container: &str, is_main: bool, name: &str) -> Result<Option<Duration>, String> {
        let Some(text) = self.value(container, is_main, name) else { return Ok(None) };
        duration::parse(text)
            .map_or_else(|| Err(refusal(name, text, duration::ALLOWED)), |time| Ok(Some(time)))
    }

    fn exit_code(self, container: &str, is_main: bool) -> Result<i32, String> {
        let Some(text) = self.value(container, is_main, "exit-code") else { return Ok(0) };
        let code = text.trim().parse::<u8>().map_err(|_| refusal("exit-code", text, "0 to 255"))?;
        Ok(i32::from(code))
    }

    /// What the annotations say about `container`, whose command may be a sleep; the error is for people to read.
    pub(crate) fn behaviour(
        self,
        container: &str,
        role: Role,
        sleep: Option<Sleep>,
    ) -> Result<Behaviour, String> {
        let is_main = role == Role::Main;
        let time = |name| self.time(container, is_main, name);
        let implied = match sleep {
            Some(Sleep::For(time)) => Some(time),
            Some(Sleep::Forever) => None,
            None => (role == Role::Init).then_some(INIT_RUN_TIME),
        };
        Ok(Behaviour {
            start_delay: time("start-delay")?,
            run_time: time("run-time")?.or(implied),
            exit_code: self.exit_code(container, is_main)?,
            crash_after: time("crash-after")?,
            ready_after: time("ready-after")?,
            stop_delay: time("stop-delay")?.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| (format!("{PREFIX}{name}"), (*value).to_owned())).collect()
    }

    #[test]
    fn a_container_of_its_own_name_comes_first() {
        let map = annotations(&[("run-time", "10s"), ("prepare.run-time", "3s"), ("exit-code", "7")]);
        let annotations = Annotations(Some(&map));
        let main = annotations.behaviour("main", Role::Main, None).unwrap();
        assert_eq!((main.run_time, main.exit_code), (Some(Duration::from_secs(10)), 7));
        let prepare = annotations.behaviour("prepare", Role::Init, None).unwrap();
        assert_eq!((prepare.run_time, prepare.exit_code), (Some(Duration::from_secs(3)), 0));
        let other = annotations.behaviour("other", Role::Init, None).unwrap();
        assert_eq!(other.run_time, Some(INIT_RUN_TIME));
        assert_eq!(annotations.behaviour("side", Role::Sidecar, None).unwrap(), Behaviour::default());
    }

    #[test]
    fn a_sleep_is_a_run_time_that_annotations_and_only_they_outdo() {
        let map = annotations(&[("run-time", "10s"), ("exit-code", "7"), ("init.exit-code", "5")]);
        let (said, silent) = (Annotations(Some(&map)), Annotations(None));
        let sleep = |seconds| Some(Sleep::For(Duration::from_secs(seconds)));
        let rows = [
            (said, Role::Main, "main", sleep(60), Some(10), 7),
            (said, Role::Main, "main", Some(Sleep::Forever), Some(10), 7),
            (said, Role::Init, "init", sleep(60), Some(60), 5),
            (silent, Role::Main, "main", sleep(60), Some(60), 0),
            (silent, Role::Main, "main", Some(Sleep::Forever), None, 0),
            (silent, Role::Init, "init", sleep(60), Some(60), 0),
            (silent, Role::Init, "init", Some(Sleep::Forever), None, 0),
            (silent, Role::Sidecar, "side", sleep(60), Some(60), 0),
        ];
        for (annotations, role, name, sleep, want, want_code) in rows {
            let got = annotations.behaviour(name, role, sleep).unwrap();
            assert_eq!(
                (got.run_time, got.exit_code),
                (want.map(Duration::from_secs), want_code),
                "{name} {sleep:?}"
            );
        }
    }

    #[test]
    fn errors_name_the_annotation_and_what_it_allows() {
        for (name, value) in [("run-time", "soon"), ("exit-code", "300"), ("ready-after", "-1s")] {
            let map = annotations(&[(name, value)]);
            let error = Annotations(Some(&map)).behaviour("c", Role::Main, None).unwrap_err();
            assert!(error.contains(&format!("sim.maar.io/{name}")) && error.contains(value), "{error}");
        }
    }

    #[test]
    fn fail_now_is_a_code_or_a_reason() {
        let rows = [
            ("137", Ok(FailNow::Exit(137))),
            ("1/again", Ok(FailNow::Exit(1))),
            ("OOMKilled", Ok(FailNow::OutOfMemory)),
            ("Evicted", Ok(FailNow::Evict("Evicted".into()))),
        ];
        for (text, want) in rows {
            assert_eq!(FailNow::parse(text), want, "{text}");
        }
        for text in ["", "256", "-1", "bad reason", "lower"] {
            assert!(FailNow::parse(text).is_err(), "{text}");
        }
    }
}
