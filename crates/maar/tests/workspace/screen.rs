//! Commands in a terminal, as people have one: a shell that follows its size, a copy that shows how far it is.

use std::{
    os::fd::{AsFd as _, OwnedFd},
    path::Path,
    time::Duration,
};

use pty_process::{Command, Pty, Size, open};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::Child,
    time::timeout,
};

const PATIENCE: Duration = Duration::from_secs(30);

/// `maar` in a terminal of its own: our end of it, and a hold on the other, which keeps its settings.
fn begin(here: &Path, words: &[&str]) -> (Pty, OwnedFd, Child) {
    let (pty, terminal) = open().unwrap();
    pty.resize(Size::new(30, 100)).unwrap();
    let mut settings = tcgetattr(&pty).unwrap();
    // Whoever has it so wants it so: "sane" is another.
    settings.local_modes.remove(LocalModes::ECHOE | LocalModes::ECHOK);
    tcsetattr(&pty, OptionalActions::Now, &settings).unwrap();
    let held = terminal.as_fd().try_clone_to_owned().unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_maar"))
        .args(words)
        .env("MAAR_LOGIN", here.join("login.json"))
        .env("TERM", "xterm")
        .current_dir(here)
        .kill_on_drop(true)
        .spawn(terminal)
        .unwrap();
    (pty, held, child)
}

/// Reads until this was shown; all that was. What the command wrote last is gone with it on some systems.
async fn until(pty: &mut Pty, wanted: &str) -> String {
    let (mut seen, mut part) = (String::new(), [0; 4096]);
    let shown = async {
        while !seen.contains(wanted) {
            let Ok(count @ 1..) = pty.read(&mut part).await else { break };
            seen.push_str(&String::from_utf8_lossy(&part[..count]));
        }
    };
    let late = timeout(PATIENCE, shown).await.is_err();
    assert!(!late && seen.contains(wanted), "never {wanted:?} in {seen:?}");
    seen
}

/// What programs that use a terminal change of it.
fn modes(settings: &Termios) -> String {
    let Termios { input_modes, output_modes, control_modes, local_modes, .. } = settings;
    format!("{input_modes:?} {output_modes:?} {control_modes:?} {local_modes:?}")
}

pub(crate) async fn a_shell_has_the_screen_of_its_user(here: &Path, more: &[&str]) {
    let (mut pty, terminal, mut shell) = begin(here, &[&["ws", "exec", "desk"], more].concat());
    let before = modes(&tcgetattr(&terminal).unwrap());
    for (rows, columns) in [(30, 100), (50, 160)] {
        pty.resize(Size::new(rows, columns)).unwrap();
        let asked = async {
            // What it was before is no mistake: the change is on its way.
            let (wanted, mut seen) = (format!("{rows} {columns}"), String::new());
            while !seen.contains(&wanted) {
                pty.write_all(b"stty size; echo do''ne\n").await.unwrap();
                seen = until(&mut pty, "done").await;
            }
        };
        timeout(PATIENCE, asked).await.unwrap_or_else(|_| panic!("never {rows} {columns}"));
    }
    assert_ne!(modes(&tcgetattr(&terminal).unwrap()), before, "the shell has the keys as they are typed");
    pty.write_all(b"exit 0\n").await.unwrap();
    // Somebody has to read what it says last.
    let ended = async {
        let mut part = [0; 4096];
        loop {
            tokio::select! {
                ended = shell.wait() => break ended.unwrap(),
                read = pty.read(&mut part) => assert!(read.is_ok(), "we hold the other end"),
            }
        }
    };
    assert!(timeout(PATIENCE, ended).await.unwrap().success());
    assert_eq!(modes(&tcgetattr(&terminal).unwrap()), before, "the terminal is as it was");
}

/// Editors and the like want a screen, and get it if it is said.
pub(crate) async fn a_command_has_the_screen_if_it_is_said(here: &Path, more: &[&str]) {
    for (flag, wanted) in [(&["-t"][..], "screen: yes"), (&[], "screen: no")] {
        let look = "if [ -t 0 ]; then echo screen: yes; else echo screen: no; fi";
        let words = [&["ws", "exec", "desk"], more, flag, &["--", "sh", "-c", look]].concat();
        let (mut pty, _terminal, mut command) = begin(here, &words);
        until(&mut pty, wanted).await;
        assert!(timeout(PATIENCE, command.wait()).await.unwrap().unwrap().success());
    }
}

pub(crate) async fn shows_how_far_a_copy_is(here: &Path, more: &[&str]) {
    let (mut pty, _terminal, mut copy) = begin(here, &[&["cp", "data", "desk:/tmp/shown"], more].concat());
    let seen = until(&mut pty, "100 %  3.0 MiB of 3.0 MiB").await;
    assert!(seen.contains("[########################]"), "{seen}");
    assert!(timeout(PATIENCE, copy.wait()).await.unwrap().unwrap().success());
}
