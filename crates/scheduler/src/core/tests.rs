//! The core against a small world that takes its actions literally and checks every one of them.

mod backfill;
mod explain;
mod fairness;
mod gangs;
mod preemption;
mod random;
mod world;
