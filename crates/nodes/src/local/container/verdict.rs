//! How a run ended, as the status shows it.

use std::{
    io::{self, Read, Seek},
    path::Path,
};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Container;

use super::prepare::Prepared;
use crate::local::log;

/// How much a termination message may hold.
const LONGEST_MESSAGE: u64 = 4096;
/// What programs say that become the container's, when they cannot.
const STARTERS: [&str; 3] =
    ["setpriv: failed to execute ", "setsid: failed to execute ", "unshare: failed to execute "];

impl Prepared {
    /// Exit code, reason and message as the status shows them.
    pub(super) fn verdict(
        &self,
        code: i32,
        now: Timestamp,
        since: Timestamp,
    ) -> (i32, Option<&'static str>, Option<String>) {
        let said = self.message(code);
        let quick = now.duration_since(since).as_secs() < 5;
        if quick && let Some(line) = self.refusal(code) {
            return (128, Some("StartError"), Some(line));
        }
        (code, None, said)
    }

    pub(super) fn message(&self, code: i32) -> Option<String> {
        let bytes = end_of(&self.message_file).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let fall_back = policy(&self.container) == "FallbackToLogsOnError" && code != 0;
        let text = if text.is_empty() && fall_back { log::tail(&self.log_file) } else { text };
        (!text.is_empty()).then_some(text)
    }

    /// What bubblewrap says itself when there is nothing to run, or what makes the user or takes the terminal before.
    fn refusal(&self, code: i32) -> Option<String> {
        let speakers: &[&str] = match code {
            1 => &["bwrap: "],
            126 | 127 => &STARTERS,
            _ => return None,
        };
        let text = log::tail(&self.log_file);
        let said =
            |line: &str| speakers.iter().find_map(|speaker| line.strip_prefix(speaker)).map(str::to_owned);
        text.lines().find_map(said)
    }
}

/// The last words of a file that may be of any size.
fn end_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(LONGEST_MESSAGE);
    file.seek(io::SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(LONGEST_MESSAGE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn policy(container: &Container) -> &str {
    container.termination_message_policy.as_deref().unwrap_or("File")
}
