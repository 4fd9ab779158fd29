//! Ports for programs that a test starts later.

use std::{
    net::{Ipv4Addr, TcpListener},
    sync::atomic::{AtomicU16, Ordering},
};

/// A port that nobody has.
pub fn free_port() -> u16 {
    free_ports(1)
}

/// The first of so many ports that nobody has, one after the other. They are below those that the kernel gives to whoever
/// dials: there, somebody has the port sooner or later that was free a moment ago.
pub fn free_ports(count: u16) -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Tests of other programs run at the same time, and each looks elsewhere.
    let first = 10_000 + (std::process::id() % 1000) as u16 * 20;
    loop {
        let port = first + NEXT.fetch_add(count, Ordering::Relaxed);
        assert!(port < 32_000, "all ports between 10000 and 32000 are taken");
        let free = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
        if (port..port + count).all(free) {
            return port;
        }
    }
}
