//! Makes the helper that is brought into Pods: one static program, of `helper/`, by plain rustc.

use std::{env, path::PathBuf, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=helper");
    println!("cargo::rerun-if-changed=build.rs");
    // Cargo sets these for every build script.
    let variable = |name: &str| env::var_os(name).unwrap_or_default().to_string_lossy().into_owned();
    let program = PathBuf::from(variable("OUT_DIR")).join("maar-helper");
    let mut command = Command::new(variable("RUSTC"));
    command
        .args(["--edition", "2024", "--crate-name", "maar_helper", "--crate-type", "bin"])
        .args(["--target", &variable("TARGET")])
        .args(["-C", "target-feature=+crt-static", "-C", "panic=abort", "-C", "opt-level=s"])
        .args(["-C", "lto=fat", "-C", "codegen-units=1", "-C", "strip=symbols"])
        // The same bytes wherever it is built, so that what a Pod has already can be used again.
        .args(["--remap-path-prefix", &format!("{}=maar", variable("CARGO_MANIFEST_DIR"))])
        .arg("-o")
        .arg(&program)
        .arg("helper/main.rs")
        // Flags for the crates of this workspace are not for it.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!("rustc could not make the helper ({status})")),
        Err(error) => fail(&format!("rustc cannot be run: {error}")),
    }
}

/// Cargo ends the build once it has read this.
fn fail(why: &str) {
    println!("cargo::error={why}");
}
