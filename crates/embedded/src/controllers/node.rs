//! Nodes that fall silent, and the Pods on them.
//!
//! `lifecycle` marks silent nodes and taints troubled ones, `eviction` removes Pods that do not tolerate a
//! `NoExecute` taint, `podgc` removes Pods of nodes that are gone and old ended ones. `index` knows which Pods are
//! on a node without asking all of them.

mod eviction;
mod index;
mod lifecycle;
mod podgc;
mod ttl;
mod zones;

pub(crate) use eviction::TaintEviction;
pub(crate) use lifecycle::NodeLifecycle;
pub(crate) use podgc::PodGarbageCollector;
pub(crate) use ttl::NodeTtl;
