//! Clean-up policies: what they say, what they would do, and switching them on.
//!
//! A policy is a part of its account. Whatever is written is switched off (`dryRun`); it is switched on by a call of its
//! own, and only after a preview of exactly this policy: the audit log, which keeps every preview with the hash of what was
//! previewed, is the memory of that. So it holds across replicas and restarts, nobody has to carry a token around, and
//! whoever asks later who switched it on also finds what he had been shown.

mod handlers;
mod preview;

pub(crate) use handlers::routes;
