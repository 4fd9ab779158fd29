//! How much cards are used: now, in the last hour, and over a day.
//!
//! A [`CardSource`] is asked from time to time ([`sample`]); what it says is kept in a bounded [`History`], and the newest
//! of it for the heat map. Where to look: `reading` makes readings of metrics, `history` keeps them, both pure.

mod history;
mod reading;
mod sampler;
mod source;

pub use reading::{MakerMetrics, MetricNames, UnknownMetric};
pub use source::CardSource;

pub(crate) use history::{History, Point, STEP, STEPS, percent};
pub(crate) use reading::{CardKey, Maker, Reading};
pub(crate) use sampler::{Cards, sample};
