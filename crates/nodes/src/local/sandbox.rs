//! Finding bubblewrap, and the arguments that make a sandbox.

use std::path::{Component, Path, PathBuf};

use tokio::process::Command;

use super::{mount::Mount, variables::DESCRIPTOR};

/// Where programs are looked for.
const PROGRAM_FOLDERS: [&str; 4] = ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin"];
/// Folders at the root that are links into `/usr` on today's systems and folders of their own on others.
const SYSTEM_FOLDERS: [&str; 5] = ["/bin", "/sbin", "/lib", "/lib64", "/lib32"];
/// What programs need of `/etc`: users, names, certificates, the linker's cache, the choice between alternatives.
const ETC: [&str; 12] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/group",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/resolv.conf",
    "/etc/ssl",
];

/// How `setpriv` is told to give up all capabilities for what follows.
pub(super) const WITHOUT_CAPABILITIES: [&str; 4] =
    ["--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--"];

/// The programs that make sandboxes on this machine.
#[derive(Debug, Clone)]
pub struct Sandbox {
    pub(super) bubblewrap: PathBuf,
    /// Enters a sandbox for exec.
    pub(super) nsenter: PathBuf,
    /// Gives a terminal to what is entered with.
    pub(super) setsid: PathBuf,
    /// Makes users other than root that can be entered. Bubblewrap alone has two user namespaces for them, of which the
    /// first owns all others and holds no process: only root gets into those. Without this program it is left to it.
    pub(super) unshare: Option<PathBuf>,
    /// Gives up capabilities when entering; without it exec has those of the sandbox's user namespace.
    pub(super) setpriv: Option<PathBuf>,
    pub(super) version: String,
}

/// Why this machine offers no local node, for people to read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the local node is not offered: {reason}")]
pub struct Unavailable {
    /// What is missing.
    pub reason: String,
}

fn unavailable(reason: impl Into<String>) -> Unavailable {
    Unavailable { reason: reason.into() }
}

fn find(program: &str) -> Option<PathBuf> {
    PROGRAM_FOLDERS.iter().map(|folder| Path::new(folder).join(program)).find(|path| path.is_file())
}

/// Looks for bubblewrap and tries it.
pub async fn find_sandbox() -> Result<Sandbox, Unavailable> {
    let install = "install the package bubblewrap to have one";
    let bubblewrap = find("bwrap").ok_or_else(|| unavailable(format!("bwrap was not found; {install}")))?;
    let nsenter = find("nsenter").ok_or_else(|| unavailable("nsenter was not found; install util-linux"))?;
    let setsid = find("setsid").ok_or_else(|| unavailable("setsid was not found; install util-linux"))?;
    let output = |command: &mut Command| {
        let running = command.kill_on_drop(true).output();
        async { tokio::time::timeout(std::time::Duration::from_secs(10), running).await }
    };
    let version = match output(Command::new(&bubblewrap).arg("--version")).await {
        Ok(Ok(output)) => {
            String::from_utf8_lossy(&output.stdout).trim().trim_start_matches("bubblewrap ").to_owned()
        }
        _ => return Err(unavailable(format!("{} could not be run", bubblewrap.display()))),
    };
    let unshare = match find("unshare") {
        Some(unshare) => {
            let help = output(Command::new(&unshare).arg("--help")).await;
            let knows = |text: &[u8]| String::from_utf8_lossy(text).contains("--map-user");
            matches!(help, Ok(Ok(help)) if knows(&help.stdout)).then_some(unshare)
        }
        None => None,
    };
    let sandbox = Sandbox { bubblewrap, nsenter, setsid, unshare, setpriv: find("setpriv"), version };
    let trial = Layout { hostname: "trial", command: &["true".to_owned()], ..Layout::default() };
    match output(Command::new(&sandbox.bubblewrap).args(trial.arguments())).await {
        Ok(Ok(output)) if output.status.success() => Ok(sandbox),
        Ok(Ok(output)) => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(unavailable(format!("bubblewrap cannot make sandboxes here: {said}")))
        }
        _ => Err(unavailable("bubblewrap did not make a sandbox in time")),
    }
}

impl Sandbox {
    /// The program that makes a sandbox, and its arguments.
    pub(super) fn start(&self, layout: &Layout<'_>) -> (PathBuf, Vec<String>) {
        let mut arguments = layout.arguments();
        let Some(unshare) = layout.unshare else { return (self.bubblewrap.clone(), arguments) };
        let bubblewrap = self.bubblewrap.to_string_lossy().into_owned();
        let before = ["--user", "--map-root-user", "--"].map(str::to_owned);
        arguments.splice(0..0, before.into_iter().chain([bubblewrap]));
        (unshare.to_owned(), arguments)
    }
}

/// How the sandbox of one container looks.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout<'a> {
    /// The root directory on this machine; without one it is in memory.
    pub(super) root: Option<&'a Path>,
    pub(super) hostname: &'a str,
    pub(super) user: u32,
    pub(super) group: u32,
    /// What makes the user and group inside, bubblewrap itself being root of a user namespace.
    pub(super) unshare: Option<&'a Path>,
    /// What gives up the capabilities that every first user of a namespace has.
    pub(super) setpriv: Option<&'a Path>,
    pub(super) working_dir: &'a str,
    /// It finds its variables in a file that is open for it.
    pub(super) variables: bool,
    pub(super) mounts: &'a [Mount],
    pub(super) read_only_root: bool,
    /// What takes the terminal for the command, if there is one: inside, where the groups of its session have numbers.
    pub(super) terminal: Option<&'a Path>,
    pub(super) command: &'a [String],
}

impl Layout<'_> {
    /// The arguments of bubblewrap.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut list = Arguments::default();
        list.push(&["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]);
        list.push(&["--die-with-parent", "--as-pid-1", "--cap-drop", "ALL", "--hostname", self.hostname]);
        if self.unshare.is_some() {
            // Whoever makes a user out of root must have this; it ends where that user begins.
            list.push(&["--cap-add", "CAP_SETFCAP"]);
        } else {
            list.push(&["--unshare-user", "--uid", &self.user.to_string(), "--gid", &self.group.to_string()]);
        }
        if self.terminal.is_none() {
            list.push(&["--new-session"]);
        }
        if let Some(root) = self.root {
            list.push(&["--bind", &root.to_string_lossy(), "/"]);
        }
        list.push(&["--ro-bind", "/usr", "/usr"]);
        for folder in SYSTEM_FOLDERS {
            match std::fs::read_link(folder) {
                Ok(target) => list.push(&["--symlink", &target.to_string_lossy(), folder]),
                Err(_) => list.push(&["--ro-bind-try", folder, folder]),
            }
        }
        for path in ETC {
            list.push(&["--ro-bind-try", path, path]);
        }
        list.push(&["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
        for mount in self.mounts {
            let kind = if mount.read_only { "--ro-bind" } else { "--bind" };
            list.push(&[kind, &mount.source.to_string_lossy(), &mount.target]);
        }
        if self.makes_working_dir() {
            list.push(&["--dir", self.working_dir]);
        }
        if self.read_only_root {
            list.push(&["--remount-ro", "/"]);
        }
        let folder = if self.working_dir.is_empty() { "/" } else { self.working_dir };
        list.push(&["--chdir", folder, "--clearenv"]);
        if self.variables {
            list.push(&["--args", &DESCRIPTOR.to_string()]);
        }
        list.push(&["--"]);
        if let Some(unshare) = self.unshare {
            let (user, group) = (format!("--map-user={}", self.user), format!("--map-group={}", self.group));
            list.push(&[&unshare.to_string_lossy(), "--user", &user, &group, "--"]);
            if let Some(setpriv) = self.setpriv {
                list.push(&[&setpriv.to_string_lossy()]);
                list.push(&WITHOUT_CAPABILITIES);
            }
        }
        if let Some(setsid) = self.terminal {
            list.push(&[&setsid.to_string_lossy(), "--ctty"]);
        }
        list.0.extend(self.command.iter().cloned());
        list.0
    }

    /// Whether the folder is made where it does not exist, as other runtimes do. While a sandbox is built the machine's files
    /// can be reached from in it, so a path that may lead out is not followed: not upwards, not through links in a volume,
    /// not through those in `/proc`.
    fn makes_working_dir(&self) -> bool {
        let path = Path::new(self.working_dir);
        let within = |folder: &str| path.starts_with(folder);
        path.is_absolute()
            && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
            && !within("/proc")
            && !within("/dev")
            && !self.mounts.iter().any(|mount| within(&mount.target))
    }
}

#[derive(Default)]
struct Arguments(Vec<String>);

impl Arguments {
    fn push(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(|word| (*word).to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_working_directory_is_made_unless_its_path_may_lead_out() {
        let mounts = [Mount { source: "/state/v".into(), target: "/data".into(), read_only: false }];
        let made = |folder: &str| {
            let layout = Layout { working_dir: folder, mounts: &mounts, ..Layout::default() };
            layout.arguments().join(" ").contains(&format!("--dir {folder} "))
        };
        for folder in ["/work/deep", "/tmp/x", "/database"] {
            assert!(made(folder), "{folder}");
        }
        for folder in
            ["", "relative", "/a/../../oldroot", "/proc/1/root/x", "/dev/fd/3", "/data", "/data/link"]
        {
            assert!(!made(folder), "{folder}");
        }
    }

    #[test]
    fn a_sandbox_shows_the_system_read_only_and_drops_everything_else() {
        let mounts = [Mount { source: "/state/v".into(), target: "/data".into(), read_only: true }];
        let command = ["sleep".to_owned(), "1".to_owned()];
        let layout = Layout {
            root: Some(Path::new("/state/root")),
            hostname: "p",
            user: 1000,
            variables: true,
            mounts: &mounts,
            read_only_root: true,
            command: &command,
            ..Layout::default()
        };
        let text = layout.arguments().join(" ");
        for part in [
            "--unshare-pid",
            "--die-with-parent",
            "--cap-drop ALL",
            "--new-session",
            "--uid 1000 --gid 0",
            "--bind /state/root / --ro-bind /usr /usr",
            "--ro-bind /state/v /data",
            "--remount-ro /",
            "--chdir / --clearenv --args 3",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(text.ends_with("-- sleep 1"));
        assert!(!text.contains("--bind /etc"));
        let with =
            Layout { terminal: Some(Path::new("/usr/bin/setsid")), ..layout.clone() }.arguments().join(" ");
        let unshare = Some(Path::new("/usr/bin/unshare"));
        let inside = Layout { unshare, ..layout }.arguments().join(" ");
        assert!(
            inside.ends_with("-- /usr/bin/unshare --user --map-user=1000 --map-group=0 -- sleep 1"),
            "{inside}"
        );
        assert!(!inside.contains("--unshare-user") && !inside.contains("--uid"), "{inside}");
        assert!(
            with.ends_with("-- /usr/bin/setsid --ctty sleep 1") && !with.contains("--new-session"),
            "{with}"
        );
    }
}
