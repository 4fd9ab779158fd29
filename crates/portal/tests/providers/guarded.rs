//! Real programs: started by a test, gone with it however it ends.

use std::{
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

/// Runs the program until its own input ends, which it does when the process that holds the other end is gone, however it
/// went; then stops the program by its id and removes the folder.
const GUARD: &str = r#"
folder=$1; shift
"$@" >"$folder/log" 2>&1 &
program=$!
read -r _
kill -TERM "$program"
wait "$program"
rm -rf "$folder"
"#;

static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// A program that runs.
pub(crate) struct Guarded {
    folder: PathBuf,
    guard: Child,
}

impl Guarded {
    pub(crate) fn run(folder: &Path, program: &Path, arguments: &[&str]) -> Self {
        let guard = Command::new("sh")
            .args(["-c", GUARD, "guard"])
            .arg(folder)
            .arg(program)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { folder: folder.to_owned(), guard }
    }

    /// Waits until it takes connections.
    pub(crate) async fn listens(&self, port: u16) {
        for _ in 0..600 {
            if tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_ok() {
                return;
            }
            // A program that starts tells nobody; this is the one wait on the wall clock.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        panic!("it did not start: {log}");
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// A new folder of this process.
pub(crate) fn folder(name: &str) -> PathBuf {
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}-{number}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Where a program is: on the path, or where those of administrators are.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/lib/openldap".into()]);
    folders.map(|folder| folder.join(name)).find(|file| file.exists())
}

/// Runs a program to its end.
pub(crate) fn finish(command: &mut Command) {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {text}");
}
