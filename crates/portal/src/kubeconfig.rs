//! Kubeconfigs: kubectl for the own namespace, one for each device, for hours.
//!
//! Whoever has one may in the namespace of its owner what the ClusterRole `maar-user` says (deploy/rbac/user.yaml), by a
//! RoleBinding of its own: revoking one is to take that away, whatever proves who has it. Start at `handlers`; what is
//! made is in pure functions beside: `objects`, `text`, `request`.

mod certificate;
mod grant;
mod handlers;
mod objects;
mod request;
mod routes;
mod settings;
mod text;

pub use grant::install_user_role;
pub(crate) use grant::{revoke_all, revoke_beyond, sweep};
pub use request::{Request, certificate_name, certificate_pem};
pub(crate) use routes::routes;
pub use settings::{KubeconfigMode, KubeconfigSettings};
