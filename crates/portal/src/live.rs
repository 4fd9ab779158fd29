//! The cluster as the watches last saw it: pages are made from here, without asking the cluster.

mod change;
mod feed;
mod pod;
mod store;
mod things;

pub(crate) use change::{Change, Changes, Topic};
pub(crate) use feed::{Live, feed};
pub(crate) use pod::{PodFacts, Work};
pub(crate) use store::{Store, Turn};
pub(crate) use things::{AppFacts, ClaimFacts, QuotaFacts};
