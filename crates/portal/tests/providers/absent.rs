//! Saying what could not be tested.

use std::io::Write as _;
use std::path::Path;

/// Says which test could not be made without `program`: past the test harness, which keeps what passing tests say to
/// itself, and in a file that `dev/absent` reads.
pub(crate) fn absent(program: &str, test: &str) {
    let line = format!("absent: {program}: {test}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("absent");
    let file = std::fs::OpenOptions::new().create(true).append(true).open(file);
    file.and_then(|mut file| file.write_all(line.as_bytes())).unwrap();
}
