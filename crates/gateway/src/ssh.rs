//! An SSH server whose sessions are the exec and port-forward of Pods: no sshd, no port and no key in the Pod.
//!
//! Start with [`serve`], which takes connections, then `connection`, which answers what a client asks, `session` (shells,
//! commands, SFTP), `forward` and `remote` (ports both ways), `agent` (the client's own, for programs in the Pod). `inlet`
//! is where what a client sends waits for a Pod that reads slowly. `certificate` is our own authority for short-lived
//! certificates. What runs in the Pod is said in `command`, and `helper` brings along what images do not have: the one of
//! `programs` that fits their processor. `frame` and `greeting` are what it says when it listens there.
//!
//! Who may enter is asked of a [`Door`]. A refusal looks the same whatever its reason.

mod agent;
mod certificate;
mod command;
mod connection;
mod door;
mod forward;
mod frame;
mod greeting;
mod helper;
mod inlet;
mod key;
mod machine;
mod programs;
mod remote;
mod serve;
mod session;

pub use certificate::{Authority, CertificateError, Rights};
pub use door::{Door, Knock, Proof, Report, Visit};
pub use key::{KeyError, SecretKey, UserKey};
pub use programs::{Helpers, HelpersError};
pub use serve::{Limits, serve};
