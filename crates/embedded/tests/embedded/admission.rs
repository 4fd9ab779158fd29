//! What admission makes of objects, seen by a client.

mod caller;
mod hooks;
mod plugins;
mod quota;
mod security;
mod webhooks;
