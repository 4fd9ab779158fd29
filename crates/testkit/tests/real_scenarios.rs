//! Scenarios, each on the embedded cluster in process, over TLS, and (by `make real`) on a real one.

mod scenarios {
    mod batch;
    mod clusters;
    mod daemon_set;
    mod deployment;
    mod disruption;
    mod garbage;
    mod job;
    mod network;
    mod quota;
    mod roles;
    mod scheduling;
    mod stateful_set;
    mod volume;
}
