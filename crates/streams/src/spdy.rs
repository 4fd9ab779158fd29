//! SPDY/3.1: many streams on one connection, as kubectl and kube-apiserver speak it to kubelets.
//!
//! From pure to not: [`frame`] (what travels), [`encoder`] and [`decoder`] (its bytes), [`session`] (the state of
//! all streams, no I/O), [`connection`] (the task around a socket and the streams it hands out).
//!
//! The peer that matters, Go's spdystream, knows the frames of flow control but neither sends them nor heeds them: it
//! relies on TCP alone. See [`session`] for how both kinds of peers are served.

pub(crate) mod connection;
pub(crate) mod decoder;
pub(crate) mod dictionary;
pub(crate) mod encoder;
pub(crate) mod exec;
pub(crate) mod frame;
pub(crate) mod portforward;
pub(crate) mod session;
