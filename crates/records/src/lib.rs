//! What Kubernetes forgets, in SQL: users and how they log in, sessions, API keys, the audit log, saved things.
//!
//! Start at [`Records`]: one file per table adds its methods to it. `database` is the thin layer over the two
//! databases, SQLite and PostgreSQL, that lets every statement be written once.
//!
//! Invariants: the clock, ids and secrets are the caller's (secrets arrive hashed); every list is paged; every write is
//! idempotent or fails with a [`Error::Conflict`] that names the field; the audit log only grows, except by
//! [`Records::retain_audit`], which writes down what it did.
#![warn(missing_docs)]

mod attempt;
mod audit;
mod backup;
mod database;
mod error;
mod id;
mod identity;
mod issuer;
mod key;
mod known;
mod kubeconfig;
mod maintenance;
mod page;
mod port;
mod preference;
mod records;
mod secret;
mod session;
mod ssh_key;
mod template;
mod text;
mod user;

pub use attempt::{Attempt, AttemptLimit};
pub use audit::{Actor, ActorKind, AuditFilter, AuditRecord, Entry, Outcome, Retention};
pub use error::{Error, Result};
pub use id::{
    AuditId, KeyId, KubeconfigId, PasswordHash, SessionId, SshKeyId, TemplateId, TokenHash, UserId,
};
pub use identity::Identity;
pub use issuer::{
    Code, Device, DeviceState, Grant, Interaction, NewDevice, NewGrant, NewToken, SigningKey, Spent,
    TokenKind,
};
pub use key::{Key, NewKey};
pub use kubeconfig::Kubeconfig;
pub use maintenance::{Keep, Purged};
pub use page::{Cursor, Listing, MAX_LIMIT, Page};
pub use port::{PortPlace, PortVisit, SharedPort};
pub use records::{Records, Schema};
pub use session::{NewSession, Session};
pub use ssh_key::{NewSshKey, SshKey};
pub use template::{Template, TemplateFilter, TemplateText};
pub use user::{NewUser, Standing, User, UserChange, UserFilter};
