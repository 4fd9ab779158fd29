//! Clusters for tests, and the parity suite that holds the embedded one to the real one.

pub mod parity;
pub mod target;
