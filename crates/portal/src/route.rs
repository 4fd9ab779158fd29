//! Routes: declared once, reached only through the guard.
//!
//! A [`Route`] says its method, path, what it wants ([`Verb`](crate::access::Verb)) of what ([`Target`]), and who does
//! it. The router, the OpenAPI document and the matrix of permissions are all made from the one [`table`]; a handler
//! gets a [`Call`], and only the [`guard`] makes those, after it has asked [`decide`](crate::access::decide).

mod answer;
mod audit;
mod body;
mod call;
mod guard;
#[cfg(test)]
mod matrix;
mod table;
mod target;

pub(crate) use answer::Answer;
pub(crate) use call::Call;
pub(crate) use guard::router;
pub(crate) use table::{Answers, Method, Route, table};
pub(crate) use target::{Found, Target};
