//! What can be done with objects, whoever asks: the HTTP handlers and the built-in controllers call the same
//! functions. One verb a file; `prepare` holds the steps all writes share.

mod create;
mod delete;
mod modify;
mod owners;
mod patch;
mod prepare;
mod read;
mod watch;
mod yaml;

use std::sync::Arc;

pub(crate) use delete::{DEFINITION_CLEANUP, DeleteOptions, Deleted, FOREGROUND, ORPHAN, Propagation};
pub(crate) use modify::Changed;
pub(crate) use patch::PatchBody;
pub(crate) use prepare::decode_body;
pub(crate) use read::{ListOptions, Page, Selection};
pub(crate) use watch::{WatchEvent, WatchOptions, WatchStream};
pub(crate) use yaml::{decode_yaml, yaml_keys_twice};

use crate::store::Entry;

/// How often a write is tried anew when somebody else was quicker and the client did not insist on a revision.
pub(crate) const ATTEMPTS: usize = 64;

/// The result of a write.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) entry: Arc<Entry>,
    /// Whether the object is new.
    pub(crate) created: bool,
    /// What the client should know, sent as `Warning` headers.
    pub(crate) warnings: Vec<String>,
}
