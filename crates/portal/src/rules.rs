//! What people may put into Pods: names, images, paths, and templates of whole Pods. Pure.
//!
//! Everything that would lead out of a container is refused here with the field that asks for it, before the cluster
//! refuses it without saying to whom.

mod field;
mod host_path;
mod template;
mod text;

pub(crate) use field::check_stop;
pub use host_path::HostPath;
pub(crate) use host_path::{NewHostPath, host_path};
pub(crate) use template::{check_template, check_word};
pub(crate) use text::{Wrong, check_env, check_image, check_mounts, check_name, check_path};
