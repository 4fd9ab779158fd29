//! Who may do what: one pure function, [`decide`], for every route, stream and log.
//!
//! [`Subject`] is who asks, [`Object`] what it is about. Nothing is allowed unless a line in [`decide`] says so.

mod audience;
mod decide;
mod object;
mod roles;
mod scope;
mod subject;

pub(crate) use audience::Audience;
pub(crate) use decide::{Denied, decide, may};
pub(crate) use object::{Kind, Object, Owner, Verb};
pub(crate) use roles::{AccountRole, roles_of};
pub(crate) use scope::Scope;
pub(crate) use subject::{Person, Subject};
