//! The scheduler on every kind of cluster, and under every kind of trouble the embedded one can make.
//!
//! Named like the other suites that `make real` runs against a real API server.

#![expect(clippy::panic, reason = "a test stops at the first surprise")]

mod scheduler {
    mod accounts;
    mod affinity;
    mod cards;
    mod checks;
    mod explain;
    mod faults;
    mod gangs;
    mod groups;
    mod history;
    mod leaders;
    mod pods;
    mod preemption;
    mod setup;
    mod unknown;
    mod volumes;
    mod witness;
}
