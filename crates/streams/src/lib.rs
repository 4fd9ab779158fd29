//! exec, attach and port-forward on the wire.

pub mod dial;
