//! Breaking a node on command: the annotation `sim.maar.io/fail`.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// Name of the annotation.
pub const FAIL_ANNOTATION: &str = "sim.maar.io/fail";

/// What is broken about a node. Written and read as a list such as `not-ready,cards=3`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failures {
    /// The node says that it is not ready; everything else goes on.
    pub not_ready: bool,
    /// Nothing is heard of the node itself, neither its lease nor its status; its Pods go on and are reported.
    pub lease_lost: bool,
    /// Nothing reaches the node and nothing comes from it, but its containers run on.
    pub network: bool,
    /// So many cards are broken and not offered any more.
    pub cards: u32,
}

impl Failures {
    /// Nothing is broken.
    pub const NONE: Self = Self { not_ready: false, lease_lost: false, network: false, cards: 0 };
}

/// A failure that does not exist.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("{0:?} is no failure; use not-ready, lease-lost, network, cards=N, or several with commas between")]
pub struct FailureError(String);

impl FromStr for Failures {
    type Err = FailureError;

    fn from_str(text: &str) -> Result<Self, FailureError> {
        let mut failures = Self::NONE;
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word.split_once('=') {
                None if word == "not-ready" => failures.not_ready = true,
                None if word == "lease-lost" => failures.lease_lost = true,
                None if word == "network" => failures.network = true,
                Some(("cards", count)) => {
                    failures.cards = count.trim().parse().map_err(|_| FailureError(word.into()))?;
                }
                _ => return Err(FailureError(word.into())),
            }
        }
        Ok(failures)
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags =
            [(self.not_ready, "not-ready"), (self.lease_lost, "lease-lost"), (self.network, "network")];
        let mut words: Vec<String> =
            flags.into_iter().filter(|(set, _)| *set).map(|(_, word)| word.to_owned()).collect();
        if self.cards > 0 {
            words.push(format!("cards={}", self.cards));
        }
        formatter.write_str(&words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_read_and_written() {
        for text in ["", "not-ready", "lease-lost", "network", "cards=3", "not-ready,network,cards=8"] {
            assert_eq!(text.parse::<Failures>().unwrap().to_string(), text);
        }
        for text in ["fire", "cards", "cards=x", "not-ready=1"] {
            let error = text.parse::<Failures>().unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("lease-lost"), "{error}");
        }
    }
}
