//! The namespace of a user: what it is called, what it holds, and making it so.

mod ensure;
mod name;
mod objects;

pub(crate) use ensure::Namespaces;
pub(crate) use name::namespace_of;
pub use objects::UserLimits;
pub(crate) use objects::{QUOTA, quota_facts};
