//! The kubectls of this machine, and a place for each case to use one.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::cluster::Maar;
use crate::program::{self, Said, words};

/// One kubectl.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    path: PathBuf,
    /// Such as `1.36`.
    pub(crate) version: String,
}

/// The kubectl on the path and those that `make real` built, one of each version.
pub(crate) async fn find() -> Vec<Program> {
    let mut found: Vec<Program> = Vec::new();
    for path in std::iter::once(PathBuf::from("kubectl")).chain(built()) {
        if let Some(version) = version(&path).await
            && found.iter().all(|program| program.version != version)
        {
            found.push(Program { path, version });
        }
    }
    found
}

/// Where dev/real keeps what it builds: see its help.
fn built() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = variable("MAAR_CACHE")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("maar")))
        .or_else(|| Some(variable("HOME")?.join(".cache/maar")));
    let folder = cache.map(|cache| cache.join("kubernetes"));
    let versions = folder.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let mut built: Vec<PathBuf> =
        versions.map(|version| version.path().join("kubectl")).filter(|path| path.is_file()).collect();
    built.sort();
    variable("MAAR_REAL_KUBECTL").into_iter().chain(built).collect()
}

async fn version(path: &Path) -> Option<String> {
    let output = Command::new(path).args(["version", "--client", "--output=json"]).output().await.ok()?;
    let version: Value = serde_json::from_slice(&output.stdout).ok()?;
    let part = |name: &str| version["clientVersion"][name].as_str().map(ToOwned::to_owned);
    Some(format!("{}.{}", part("major")?, part("minor")?.trim_end_matches('+')))
}

/// A kubectl with a namespace and a folder of its own.
#[derive(Clone, Debug)]
pub(crate) struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    home: PathBuf,
    pub(crate) namespace: String,
    pub(crate) folder: PathBuf,
    /// Tells the runs of several kubectls apart where names are the whole cluster's.
    pub(crate) tag: String,
}

impl Kubectl {
    /// One place for each case, their namespaces made at once.
    pub(crate) async fn workplaces(program: &Program, maar: &Maar, count: usize) -> Vec<Self> {
        let tag = format!("v{}", program.version.replace('.', "-"));
        let home = maar.make_folder(&format!("home-{tag}"));
        let places: Vec<Self> = (0..count)
            .map(|number| {
                let namespace = format!("{tag}-{number:02}");
                Self {
                    program: program.path.clone(),
                    kubeconfig: maar.kubeconfig(),
                    home: home.clone(),
                    folder: maar.make_folder(&namespace),
                    namespace,
                    tag: tag.clone(),
                }
            })
            .collect();
        if let Some(first) = places.first() {
            let manifest: Vec<String> = places
                .iter()
                .map(|it| {
                    format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {}}}}}", it.namespace)
                })
                .collect();
            first.feed("create -f -", &manifest.join("\n---\n")).await;
        }
        places
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg(format!("--namespace={}", self.namespace))
            .args(words(line))
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", &self.home)
            .current_dir(&self.folder);
        command
    }

    /// Runs kubectl and answers whatever came of it.
    pub(crate) async fn run(&self, line: &str) -> Said {
        program::run(self.command(line), "").await
    }

    /// Runs kubectl with variables in its environment.
    pub(crate) async fn run_with(&self, variables: &[(&str, &str)], line: &str) -> Said {
        let mut command = self.command(line);
        command.envs(variables.iter().copied());
        program::run(command, "").await
    }

    /// What kubectl prints; it has to succeed.
    pub(crate) async fn ok(&self, line: &str) -> String {
        self.feed(line, "").await
    }

    /// The same, with an input.
    pub(crate) async fn feed(&self, line: &str, input: &str) -> String {
        let said = program::run(self.command(line), &as_yaml(input)).await;
        assert!(said.success, "kubectl {line} failed: {}{}", said.err, said.out);
        said.out
    }

    /// What kubectl complains about; it has to fail.
    pub(crate) async fn fails(&self, line: &str) -> String {
        self.fails_on(line, "").await
    }

    /// The same, with an input.
    pub(crate) async fn fails_on(&self, line: &str, input: &str) -> String {
        let said = program::run(self.command(line), &as_yaml(input)).await;
        assert!(!said.success, "kubectl {line} did not fail: {}", said.out);
        said.err
    }

    /// What kubectl prints contains this.
    pub(crate) async fn shows(&self, line: &str, wanted: &str) -> String {
        let out = self.ok(line).await;
        assert!(out.contains(wanted), "kubectl {line} does not show {wanted:?}:\n{out}");
        out
    }

    /// What kubectl prints is exactly this, blanks around it aside.
    pub(crate) async fn is(&self, line: &str, wanted: &str) {
        let out = self.ok(line).await;
        assert_eq!(out.trim(), wanted, "kubectl {line}");
    }

    /// What kubectl complains about contains this.
    pub(crate) async fn refused(&self, line: &str, wanted: &str) {
        let err = self.fails(line).await;
        assert!(err.contains(wanted), "kubectl {line} does not say {wanted:?}:\n{err}");
    }

    /// Waits until a Service leads to this address.
    pub(crate) async fn serves(&self, service: &str, ip: &str) {
        self.ok(&format!("wait --for=create endpoints/{service} --timeout=20s")).await;
        let first = format!("jsonpath={{.subsets[0].addresses[0].ip}}={ip}");
        self.ok(&format!("wait --for={first} endpoints/{service} --timeout=20s")).await;
    }

    /// Applies a manifest.
    pub(crate) async fn apply(&self, manifest: &str) -> String {
        self.feed("apply -f -", manifest).await
    }

    /// Writes a file into the case's folder.
    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.join(name);
        std::fs::write(&path, as_yaml(content)).unwrap();
        path
    }

    /// Starts a kubectl that goes on; it ends with the answer.
    pub(crate) fn start(&self, line: &str) -> Started {
        let mut command = self.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Started { child, lines, line: line.to_owned() }
    }

    /// Starts kubectl in a terminal.
    pub(crate) fn in_terminal(&self, line: &str) -> Terminal {
        let (pty, terminal) = pty_process::open().unwrap();
        pty.resize(pty_process::Size::new(30, 100)).unwrap();
        let child = pty_process::Command::new(&self.program)
            .arg(format!("--namespace={}", self.namespace))
            .args(words(line))
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", &self.home)
            .env("TERM", "xterm")
            .current_dir(&self.folder)
            .kill_on_drop(true)
            .spawn(terminal)
            .unwrap();
        Terminal { child, pty, seen: String::new(), line: line.to_owned() }
    }
}

/// A kubectl in a terminal, and who sits in front of it.
pub(crate) struct Terminal {
    child: Child,
    pty: pty_process::Pty,
    seen: String,
    line: String,
}

impl Terminal {
    pub(crate) async fn types(&mut self, text: &str) {
        self.pty.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads on until this has been shown since the last time.
    pub(crate) async fn sees(&mut self, wanted: &str) {
        let mut fresh = String::new();
        let reading = async {
            let mut bytes = [0; 4096];
            while !fresh.contains(wanted) {
                // Linux answers with an error instead of an end once nobody has the terminal open any more.
                let count = self.pty.read(&mut bytes).await.unwrap_or(0);
                if count == 0 {
                    return false;
                }
                fresh.push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
            true
        };
        let found = tokio::time::timeout(std::time::Duration::from_secs(30), reading).await;
        self.seen.push_str(&fresh);
        assert_eq!(found, Ok(true), "kubectl {} never showed {wanted:?}:\n{}", self.line, self.seen);
    }

    /// Waits until kubectl is gone and answers its exit code.
    pub(crate) async fn code(mut self) -> Option<i32> {
        let mut bytes = [0; 4096];
        let ending = async {
            while self.pty.read(&mut bytes).await.is_ok_and(|count| count > 0) {}
            self.child.wait().await.unwrap().code()
        };
        tokio::time::timeout(std::time::Duration::from_secs(30), ending).await.unwrap()
    }
}

/// kubectl takes everything that begins with a brace for JSON; short YAML does too.
fn as_yaml(text: &str) -> String {
    if text.trim_start().starts_with('{') { format!("---\n{text}") } else { text.to_owned() }
}

/// A kubectl that is still running.
#[derive(Debug)]
pub(crate) struct Started {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    line: String,
}

impl Started {
    /// Writes into its input, which stays open.
    pub(crate) async fn types(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads until a line contains this, and answers that line.
    pub(crate) async fn until(&mut self, wanted: &str) -> String {
        let mut seen = Vec::new();
        let reading = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                if line.contains(wanted) {
                    return Some(line);
                }
                seen.push(line);
            }
            None
        };
        let found = tokio::time::timeout(std::time::Duration::from_secs(30), reading).await;
        match found {
            Ok(Some(line)) => line,
            _ => panic!("kubectl {} never said {wanted:?}: {seen:#?}", self.line),
        }
    }

    /// Waits for the end and answers what was still said.
    pub(crate) async fn rest(mut self) -> String {
        let mut rest = String::new();
        let ending = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                rest.push_str(&line);
                rest.push('\n');
            }
            self.child.wait().await.unwrap()
        };
        let ended = tokio::time::timeout(std::time::Duration::from_secs(30), ending).await.unwrap();
        assert!(ended.success(), "kubectl {} ended with {ended}", self.line);
        rest
    }
}
