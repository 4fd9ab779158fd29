//! The namespace of a user: what it is called, what it holds, and making it so.

mod ensure;
mod limits;
mod name;
mod objects;

pub(crate) use ensure::Namespaces;
pub(crate) use limits::check_limits;
pub use limits::{SpecialLimits, UserLimits};
pub(crate) use name::namespace_of;
pub(crate) use objects::{QUOTA, quota_facts};
