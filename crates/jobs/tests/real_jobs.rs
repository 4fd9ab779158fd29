//! The role `jobs` on every kind of cluster, and under every kind of trouble the embedded one can make.
//!
//! Named like the other suites that `make real` runs against a real API server.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod jobs {
    mod accounts;
    mod belongings;
    mod cleanup;
    mod faults;
    mod hostile;
    mod lives;
    mod nightly;
    mod prometheus;
    mod setup;
    mod volcano;
    mod with_volcano;
    mod world;
}
