//! Puts the commit of a release build into `maar --version`.

use std::process::Command;

#[expect(clippy::disallowed_methods, reason = "cargo tells a build script by the environment")]
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // A debug build is made for its tests: another commit alone is no reason to link it and to run them again.
    if std::env::var("PROFILE").as_deref() == Ok("debug") {
        println!("cargo:rustc-env=MAAR_COMMIT=debug build");
        return;
    }
    // Where git keeps them differs between a clone and a worktree; a path that is not there would mean a rebuild each time.
    for name in ["HEAD", "refs/heads", "packed-refs"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name])
            && std::path::Path::new(&path).exists()
        {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=MAAR_COMMIT={commit}");
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = output.status.success().then(|| String::from_utf8(output.stdout).ok())??;
    Some(text.trim().to_owned())
}
