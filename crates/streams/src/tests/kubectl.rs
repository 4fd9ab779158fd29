//! The kubectl that is installed against our server, over WebSocket and over SPDY.
//!
//! Where there is no kubectl each test says so by its name and passes. Time is real here: kubectl is another process.

use std::path::Path;
use std::process::{Output, Stdio};

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use super::api_server::{Asked, api_server, listen};
use super::server::{CLOSED_PORT, ECHO_PORT, GREETING_PORT};

/// The protocols kubectl can be told to use.
const WEBSOCKETS: [&str; 2] = ["true", "false"];

/// A server and the kubectl that talks to it.
struct Kubectl {
    server: String,
    websockets: &'static str,
    home: TempDir,
    asked: Asked,
    minor_version: u32,
}

impl Kubectl {
    /// `None` if kubectl is not installed.
    async fn new(test: &str, websockets: &'static str) -> Option<Self> {
        let version =
            match Command::new("kubectl").args(["version", "--client", "--output=json"]).output().await {
                Ok(output) => serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap(),
                Err(error) => {
                    println!("skipped: {test} needs kubectl ({error})");
                    return None;
                }
            };
        let minor_version =
            version["clientVersion"]["minor"].as_str().unwrap().trim_end_matches('+').parse().unwrap();
        let asked = Asked::default();
        let home = TempDir::new().unwrap();
        std::fs::create_dir(home.path().join("pod")).unwrap();
        let server = listen(api_server(Some(home.path().join("pod")), asked.clone())).await;
        Some(Self { server, websockets, home, asked, minor_version })
    }

    /// The test is about the protocol, so it has to be the one that was used.
    fn used_its_protocol(&self) -> bool {
        let asked = self.asked.lock();
        match self.websockets {
            "false" => !asked.is_empty() && asked.iter().all(|protocol| protocol == "SPDY/3.1"),
            // Older ones have not both switches, and choose as they like.
            _ if self.minor_version < 31 => true,
            _ => !asked.is_empty() && asked.iter().all(|protocol| protocol == "websocket"),
        }
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.home.path().join(name)
    }

    /// The command line of kubectl, which sees nothing of this machine's configuration.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("HOME", self.home.path())
            .env("KUBECONFIG", Path::new("/dev/null"))
            .env("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", self.websockets)
            .env("KUBECTL_PORT_FORWARD_WEBSOCKETS", self.websockets)
            .current_dir(self.home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    fn kubectl(&self, arguments: &[&str]) -> Command {
        let server = format!("--server={}", self.server);
        self.command("kubectl", &[&[server.as_str(), "--namespace=default"], arguments].concat())
    }

    async fn run(&self, arguments: &[&str]) -> Output {
        self.kubectl(arguments).output().await.unwrap()
    }

    /// Runs with `input` as standard input.
    async fn run_with(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut child = self.kubectl(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let feeding = async move {
            stdin.write_all(input).await.unwrap();
        };
        let (output, ()) = tokio::join!(child.wait_with_output(), feeding);
        output.unwrap()
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn megabytes(count: usize) -> Vec<u8> {
    (0..251u8).cycle().take(count << 20).collect()
}

#[tokio::test]
async fn exec_gives_both_outputs() {
    for websockets in WEBSOCKETS {
        let Some(kubectl) = Kubectl::new("exec_gives_both_outputs", websockets).await else { return };
        let output = kubectl.run(&["exec", "mypod", "--", "both"]).await;
        assert_eq!((text(&output.stdout), text(&output.stderr)), ("to stdout", "to stderr"), "{websockets}");
        assert!(output.status.success());
        assert!(kubectl.used_its_protocol(), "{websockets}: {:?}", kubectl.asked);
    }
}

#[tokio::test]
async fn exec_ends_with_the_commands_code() {
    for websockets in WEBSOCKETS {
        let Some(kubectl) = Kubectl::new("exec_ends_with_the_commands_code", websockets).await else {
            return;
        };
        let output = kubectl.run(&["exec", "mypod", "-c", "main", "--", "exit", "42"]).await;
        assert_eq!(output.status.code(), Some(42), "{websockets}: {}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "command terminated with exit code 42\n");
        assert!(kubectl.used_its_protocol(), "{websockets}: {:?}", kubectl.asked);
    }
}

#[tokio::test]
async fn exec_carries_eight_megabytes_each_way_and_the_end_of_input() {
    for websockets in WEBSOCKETS {
        let test = "exec_carries_eight_megabytes_each_way_and_the_end_of_input";
        let Some(kubectl) = Kubectl::new(test, websockets).await else { return };
        let sent = megabytes(8);
        let output = kubectl.run_with(&["exec", "-i", "mypod", "--", "cat"], &sent).await;
        assert!(output.status.success(), "{websockets}: {}", text(&output.stderr));
        assert!(output.stdout == sent, "{websockets}: {} bytes came back", output.stdout.len());
        assert!(kubectl.used_its_protocol(), "{websockets}: {:?}", kubectl.asked);
    }
}

#[tokio::test]
async fn exec_refusals_are_shown() {
    for websockets in WEBSOCKETS {
        let Some(kubectl) = Kubectl::new("exec_refusals_are_shown", websockets).await else { return };
        let output = kubectl.run(&["exec", "mypod", "--", "no-such-command"]).await;
        assert!(text(&output.stderr).contains("no such command"), "{websockets}: {}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(1));
        assert!(kubectl.used_its_protocol(), "{websockets}: {:?}", kubectl.asked);
    }
}

#[tokio::test]
async fn exec_with_a_terminal_tells_its_size() {
    for websockets in WEBSOCKETS {
        let Some(kubectl) = Kubectl::new("exec_with_a_terminal_tells_its_size", websockets).await else {
            return;
        };
        // `script` gives kubectl a terminal to work in.
        let line = format!(
            "stty cols 100 rows 30; exec kubectl --server={} --namespace=default exec -it mypod -- size",
            kubectl.server
        );
        let arguments = ["--quiet", "--return", "--command", &line, "/dev/null"];
        let output = match kubectl.command("script", &arguments).stdin(Stdio::piped()).spawn() {
            Ok(child) => child.wait_with_output().await.unwrap(),
            Err(error) => {
                return println!("skipped: exec_with_a_terminal_tells_its_size needs script ({error})");
            }
        };
        assert!(text(&output.stdout).contains("100x30"), "{websockets}: {output:?}");
        assert!(kubectl.used_its_protocol(), "{websockets}: {:?}", kubectl.asked);
    }
}

#[tokio::test]
async fn attach_reaches_the_running_command() {
    for websockets in WEBSOCKETS {
        let Some(kubectl) = Kubectl::new("attach_reaches_the_running_command", websockets).await else {
            return;
        };
        let output = kubectl.run_with(&["attach", "-i", "mypod"], b"typed").await;
        assert!(text(&output.stdout).contains("typed"), "{websockets}: {output:?}");
        assert!(kubectl.used_its_protocol(), "{websockets}: {:?}", kubectl.asked);
    }
}

#[tokio::test]
async fn cp_copies_there_and_back() {
    for websockets in WEBSOCKETS {
        let Some(kubectl) = Kubectl::new("cp_copies_there_and_back", websockets).await else { return };
        let sent = megabytes(3);
        std::fs::write(kubectl.file("sent"), &sent).unwrap();
        let there = kubectl.run(&["cp", "sent", "default/mypod:copied"]).await;
        assert!(there.status.success(), "{websockets}: {}", text(&there.stderr));
        assert!(std::fs::read(kubectl.file("pod/copied")).unwrap() == sent, "{websockets}");
        let back = kubectl.run(&["cp", "default/mypod:copied", "returned"]).await;
        assert!(back.status.success(), "{websockets}: {}", text(&back.stderr));
        assert!(std::fs::read(kubectl.file("returned")).unwrap() == sent, "{websockets}");
        assert!(kubectl.used_its_protocol(), "{websockets}: {:?}", kubectl.asked);
    }
}

/// A running `kubectl port-forward` and the address it listens on.
async fn forward(kubectl: &Kubectl, port: u16) -> (Child, String) {
    let mut child = kubectl.kubectl(&["port-forward", "pod/mypod", &format!(":{port}")]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().expect("kubectl says where it listens");
    let address = line.strip_prefix("Forwarding from ").unwrap().split(' ').next().unwrap().to_owned();
    // kubectl reports every connection: somebody has to read it.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (child, address)
}

#[tokio::test]
async fn port_forward_carries_many_connections() {
    for websockets in WEBSOCKETS {
        let Some(kubectl) = Kubectl::new("port_forward_carries_many_connections", websockets).await else {
            return;
        };
        let (_child, address) = forward(&kubectl, ECHO_PORT).await;
        let sent = megabytes(2);
        let transfers = (0..4).map(|_| async {
            let (mut reader, mut writer) = TcpStream::connect(&address).await.unwrap().into_split();
            let mut got = Vec::new();
            let writing = async {
                writer.write_all(&sent).await.unwrap();
                writer.shutdown().await.unwrap();
            };
            let (read, ()) = tokio::join!(reader.read_to_end(&mut got), writing);
            read.unwrap();
            assert!(got == sent, "{websockets}: {} bytes came back", got.len());
        });
        futures::future::join_all(transfers).await;
        assert!(kubectl.used_its_protocol(), "{websockets}: {:?}", kubectl.asked);
    }
}

#[tokio::test]
async fn port_forward_passes_on_the_end_of_the_other_side() {
    for websockets in WEBSOCKETS {
        let test = "port_forward_passes_on_the_end_of_the_other_side";
        let Some(kubectl) = Kubectl::new(test, websockets).await else { return };
        let (_child, address) = forward(&kubectl, GREETING_PORT).await;
        for _ in 0..3 {
            let mut got = String::new();
            TcpStream::connect(&address).await.unwrap().read_to_string(&mut got).await.unwrap();
            assert_eq!(got, "hello", "{websockets}");
        }
        assert!(kubectl.used_its_protocol(), "{websockets}: {:?}", kubectl.asked);
    }
}

#[tokio::test]
async fn port_forward_shows_why_a_port_does_not_work() {
    for websockets in WEBSOCKETS {
        let test = "port_forward_shows_why_a_port_does_not_work";
        let Some(kubectl) = Kubectl::new(test, websockets).await else { return };
        let (mut child, address) = forward(&kubectl, CLOSED_PORT).await;
        let mut connection = TcpStream::connect(&address).await.unwrap();
        assert_eq!(connection.read(&mut [0; 1]).await.unwrap(), 0, "the connection is closed");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.next_line().await.unwrap().unwrap();
        assert!(line.contains("connection refused"), "{websockets}: {line}");
        assert!(kubectl.used_its_protocol(), "{websockets}: {:?}", kubectl.asked);
    }
}
