//! The parity suite: requests and answers as data.
//!
//! A [`Row`] is a few requests. Run against a cluster it gives a transcript: codes and bodies, without what differs
//! from run to run. The transcripts of a real API server are checked in beside the rows; the embedded cluster must
//! give the same, and `make real` checks that the real one still does.
//!
//! Start at `row` for how rows are written, `run` for how they are played, `normal` for what is not compared.

mod call;
mod custom;
mod diff;
mod known;
mod normal;
mod row;
mod run;

pub use diff::diff;
pub use known::{Known, known_differences};
pub use row::{Row, Step, rows};
pub use run::transcript;
