//! The status of accounts: what each holds and waits for, what it has borrowed, and whether the tree makes sense.
//!
//! [`claim`] reduces a Pod to what it costs its account, [`plan`] adds all of them up along the tree, [`reconcile`] writes
//! what has changed, for every account at most once in a while however many Pods come and go.

mod claim;
mod plan;
mod reconcile;

pub(crate) use reconcile::Accounts;
