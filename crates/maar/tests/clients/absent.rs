//! What could not be tried here, said where it is seen: at once, and by `dev/absent` at the end of `make test`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use crate::suite::say;

/// Says that something is missing, if it is, and what that costs.
pub(crate) fn report(what: &str, cost: Option<String>) {
    let Some(cost) = cost else { return };
    let line = format!("absent: {what}: {cost}");
    say(&line);
    let notes = Path::new(env!("CARGO_TARGET_TMPDIR")).join("absent");
    let mut notes = OpenOptions::new().create(true).append(true).open(notes).unwrap();
    writeln!(notes, "{line}").unwrap();
}
