//! The local node on the embedded cluster: real processes, in real time.
//!
//! Every test begins with a look for bubblewrap; where it is missing there is no local node and nothing to test, and
//! the test says so by name (`dev/absent` lists them).

#[path = "../support/absent.rs"]
mod absent;
mod access;
mod life;
mod programs;
mod storage;
mod world;
