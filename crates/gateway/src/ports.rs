//! Ports of programs in a Pod as web pages, each with an origin of its own.
//!
//! Start with [`Proxy`]: it takes a request, asks a [`Gate`] whether its visitor may, and carries it to a port on the
//! loopback of the Pod. [`Apps`] says how addresses of apps look, `site` which requests are believed, `headers` what
//! is taken out of them on the way there and back. All of these are pure. The gate knows users; the proxy knows none.
//!
//! Invariants: nothing that proves who somebody is to the portal reaches an app, nothing an app says is heard beyond
//! its own origin, and bodies are carried as they come, however long they are and last.

mod apps;
mod body;
mod escape;
mod gate;
mod headers;
mod page;
mod pool;
mod proxy;
mod site;

pub use apps::{AppLabel, Apps, UnknownApps};
pub use gate::{Entry, Gate, Io, Pass, Proof, Refusal, Visit};
pub use proxy::Proxy;
