//! OpenSSH's own programs against the gateway, and what must not open it.

mod agent;

use std::{
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};

use maar_portal::Settings;
use maar_testkit::ports::free_port;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    time::{Instant, sleep, timeout},
};

use super::{
    absent::absent,
    browser::Browser,
    heard::Heard,
    lives::reaches,
    world::{PASSWORD, World, clock_now, eventually},
};

/// A machine with OpenSSH and a key on it.
pub(crate) struct Machine {
    folder: TempDir,
    pub(crate) port: u16,
    /// The socket of its agent, if it has one.
    agent: Option<PathBuf>,
}

impl Machine {
    /// Nothing where there is no OpenSSH.
    pub(crate) async fn new(world: &World, asks: &Browser) -> Option<Self> {
        if Command::new("ssh").arg("-V").stderr(Stdio::null()).status().await.is_err() {
            absent("ssh (openssh-client)");
            return None;
        }
        let machine = Self { folder: tempfile::tempdir().unwrap(), port: world.ssh, agent: None };
        machine.keygen(&["-q", "-t", "ed25519", "-N", "", "-C", "ada@desk", "-f", "key"]).await;
        let (_, about) = asks.get("/ssh").await;
        assert_eq!((&about["enabled"], &about["port"]), (&json!(true), &json!(world.ssh)), "{about}");
        let known = format!("maar {}\n", about["hostKeys"][0].as_str().unwrap());
        std::fs::write(machine.path("known_hosts"), known).unwrap();
        Some(machine)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn public(&self) -> String {
        std::fs::read_to_string(self.path("key.pub")).unwrap()
    }

    async fn keygen(&self, words: &[&str]) {
        let mut command = Command::new("ssh-keygen");
        let output = command.args(words).current_dir(self.folder.path()).output().await.unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// How its key is known.
    async fn fingerprint(&self) -> String {
        let mut command = Command::new("ssh-keygen");
        let shown = command.args(["-l", "-f", "key.pub"]).current_dir(self.folder.path()).output();
        let shown = text(&shown.await.unwrap().stdout);
        shown.split(' ').nth(1).unwrap().to_owned()
    }

    /// What the certificate is called.
    async fn key_id(&self) -> String {
        let mut command = Command::new("ssh-keygen");
        let shown = command.args(["-L", "-f", "key-cert.pub"]).current_dir(self.folder.path()).output();
        let shown = text(&shown.await.unwrap().stdout);
        let line = shown.lines().find_map(|line| line.trim().strip_prefix("Key ID: ")).unwrap();
        line.trim_matches('"').to_owned()
    }

    /// Has the key certified.
    async fn is_certified(&self, asks: &Browser) -> Value {
        let (status, made) = asks.post("/me/ssh-certificates", json!({ "key": self.public() })).await;
        assert_eq!(status, 201, "{made}");
        std::fs::write(self.path("key-cert.pub"), made["certificate"].as_str().unwrap()).unwrap();
        made
    }

    /// What all of OpenSSH's programs are told.
    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        let known = format!("UserKnownHostsFile={}", self.path("known_hosts").display());
        let identity = format!("IdentityFile={}", self.path("key").display());
        // None of whoever runs the tests.
        let agent = self.agent.as_ref().map_or_else(|| "none".to_owned(), |path| path.display().to_string());
        let agent = format!("IdentityAgent={agent}");
        let options = [
            &known,
            &identity,
            &agent,
            "GlobalKnownHostsFile=none",
            "StrictHostKeyChecking=yes",
            "HostKeyAlias=maar",
            "IdentitiesOnly=yes",
            "BatchMode=yes",
        ];
        command.args(["-F", "none"]).args(options.iter().flat_map(|option| ["-o", option]));
        command.current_dir(self.folder.path()).kill_on_drop(true);
        command
    }

    pub(crate) fn ssh(&self, workspace: &str, before: &[&str], command: &[&str]) -> Command {
        let mut ssh = self.program("ssh");
        ssh.args(["-p", &self.port.to_string(), "-l", workspace]).args(before).arg("127.0.0.1").args(command);
        ssh
    }

    pub(crate) async fn run(&self, workspace: &str, command: &str) -> Output {
        ended(self.ssh(workspace, &[], &[command]), b"").await
    }

    /// Adds the key to the profile.
    pub(crate) async fn adds_key(&self, browser: &Browser) -> String {
        let (status, made) = browser.post("/me/ssh-keys", json!({ "title": "", "key": self.public() })).await;
        assert_eq!((status, &made["title"]), (201, &json!("ada@desk")), "{made}");
        made["id"].as_str().unwrap().to_owned()
    }
}

/// Runs a program to its end, with this to read.
pub(crate) async fn ended(mut command: Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
    // A program that reads nothing may be over already.
    let feeding = tokio::spawn(async move { drop(stdin.write_all(&input).await) });
    let output = timeout(Duration::from_secs(90), child.wait_with_output()).await.expect("it ends").unwrap();
    feeding.abort();
    output
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn good(output: &Output) -> String {
    assert!(output.status.success(), "{:?}: {}", output.status, text(&output.stderr));
    text(&output.stdout)
}

/// A workspace on this machine.
async fn desk(browser: &Browser) -> String {
    let path = browser.workspace("desk", json!({ "nodes": ["local"], "command": ["sleep", "1d"] })).await;
    reaches(browser, &path, "Running").await;
    path
}

/// Says back what it hears, for ever.
pub(crate) async fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = socket.split();
                let _ = tokio::io::copy(&mut from, &mut to).await;
            });
        }
    });
    port
}

/// A screen that becomes larger is larger in the workspace, too.
async fn window_changes(machine: &Machine) {
    let (mut pty, terminal) = pty_process::open().unwrap();
    pty.resize(pty_process::Size::new(30, 100)).unwrap();
    let ssh = machine.ssh("desk", &["-tt"], &[]);
    let ssh = ssh.as_std();
    let mut shell = pty_process::Command::new(ssh.get_program())
        .args(ssh.get_args())
        .current_dir(ssh.get_current_dir().unwrap_or(Path::new(".")))
        .env("TERM", "xterm")
        .kill_on_drop(true)
        .spawn(terminal)
        .unwrap();
    for (rows, columns) in [(30, 100), (50, 160)] {
        pty.resize(pty_process::Size::new(rows, columns)).unwrap();
        let wanted = format!("{rows} {columns}");
        let shown = async {
            let (mut seen, mut part) = (String::new(), [0; 4096]);
            // What it was before is no mistake: the change is on its way.
            while !seen.contains(&wanted) {
                pty.write_all(b"stty size\n").await.unwrap();
                let count = pty.read(&mut part).await.unwrap();
                seen.push_str(&String::from_utf8_lossy(&part[..count]));
            }
        };
        timeout(Duration::from_secs(20), shown).await.unwrap_or_else(|_| panic!("never {wanted}"));
    }
    pty.write_all(b"exit\n").await.unwrap();
    shell.start_kill().unwrap();
    shell.wait().await.unwrap();
}

/// Answers a moment after it was asked, and hangs up.
async fn later() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut asked = [0; 5];
                socket.read_exact(&mut asked).await.unwrap();
                tokio::time::sleep(Duration::from_millis(300)).await;
                socket.write_all(b"later").await.unwrap();
            });
        }
    });
    port
}

/// Connects as soon as somebody listens.
pub(crate) async fn reached(port: u16) -> TcpStream {
    for _ in 0..600 {
        if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)).await {
            return stream;
        }
        sleep(Duration::from_millis(50)).await;
    }
    panic!("nobody listens on {port}");
}

/// What is said comes back, though it is much.
pub(crate) async fn echoes(stream: TcpStream) {
    let said: Vec<u8> = (0..1_000_000_u32).map(|number| number.to_le_bytes()[1]).collect();
    let (mut from, mut to) = stream.into_split();
    let sending = said.clone();
    let writing = tokio::spawn(async move {
        to.write_all(&sending).await.unwrap();
        to
    });
    let mut heard = vec![0; said.len()];
    timeout(Duration::from_mins(1), from.read_exact(&mut heard)).await.expect("it comes back").unwrap();
    assert!(heard == said);
    drop(writing.await.unwrap());
}

pub(crate) async fn stops(mut child: Child) {
    child.start_kill().unwrap();
    child.wait().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openssh_is_in_a_workspace_with_commands_shells_and_files() {
    let Some(world) = World::local().await else { return };
    let ada = world.user("ada").await;
    let Some(machine) = Machine::new(&world, &ada).await else { return };
    desk(&ada).await;
    machine.adds_key(&ada).await;

    let output = machine.run("desk", "echo out; echo err >&2; exit 7").await;
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(7), "out\n"), "{output:?}");
    assert_eq!(text(&output.stderr), "err\n");
    let mut command = machine.ssh("desk", &["-o", "SendEnv=LANG LD_PRELOAD"], &["echo $LANG:$LD_PRELOAD"]);
    command.env("LANG", "xx_YY").env("LD_PRELOAD", "");
    assert_eq!(good(&ended(command, b"").await), "xx_YY:\n");
    let mut command = machine.ssh("desk", &["-tt"], &[]);
    command.env("TERM", "xterm-kitty");
    let shell = ended(command, b"echo is:$TERM; exit 3\n").await;
    assert!(text(&shell.stdout).contains("is:xterm-kitty"), "{shell:?}");
    assert_eq!(shell.status.code(), Some(3));
    // A client without a screen says 0 by 0. A program that looks at once sees what it is given for that.
    let looks = ended(machine.ssh("desk", &["-tt"], &["stty size"]), b"").await;
    assert_eq!(text(&looks.stdout).trim(), "24 80", "{looks:?}");
    window_changes(&machine).await;

    // More than all buffers hold, both ways at once: neither direction may wait for the other.
    let much: Vec<u8> = (0..12_000_000_u32).map(|number| number.to_le_bytes()[2]).collect();
    let output = ended(machine.ssh("desk", &[], &["cat"]), &much).await;
    assert!(output.status.success() && output.stdout == much, "{} bytes", output.stdout.len());

    std::fs::write(machine.path("much"), &much).unwrap();
    let port = machine.port.to_string();
    let scp = async |from: &str, to: &str| {
        let mut command = machine.program("scp");
        command.args(["-P", &port, from, to]);
        good(&ended(command, b"").await)
    };
    scp("much", "desk@127.0.0.1:/tmp/much").await;
    scp("desk@127.0.0.1:/tmp/much", "back").await;
    assert!(std::fs::read(machine.path("back")).unwrap() == much);
    let mut sftp = machine.program("sftp");
    sftp.args(["-P", &port, "-b", "-", "desk@127.0.0.1"]);
    let said =
        good(&ended(sftp, b"cd /tmp\nmkdir d\nrename much d/more\nls -l d\nrm d/more\nrmdir d\n").await);
    assert!(said.contains("more"), "{said}");
    assert_eq!(
        machine.ssh("desk", &["-A"], &["echo ${SSH_AUTH_SOCK:-none}"]).output().await.unwrap().stdout,
        b"none\n"
    );

    let (_, log) = world.admin().await.get("/audit?action=openSsh").await;
    assert!(log["items"].as_array().unwrap().len() >= 7, "every connection is written down");
    eventually("their ends", async || {
        let (_, log) = world.admin().await.get("/audit?action=closeSsh").await;
        let ends = log["items"].as_array().unwrap().clone();
        let told = |so: &dyn Fn(&Value) -> bool| ends.iter().any(|end| so(&end["after"]));
        told(&|end| end["receivedBytes"].as_u64().unwrap() >= 12_000_000)
            && told(&|end| end["code"] == 7 && end["seconds"].is_u64())
    })
    .await;
    let (_, keys) = ada.get("/me/ssh-keys").await;
    assert!(keys["items"][0]["lastUsed"].is_string(), "{keys}");
}

/// Editors open one connection and run everything in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_has_as_many_commands_as_one_likes_one_after_another() {
    let Some(world) = World::local().await else { return };
    let ada = world.user("ada").await;
    let Some(machine) = Machine::new(&world, &ada).await else { return };
    desk(&ada).await;
    machine.adds_key(&ada).await;
    let mut master = machine.ssh("desk", &["-M", "-N", "-S", "control"], &[]);
    let master = master.stdin(Stdio::null()).spawn().unwrap();
    eventually("the connection", async || machine.path("control").exists()).await;
    for round in 0..70 {
        let command = machine.ssh("desk", &["-S", "control"], &["echo $((6*7))"]);
        assert_eq!(good(&ended(command, b"").await), "42\n", "round {round}");
    }
    let (_, log) = world.admin().await.get("/audit?action=openSsh").await;
    assert_eq!(log["items"].as_array().unwrap().len(), 1, "one connection");
    stops(master).await;
}

/// A connection outlives the Pod: the next one has none of the files of the one before, whatever is remembered of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_goes_on_after_the_workspace_was_suspended_and_resumed() {
    let Some(world) = World::local().await else { return };
    let ada = world.user("ada").await;
    let Some(machine) = Machine::new(&world, &ada).await else { return };
    let until_told = json!(["sh", "-c", "trap exit TERM; sleep 1d & wait"]);
    let path = ada.workspace("desk", json!({ "nodes": ["local"], "command": until_told })).await;
    reaches(&ada, &path, "Running").await;
    machine.adds_key(&ada).await;
    let mut master = machine.ssh("desk", &["-M", "-N", "-S", "control"], &[]);
    let master = master.stdin(Stdio::null()).spawn().unwrap();
    eventually("the connection", async || machine.path("control").exists()).await;
    std::fs::write(machine.path("file"), "kept here").unwrap();
    let copies = async || {
        let mut scp = machine.program("scp");
        scp.args([
            "-o",
            "ControlPath=control",
            "-P",
            &machine.port.to_string(),
            "file",
            "desk@127.0.0.1:/tmp/file",
        ]);
        good(&ended(scp, b"").await);
        good(&ended(machine.ssh("desk", &["-S", "control"], &["cat /tmp/file"]), b"").await)
    };
    assert_eq!(copies().await, "kept here");
    for _ in 0..2 {
        assert_eq!(ada.post(&format!("{path}/suspend"), json!({})).await.0, 204);
        reaches(&ada, &path, "Suspended").await;
        let asleep = ended(machine.ssh("desk", &["-S", "control"], &["true"]), b"").await;
        assert!(text(&asleep.stderr).contains("is suspended"), "{asleep:?}");
        assert_eq!(ada.post(&format!("{path}/resume"), json!({})).await.0, 204);
        reaches(&ada, &path, "Running").await;
        assert_eq!(copies().await, "kept here");
    }
    let (_, log) = world.admin().await.get("/audit?action=openSsh").await;
    assert_eq!(log["items"].as_array().unwrap().len(), 1, "one connection");
    stops(master).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ports_are_carried_both_ways() {
    let Some(world) = World::local().await else { return };
    let ada = world.user("ada").await;
    let Some(machine) = Machine::new(&world, &ada).await else { return };
    desk(&ada).await;
    machine.adds_key(&ada).await;
    // The node is this machine: its loopback is that of the Pod.
    let (here, there, echoing) = (free_port(), free_port(), echo().await);
    let forward = |flag: &'static str, spec: &str| {
        let mut command = machine.ssh("desk", &["-N", "-o", "ExitOnForwardFailure=yes", flag, spec], &[]);
        command.stdin(Stdio::null()).spawn().unwrap()
    };
    let local = forward("-L", &format!("{here}:localhost:{echoing}"));
    let (first, second) = (reached(here).await, reached(here).await);
    tokio::join!(echoes(first), echoes(second));
    stops(local).await;
    let local = forward("-L", &format!("{here}:localhost:{}", later().await));
    let mut asking = reached(here).await;
    asking.write_all(b"hello").await.unwrap();
    asking.shutdown().await.unwrap();
    let mut answer = String::new();
    timeout(Duration::from_secs(20), asking.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert_eq!(answer, "later", "who has said his last still hears the answer");
    stops(local).await;
    let remote = forward("-R", &format!("{there}:127.0.0.1:{echoing}"));
    let first = reached(there).await;
    let second = reached(there).await;
    tokio::join!(echoes(first), echoes(second));
    stops(remote).await;
    let elsewhere = ended(machine.ssh("desk", &["-W", "169.254.169.254:80"], &[]), b"").await;
    assert!(!elsewhere.status.success(), "only the Pod itself is reached");
}

/// Says back what it hears on a Unix socket, for ever.
const ECHO_ON_SOCKET: &str = "
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
while True:
    peer, _ = listener.accept()
    while heard := peer.recv(65536):
        peer.sendall(heard)
    peer.close()
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unix_socket_in_the_workspace_is_reached() {
    let Some(python) = super::apps::python() else { return };
    let Some(world) = World::local().await else { return };
    let ada = world.user("ada").await;
    let Some(machine) = Machine::new(&world, &ada).await else { return };
    let command = json!([python, "-c", ECHO_ON_SOCKET, "/tmp/echo.sock"]);
    let path = ada.workspace("desk", json!({ "nodes": ["local"], "command": command })).await;
    reaches(&ada, &path, "Running").await;
    machine.adds_key(&ada).await;
    eventually("the socket", async || machine.run("desk", "test -S /tmp/echo.sock").await.status.success())
        .await;
    let (here, nowhere) = (free_port(), free_port());
    let specs = [format!("{here}:/tmp/echo.sock"), format!("{nowhere}:/tmp/nobody.sock")];
    let mut local = machine.ssh("desk", &["-N", "-L", &specs[0], "-L", &specs[1]], &[]);
    let local = local.stdin(Stdio::null()).spawn().unwrap();
    echoes(reached(here).await).await;
    echoes(reached(here).await).await;
    let mut ends = Vec::new();
    let mut silent = reached(nowhere).await;
    let ended = timeout(Duration::from_secs(20), silent.read_to_end(&mut ends)).await;
    assert!(ended.expect("it is hung up on").is_err() || ends.is_empty(), "nobody is there");
    stops(local).await;
}

/// Whoever looks into the log learns why somebody was not let in; he himself learns nothing.
#[tokio::test]
async fn the_log_says_why_a_key_is_refused_and_the_client_is_not_told() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let Some(machine) = Machine::new(&world, &ada).await else { return };
    let fingerprint = machine.fingerprint().await;
    // With one listener alone, places in the code that others reach first are not heard.
    let _company = tracing::Dispatch::new(Heard::default());
    let heard = Heard::default();
    let listening = tracing::subscriber::set_default(heard.clone());
    let (stranger, _) = refusal(&machine, "desk").await;
    let log = std::mem::take(&mut *heard.0.lock());
    assert!(log.contains("refused by SSH") && log.contains("ssh.wanted=\"desk\""), "{log}");
    assert!(log.contains(&format!("nobody has the key {fingerprint}")), "{log}");
    machine.adds_key(&ada).await;
    let (known, _) = refusal(&machine, "desk").await;
    let log = heard.0.lock().clone();
    assert!(log.contains("there is no such workspace"), "{log}");
    drop(listening);
    assert_eq!(stranger, known);
    for word in ["nobody has", "no such workspace", "SHA256:"] {
        assert!(!known.contains(word), "{known}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_learns_by_ssh_who_is_here() {
    let world = World::new().await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    let Some(machine) = Machine::new(&world, &eve).await else { return };
    let path = ada.workspace("desk", json!({})).await;
    reaches(&ada, &path, "Running").await;
    let namespace = ada.namespace().await;
    let (unknown_key, took) = refusal(&machine, "desk").await;
    assert!(took >= Duration::from_millis(400), "{took:?}");
    machine.adds_key(&eve).await;
    let cases = [
        ("no such workspace", "nowhere".to_owned()),
        ("of another", format!("desk.{namespace}")),
        ("no such namespace", "desk.user-nobody-1".to_owned()),
        ("no name at all", "../../etc".to_owned()),
        ("an administrator's name", "root".to_owned()),
    ];
    for (what, wanted) in cases {
        let (said, took) = refusal(&machine, &wanted).await;
        assert_eq!(said, unknown_key, "{what}");
        // Every answer is held back for as long, which is far longer than any of the questions takes.
        assert!(took >= Duration::from_millis(400), "{what}: {took:?}");
    }
    // Administrators read why.
    let (_, log) = world.admin().await.get("/audit?action=openSsh").await;
    let why: Vec<&Value> = log["items"].as_array().unwrap().iter().map(|entry| &entry["detail"]).collect();
    assert!(why.contains(&&json!("he may not be in this workspace")), "{why:?}");
    assert!(why.contains(&&json!("there is no such workspace")), "{why:?}");
}

/// What a client is told, without the name it said itself, and how long it took.
async fn refusal(machine: &Machine, wanted: &str) -> (String, Duration) {
    let begin = Instant::now();
    let output = machine.run(wanted, "true").await;
    assert_eq!(output.status.code(), Some(255), "{output:?}");
    let said = text(&output.stderr).replace(&format!("{wanted}@"), "WHO@");
    assert!(said.contains("Permission denied (publickey)"), "{said}");
    (said, begin.elapsed())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_certificates_of_ours_that_are_valid_open_the_door() {
    let Some(world) = World::local().await else { return };
    let ada = world.user("ada").await;
    let Some(machine) = Machine::new(&world, &ada).await else { return };
    desk(&ada).await;
    assert_eq!(machine.run("desk", "true").await.status.code(), Some(255), "the key alone is nobody's");
    machine.is_certified(&ada).await;
    assert_eq!(good(&machine.run("desk", "echo in").await), "in\n");

    let id = ada.get("/me").await.1["id"].as_str().unwrap().to_owned();
    let ours = world.records.secret("ssh-authority", "none", clock_now()).await.unwrap();
    let named = machine.key_id().await;
    write_private(&machine.path("ours"), &ours);
    machine.keygen(&["-q", "-t", "ed25519", "-N", "", "-f", "theirs"]).await;
    let sign = async |words: &[&str]| {
        machine.keygen(&[&["-q", "-I", &named][..], words, &["key.pub"]].concat()).await;
        machine.run("desk", "true").await.status.code()
    };
    assert_eq!(sign(&["-s", "ours", "-n", &id, "-V", "-1h:+1h"]).await, Some(0), "made by hand as ours are");
    let wrong: [(&str, &[&str]); 7] = [
        ("of another authority", &["-s", "theirs", "-n", &id, "-V", "-1h:+1h"]),
        ("expired", &["-s", "ours", "-n", &id, "-V", "-2h:-1h"]),
        ("not valid yet", &["-s", "ours", "-n", &id, "-V", "+1h:+2h"]),
        ("for a name, not an identifier", &["-s", "ours", "-n", "ada", "-V", "-1h:+1h"]),
        ("for anybody", &["-s", "ours", "-V", "-1h:+1h"]),
        ("for a host", &["-s", "ours", "-h", "-n", &id, "-V", "-1h:+1h"]),
        ("with a condition", &["-s", "ours", "-n", &id, "-V", "-1h:+1h", "-O", "force-command=true"]),
    ];
    for (what, words) in wrong {
        assert_eq!(sign(words).await, Some(255), "{what}");
    }
    machine.keygen(&["-q", "-I", "x", "-s", "ours", "-n", &id, "-V", "-1h:+1h", "key.pub"]).await;
    assert_eq!(
        machine.run("desk", "true").await.status.code(),
        Some(255),
        "it does not say what it ends with"
    );
    let forwarding = ["-s", "ours", "-n", &id, "-V", "-1h:+1h", "-O", "no-port-forwarding"];
    assert_eq!(sign(&forwarding).await, Some(0));
    let through = ended(machine.ssh("desk", &["-W", "localhost:1"], &[]), b"").await;
    assert!(text(&through.stderr).contains("prohibited"), "what it does not allow is not done: {through:?}");
    let (status, _) =
        ada.post("/me/ssh-certificates", json!({ "key": machine.public(), "seconds": 90_000 })).await;
    assert_eq!(status, 422, "hours, not days");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_ends_with_the_key_or_the_session_that_made_it() {
    let quick = |settings: &mut Settings| settings.look_again = Duration::from_millis(200);
    let Some(world) = World::local_with(quick).await else { return };
    let ada = world.user("ada").await;
    let Some(machine) = Machine::new(&world, &ada).await else { return };
    desk(&ada).await;
    let enters = async || machine.run("desk", "true").await.status.code();
    let (id, secret) = ada.key("ci", &["workspaces:write"]).await;
    machine.is_certified(&world.browser().program(&secret)).await;
    assert_eq!(enters().await, Some(0));
    let running = tokio::spawn(ended(machine.ssh("desk", &[], &["echo open; sleep 600"]), b""));
    eventually("the connection", async || {
        let (_, log) = world.admin().await.get("/audit?action=openSsh").await;
        log["items"].as_array().unwrap().len() >= 2
    })
    .await;
    assert_eq!(ada.delete(&format!("/keys/{id}")).await.0, 204);
    assert_eq!(enters().await, Some(255), "the key that made it is revoked");
    let output = timeout(Duration::from_secs(30), running).await.expect("it ends").unwrap();
    assert!(!output.status.success(), "what was open ends, too: {output:?}");

    let other = world.browser();
    assert_eq!(other.login("ada", PASSWORD).await.0, 200);
    machine.is_certified(&other).await;
    assert_eq!(enters().await, Some(0));
    assert_eq!(other.post("/logout", json!({})).await.0, 204);
    assert_eq!(enters().await, Some(255), "the session that made it is over");

    let (_, secret) = ada.key("ci", &["workspaces:write"]).await;
    machine.is_certified(&world.browser().program(&secret)).await;
    assert_eq!(enters().await, Some(0));
    let me = ada.get("/me").await.1["id"].as_str().unwrap().to_owned();
    assert_eq!(world.admin().await.delete(&format!("/users/{me}/sessions")).await.0, 204);
    assert_eq!(enters().await, Some(255), "all sessions of the user were ended");
}

#[tokio::test]
async fn a_certificate_lasts_no_longer_than_what_made_it() {
    let hour = |settings: &mut Settings| settings.session_life = jiff::SignedDuration::from_hours(1);
    let world = World::with(hour).await;
    let ada = world.user("ada").await;
    let line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOFq7mGyLsyNN4Ia0ORc1wHwJHQ5FDB7IwPGMRCzcK+x laptop";
    let (status, made) = ada.post("/me/ssh-certificates", json!({ "key": line, "seconds": 43_200 })).await;
    assert_eq!(status, 201, "{made}");
    let until: jiff::Timestamp = made["expires"].as_str().unwrap().parse().unwrap();
    assert!(until.duration_since(clock_now()) <= jiff::SignedDuration::from_hours(1), "{made}");
}

fn write_private(path: &Path, body: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, body).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_taken_away_ends_its_connections() {
    let Some(world) = World::local().await else { return };
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    let Some(machine) = Machine::new(&world, &ada).await else { return };
    desk(&ada).await;
    let id = machine.adds_key(&ada).await;
    let open = machine.ssh("desk", &[], &["echo open; sleep 600"]);
    let running = tokio::spawn(ended(open, b""));
    eventually("the connection", async || {
        let (_, log) = world.admin().await.get("/audit?action=openSsh").await;
        !log["items"].as_array().unwrap().is_empty()
    })
    .await;
    assert_eq!(eve.delete(&format!("/ssh-keys/{id}")).await.0, 404, "not by others");
    assert_eq!(ada.delete(&format!("/ssh-keys/{id}")).await.0, 204);
    let output = timeout(Duration::from_secs(30), running).await.expect("it ends").unwrap();
    assert!(!output.status.success(), "{output:?}");
    assert_eq!(machine.run("desk", "true").await.status.code(), Some(255));
    let (_, keys) = ada.get("/me/ssh-keys").await;
    assert_eq!(keys["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_to_a_workspace_that_rests_is_told_so() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let Some(machine) = Machine::new(&world, &ada).await else { return };
    let path = ada.workspace("desk", json!({})).await;
    reaches(&ada, &path, "Running").await;
    machine.adds_key(&ada).await;
    assert!(ada.post(&format!("{path}/suspend"), json!({})).await.0 < 300);
    reaches(&ada, &path, "Suspended").await;
    let output = machine.run("desk", "true").await;
    assert!(text(&output.stderr).contains("maar workspace resume desk"), "{output:?}");
    assert_eq!(output.status.code(), Some(126));
}

#[tokio::test]
async fn keys_of_people_are_looked_at_before_they_are_taken() {
    let world = World::new().await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    let line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOFq7mGyLsyNN4Ia0ORc1wHwJHQ5FDB7IwPGMRCzcK+x laptop";
    let (status, made) = ada.post("/me/ssh-keys", json!({ "title": "mine", "key": line })).await;
    assert_eq!(
        (status, &made["kind"], &made["title"]),
        (201, &json!("ssh-ed25519"), &json!("mine")),
        "{made}"
    );
    assert_eq!(
        eve.post("/me/ssh-keys", json!({ "title": "x", "key": line })).await.0,
        409,
        "one user's alone"
    );
    for wrong in
        ["", "hello", "-----BEGIN OPENSSH PRIVATE KEY-----", "ssh-dss AAAA", &format!("{line}\n{line}")]
    {
        let (status, said) = ada.post("/me/ssh-keys", json!({ "title": "x", "key": wrong })).await;
        assert_eq!((status, &said["field"]), (422, &json!("key")), "{wrong}: {said}");
    }
    let past = json!({ "title": "x", "key": line, "expires": "2020-01-01T00:00:00Z" });
    assert_eq!(ada.post("/me/ssh-keys", past).await.0, 422);
    // A program may have certificates and change no keys: those would outlive it.
    let (_, secret) = ada.key("ci", &["workspaces:write"]).await;
    let program = world.browser().program(&secret);
    assert_eq!(program.post("/me/ssh-keys", json!({ "title": "x", "key": line })).await.0, 403);
    assert_eq!(program.post("/me/ssh-certificates", json!({ "key": line })).await.0, 201);
    let (_, secret) = ada.key("reader", &["workspaces:read"]).await;
    let reader = world.browser().program(&secret);
    assert_eq!(reader.post("/me/ssh-certificates", json!({ "key": line })).await.0, 403);
}

/// Laptops are shut, and networks go: what they ran is not left behind, with a screen or without.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_does_not_outlive_the_client_that_vanished() {
    let Some(world) = World::local().await else { return };
    let ada = world.user("ada").await;
    let Some(machine) = Machine::new(&world, &ada).await else { return };
    desk(&ada).await;
    machine.adds_key(&ada).await;
    for (number, before) in [&[][..], &["-tt"]].into_iter().enumerate() {
        let seconds = format!("98765.{}{number}", machine.port);
        let mut command = machine.ssh("desk", before, &["sleep", &seconds]);
        let client = command.stdin(Stdio::piped()).stdout(Stdio::null()).kill_on_drop(true).spawn().unwrap();
        eventually("the command", async || super::ways::runs(&format!("sleep\0{seconds}"))).await;
        stops(client).await;
        eventually("its end", async || !super::ways::runs(&format!("sleep\0{seconds}"))).await;
    }
}
