//! Ways into a Pod that need nothing in it: SSH, and the ports of its programs.
//!
//! `pod` is exec and port-forward as streams, [`ssh`] an SSH server whose sessions are those, [`ports`] a way for browsers
//! to what listens there, [`hangup`] what becomes of programs whose client has left. Nothing here knows who people are:
//! what has to be asked is asked of a [`ssh::Door`].

pub mod hangup;
pub mod pod;
pub mod ports;
pub mod ssh;
