//! What admission makes of objects, seen by a client.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod admission {
    pub(crate) mod caller;
    pub(crate) mod hooks;
    mod plugins;
    mod quota;
    mod security;
    mod webhooks;
}
