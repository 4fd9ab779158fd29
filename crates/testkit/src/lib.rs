//! Clusters for tests: scenarios that are written once and run on every kind of cluster, and the parity suite that
//! holds the embedded one to the real one. Start reading at [`scenario`]; docs/guide/testing.md shows how to use it.

pub mod absent;
pub mod build;
pub mod parity;
pub mod ports;
pub mod read;
pub mod sample;
pub mod scenario;
pub mod target;

/// As in the binary. Suites that run roles on a cluster ask for memory all the time, and wait for this one less.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
