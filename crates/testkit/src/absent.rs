//! Saying what could not be tested, so that nobody takes silence for success.

use std::{fs::OpenOptions, io::Write as _, path::Path};

/// Says what is missing and what that costs: past the test harness, which keeps what passing tests say to itself, and in a
/// file of this folder that `dev/absent` reads. Called by [`absent!`](crate::absent!), which knows the folder.
pub fn note(folder: &str, what: &str, cost: &str) {
    let line = format!("absent: {what}: {cost}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    keep(folder, &line);
}

fn keep(folder: &str, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(Path::new(folder).join("absent"));
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the target folder can be written");
}

/// What the test is called that runs here.
pub fn this_test() -> String {
    std::thread::current().name().unwrap_or("unknown").to_owned()
}

/// Says in an integration test that it could not be made without a program, or what else that costs.
#[macro_export]
macro_rules! absent {
    ($what:expr) => {
        $crate::absent!($what, &$crate::absent::this_test())
    };
    ($what:expr, $cost:expr) => {
        $crate::absent::note(env!("CARGO_TARGET_TMPDIR"), $what, $cost)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_added_to_what_is_known() {
        let folder = tempfile::tempdir().unwrap();
        // Not by `note`: whoever runs the tests would take it for something that is missing.
        for line in ["absent: kubectl: one\n", "absent: kubectl: two\n"] {
            keep(folder.path().to_str().unwrap(), line);
        }
        let noted = std::fs::read_to_string(folder.path().join("absent")).unwrap();
        assert_eq!(noted, "absent: kubectl: one\nabsent: kubectl: two\n");
        assert!(this_test().ends_with("what_is_missing_is_added_to_what_is_known"), "{}", this_test());
    }
}
