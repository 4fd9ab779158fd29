//! The helper that the SSH gateway brings into a Pod: what OpenSSH clients expect of a server and images do not have.
//!
//! `build.rs` makes one static program of this folder with nothing but the standard library, so that it runs in any
//! image. It speaks on its standard input and output, opens nothing by itself, and has the rights of whoever runs it:
//! the limits of the container hold.
//!
//! * `sftp`: an SFTP server, version 3.
//! * `listen ADDRESS PORT`: takes connections in the Pod and carries them all over standard input and output.
//! * `agent`: the same on a Unix socket in a folder of its own, for programs that ask the SSH agent of the client.
//! * `connect PATH`: one connection to a Unix socket in the Pod.
//! * `digest`: the SHA-256 of this very file, to see that it arrived whole.
//! * `version`: how it speaks with the gateway.
#![forbid(unsafe_code)]

mod agent;
mod attributes;
mod connect;
mod digest;
mod listen;
mod sftp;
mod socket;
mod wire;

use std::{env, fs::File, io, os::fd::AsFd as _, process::ExitCode};

/// A gateway brings a helper along that was made elsewhere only if it finds this in it. Another number for another way to
/// speak on standard input and output.
const MARK: &str = "maar helper, protocol 2";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["sftp"] => output().and_then(|output| sftp::serve(io::stdin().lock(), output)),
        ["listen", address, port] => listen::serve(address, port),
        ["agent"] => agent::serve(),
        ["connect", path] => connect::serve(path),
        ["digest"] => digest::own().map(|text| println!("{text}")),
        ["version"] => {
            println!("{MARK}");
            Ok(())
        }
        _ => Err(io::Error::other("sftp | listen ADDRESS PORT | agent | connect PATH | digest | version")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("maar helper: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Standard output without a buffer: that of the library looks for lines in whatever passes.
fn output() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}
