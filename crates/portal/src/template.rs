//! Templates: what people save to begin from, for themselves or for an account.
//!
//! A template holds what a request would hold. It is checked when it is saved and again when something is made of it, in
//! the name of whoever makes it: a template carries no rights of the one who saved it.

mod handlers;
mod merge;
mod text;

pub(crate) use handlers::routes;
pub(crate) use merge::filled;
pub(crate) use text::{TemplateKind, object_of};
